import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from bridle.providers.connect import home_provider
from bridle.types.errors import ProviderError, StreamBroken
from bridle.types.history import History
from bridle.types.model import BlockClosed, Completed, ModelEvent, ModelRequest, TextArrived, Thinking
from bridle.version import __version__
from tests.fakes import sse
from tests.fakes.messages_server import MessagesServer, Step, fault, step

CALL = sse.tool_use("Read", "toolu_9", file_path="/a")


def request(**fields: Any) -> ModelRequest:
    given: dict[str, Any] = {"model": "claude-sonnet-4-5", "max_tokens": 100, **fields}
    return ModelRequest(history=History.of({"role": "user", "content": "Hello"}), **given)


async def ask(
    server: MessagesServer, asked: ModelRequest | None = None, env: Mapping[str, str] | None = None
) -> list[ModelEvent]:
    settings = {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "key", **(env or {})}
    provider = home_provider(settings)
    try:
        async with asyncio.timeout(50):
            return [event async for event in provider.stream(asked or request())]
    finally:
        await provider.close()


async def failure(made: Step, env: Mapping[str, str] | None = None, **fields: Any) -> ProviderError:
    async with MessagesServer([made]) as server:
        with pytest.raises(ProviderError) as caught:
            await ask(server, request(**fields), env)
    return caught.value


def whole(events: list[ModelEvent]) -> Any:
    last = events[-1]
    assert isinstance(last, Completed)
    assert sum(isinstance(event, Completed) for event in events) == 1
    return last.message


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"framing": "length"},
        {"framing": "close"},
        {"gzip": True},
        {"write": 1},
        {"write": 7, "framing": "length"},
        {"piece": 1},
    ],
)
async def test_an_answer_arrives_whole_however_it_is_sent(options: dict[str, Any]):
    made = step(sse.thinking("Grübeln."), "Hello, 世界!", CALL, **options)
    async with MessagesServer([made]) as server:
        events = await ask(server)
    assert whole(events)["content"] == [
        sse.thinking("Grübeln."),
        {"type": "text", "text": "Hello, 世界!"},
        CALL,
    ]
    assert "".join(event.text for event in events if isinstance(event, TextArrived)) == "Hello, 世界!"


async def test_a_request_carries_the_headers_of_the_api_and_our_own_name():
    async with MessagesServer([step("Hi")]) as server:
        await ask(server, request(session_id="s-1", thinking=Thinking("adaptive")))
        received = server.requests[0]
    assert (received.method, received.path) == ("POST", "/v1/messages?beta=true")
    assert received.headers["x-api-key"] == "key"
    assert received.headers["anthropic-version"] == "2023-06-01"
    assert received.headers["anthropic-beta"] == "context-management-2025-06-27"
    assert received.headers["user-agent"] == f"bridle/{__version__}"
    assert received.headers["x-claude-code-session-id"] == "s-1"
    assert received.body["messages"][0]["content"][0]["text"] == "Hello"


async def test_a_token_is_sent_as_bearer_and_custom_headers_win():
    env = {
        "ANTHROPIC_API_KEY": "",
        "ANTHROPIC_AUTH_TOKEN": " token\n",
        "ANTHROPIC_CUSTOM_HEADERS": "X-Team: blue: green\nUser-Agent: mine\nnonsense",
        "ANTHROPIC_BETAS": "one, two,,one",
    }
    async with MessagesServer([step("Hi")]) as server:
        await ask(server, env=env)
        headers = server.requests[0].headers
    assert headers["authorization"] == "Bearer token"
    assert "x-api-key" not in headers
    assert (headers["x-team"], headers["user-agent"]) == ("blue: green", "mine")
    assert headers["anthropic-beta"] == "one,two"


async def test_without_any_credential_nothing_is_connected():
    async with MessagesServer([step("Hi")]) as server:
        with pytest.raises(ProviderError) as caught:
            await ask(server, env={"ANTHROPIC_API_KEY": ""})
        assert server.connections == 0
    assert (caught.value.kind, caught.value.status) == ("authentication_failed", None)
    for way_out in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "/login", "offline"):
        assert way_out in str(caught.value)


async def test_a_credential_may_come_in_a_custom_header():
    async with MessagesServer([step("Hi")]) as server:
        await ask(server, env={"ANTHROPIC_API_KEY": "", "ANTHROPIC_CUSTOM_HEADERS": "Authorization: Basic x"})
        assert server.requests[0].headers["authorization"] == "Basic x"


async def test_a_key_that_no_header_can_hold_is_an_error_and_no_crash():
    async with MessagesServer([step("Hi")]) as server:
        with pytest.raises(ProviderError):
            await ask(server, env={"ANTHROPIC_API_KEY": "a\nb"})


@pytest.mark.parametrize("env", [{"CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS": "1"}])
async def test_experimental_fields_can_be_switched_off(env: dict[str, str]):
    async with MessagesServer([step("Hi")]) as server:
        await ask(server, request(thinking=Thinking("adaptive"), effort="high"), env)
        received = server.requests[0]
    assert "anthropic-beta" not in received.headers
    assert not {"context_management", "output_config"} & received.body.keys()


@pytest.mark.parametrize(
    ("env", "marks"),
    [
        ({}, 1),
        ({"DISABLE_PROMPT_CACHING": "1"}, 0),
        ({"DISABLE_PROMPT_CACHING_SONNET": "1"}, 0),
        ({"DISABLE_PROMPT_CACHING_OPUS": "1"}, 1),
    ],
)
async def test_caching_can_be_switched_off_by_model(env: dict[str, str], marks: int):
    async with MessagesServer([step("Hi")]) as server:
        await ask(server, env=env)
        assert server.requests[0].raw.count(b"cache_control") == marks


async def test_input_of_tools_can_be_streamed_in_fine_grains():
    tool: Any = {"name": "Read", "input_schema": {"type": "object"}}
    async with MessagesServer([step("Hi"), step("Hi")]) as server:
        env = {"CLAUDE_CODE_ENABLE_FINE_GRAINED_TOOL_STREAMING": "1"}
        await ask(server, request(tools=(tool,)), env)
        await ask(server, request(), env)
        first, second = server.requests
    assert "fine-grained-tool-streaming-2025-05-14" in first.headers["anthropic-beta"]
    assert "fine-grained" not in second.headers.get("anthropic-beta", "")


async def test_an_hour_of_caching_can_be_asked_for():
    async with MessagesServer([step("Hi")]) as server:
        await ask(server, env={"ENABLE_PROMPT_CACHING_1H": "1"})
        assert b'"ttl":"1h"' in server.requests[0].raw


@pytest.mark.parametrize("options", [{}, {"gzip": True}, {"framing": "close"}])
async def test_an_answer_that_is_not_streamed_gives_the_same_events(options: dict[str, Any]):
    made = [step(sse.thinking("Hm."), "Hello", CALL, piece=100, **options)] * 2
    async with MessagesServer(made) as server:
        streamed = await ask(server)
        at_once = await ask(server, request(stream=False))
        assert server.requests[1].body["stream"] is False
    kinds = [type(event) for event in at_once]
    assert [kind for kind in kinds if kind.__name__ != "PieceArrived"] == [
        type(event) for event in streamed if type(event).__name__ != "PieceArrived"
    ]
    assert whole(at_once)["content"] == whole(streamed)["content"]
    assert whole(at_once)["usage"] == whole(streamed)["usage"]


@pytest.mark.parametrize(
    ("status", "type", "kind", "retryable"),
    [
        (400, "invalid_request_error", "unknown", False),
        (401, "authentication_error", "authentication_failed", True),
        (402, "billing_error", "billing_error", False),
        (403, "permission_error", "authentication_failed", False),
        (404, "not_found_error", "model_not_found", False),
        (408, "timeout_error", "unknown", True),
        (409, "conflict", "unknown", True),
        (413, "request_too_large", "invalid_request", False),
        (429, "rate_limit_error", "rate_limit", True),
        (500, "api_error", "server_error", True),
        (503, "api_error", "server_error", True),
        (529, "overloaded_error", "server_error", True),
    ],
)
async def test_refusals_have_their_kind(status: int, type: str, kind: str, retryable: bool):
    error = await failure(fault(status, type, "In its own words."))
    assert (error.status, error.kind, error.retryable) == (status, kind, retryable)
    assert (error.error_type, error.request_id) == (type, "req_fake")
    assert "In its own words." in str(error)
    assert not isinstance(error, StreamBroken)


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("prompt is too long: 210000 tokens > 200000 maximum", "invalid_request"),
        ("Your credit balance is too low", "billing_error"),
        ("messages.0: nonsense", "unknown"),
    ],
)
async def test_a_bad_request_is_told_apart_by_its_words(message: str, kind: str):
    error = await failure(fault(400, "invalid_request_error", message))
    assert error.kind == kind
    assert message in str(error)


async def test_a_refused_key_says_how_to_set_one():
    assert "ANTHROPIC_API_KEY" in str(await failure(fault(401)))


async def test_an_unknown_model_is_named():
    error = await failure(fault(404), model="claude-nope")
    assert "claude-nope" in str(error)
    assert "--model" in str(error)


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("<html><head><title>502 Bad Gateway</title></head><body>" + "x" * 9000, "502 Bad Gateway"),
        ("<h1>Oops</h1><script>evil()</script><p>gone</p>", "Oops gone"),
        ("plain words " * 1000, "plain words"),
        ({"error": "just text"}, "just text"),
        ({"message": "flat"}, "flat"),
        ({"detail": "framework"}, "framework"),
        ([1, 2], "[1, 2]"),
        ("", "502"),
    ],
)
async def test_any_error_body_becomes_a_short_sentence(body: Any, shown: str):
    error = await failure({"status": 502, "body": body})
    assert shown in str(error)
    assert len(str(error)) < 600
    assert "<" not in str(error)


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
async def test_the_wait_that_a_service_asks_for_is_read(headers: dict[str, str], expected: float | None):
    assert (await failure(fault(429, headers=headers))).retry_after == expected


async def test_a_date_to_wait_for_is_turned_into_seconds():
    error = await failure(fault(503, headers={"retry-after": "Fri, 31 Dec 2100 23:59:59 GMT"}))
    assert error.retry_after is not None
    assert error.retry_after > 1_000_000


async def test_the_service_may_say_itself_whether_to_retry():
    assert not (await failure(fault(500, headers={"x-should-retry": "false"}))).retryable
    assert (await failure(fault(400, headers={"x-should-retry": "true"}))).retryable


async def test_a_refused_connection_names_the_address_and_the_variable():
    async with MessagesServer() as server:
        url = server.url
    provider = home_provider({"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "key"})
    with pytest.raises(ProviderError) as caught:
        _ = [event async for event in provider.stream(request())]
    assert url in str(caught.value)
    assert "ANTHROPIC_BASE_URL" in str(caught.value)
    assert (caught.value.status, caught.value.retryable) == (None, True)


@pytest.mark.parametrize("url", ["ftp://x", "not a url", "http://"])
async def test_an_address_that_is_none_is_an_error_and_no_crash(url: str):
    provider = home_provider({"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "key"})
    with pytest.raises(ProviderError) as caught:
        _ = [event async for event in provider.stream(request())]
    assert not caught.value.retryable


@pytest.mark.parametrize("made", [step(close_after=-1), step(garbage=True)])
async def test_a_service_that_gives_no_response_is_worth_another_try(made: Step):
    error = await failure(made)
    assert (error.retryable, error.status) == (True, None)


async def test_a_web_page_in_place_of_an_answer_points_to_the_address():
    error = await failure({"body": "<html><title>Log in</title></html>"})
    assert "ANTHROPIC_BASE_URL" in str(error)
    assert not error.retryable


@pytest.mark.parametrize("silent_after", [-1, 0, 300])
async def test_a_silent_service_is_given_up(silent_after: int):
    env = {"CLAUDE_STREAM_IDLE_TIMEOUT_MS": "150"}
    async with MessagesServer([step("Hello " * 50, silent_after=silent_after)]) as server:
        with pytest.raises(ProviderError) as caught:
            await ask(server, env=env)
        async with asyncio.timeout(50):
            await server.hung_up.wait()
    assert caught.value.retryable
    assert isinstance(caught.value, StreamBroken) == (silent_after >= 0)


async def test_a_slow_stream_is_not_a_silent_one():
    async with MessagesServer([step("Hello there", write=40, pause=0.02)]) as server:
        events = await ask(server, env={"CLAUDE_STREAM_IDLE_TIMEOUT_MS": "1000"})
    assert whole(events)["content"] == [{"type": "text", "text": "Hello there"}]


async def test_a_whole_answer_that_takes_too_long_is_given_up():
    async with MessagesServer([step("Hi", silent_after=-1)]) as server:
        with pytest.raises(ProviderError):
            await ask(server, request(stream=False), {"API_TIMEOUT_MS": "100"})


@pytest.mark.parametrize("framing", ["chunked", "length", "close"])
async def test_a_stream_that_ends_early_is_broken(framing: str):
    error = await failure(step("Hello there", framing=framing, close_after=500))
    assert isinstance(error, StreamBroken)
    assert error.retryable


async def test_an_error_in_the_stream_breaks_it_after_what_had_come():
    made = step("One.", "Two.", error_after=6, error={"type": "overloaded_error", "message": "Busy"})
    async with MessagesServer([made]) as server:
        provider = home_provider({"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "key"})
        closed: list[Any] = []
        with pytest.raises(StreamBroken) as caught:
            async for event in provider.stream(request()):
                closed += [event.block] if isinstance(event, BlockClosed) else []
        await provider.close()
    assert closed == [{"type": "text", "text": "One."}]
    assert (caught.value.kind, caught.value.request_id) == ("overloaded", "req_fake")


@pytest.mark.parametrize("body", ["data: {nonsense\n\n", "data: [1]\n\n", "\x00\x01"])
async def test_a_stream_of_nonsense_is_broken(body: str):
    error = await failure({"body": body, "headers": {"content-type": "text/event-stream"}})
    assert isinstance(error, StreamBroken)


@pytest.mark.parametrize("body", [{"no": "answer"}, []])
async def test_a_whole_answer_that_is_none_is_broken(body: Any):
    error = await failure({"body": body}, stream=False)
    assert isinstance(error, StreamBroken)


async def test_cancelling_closes_the_connection():
    async with MessagesServer([step("Hello " * 50, silent_after=400)]) as server:
        task = asyncio.create_task(ask(server))
        async with asyncio.timeout(50):
            await server.arrived.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await server.hung_up.wait()


async def test_requests_of_one_provider_share_a_connection():
    async with MessagesServer([step("Hi"), fault(529), step("Hi", framing="length"), step("Hi")]) as server:
        provider = home_provider({"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "key"})
        await provider.warm_up("m")
        for asked in (request(), request(), request(stream=False), request()):
            try:
                _ = [event async for event in provider.stream(asked)]
            except ProviderError as error:
                assert error.status == 529
        await provider.close()
        assert (len(server.requests), server.connections) == (4, 1)


async def test_a_caller_that_leaves_with_the_answer_leaves_the_connection_usable():
    async with MessagesServer([step("Hi"), step("Hi")]) as server:
        provider = home_provider({"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "key"})
        for _ in range(2):
            async for event in provider.stream(request()):
                if isinstance(event, Completed):
                    break
        await provider.close()
        assert server.connections == 1
