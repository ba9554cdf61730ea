"""What every dialect owes its caller, spoken to a server that follows its vendor's public schema."""

import asyncio
import json
from collections.abc import AsyncGenerator
from itertools import pairwise
from typing import Any

import pytest

from bridle.providers.connect import Providers
from bridle.types.errors import ProviderError, StreamBroken
from bridle.types.history import History
from bridle.types.model import (
    BlockClosed,
    BlockOpened,
    Completed,
    ModelRequest,
    PieceArrived,
    Started,
    TextArrived,
    Thinking,
    ThinkingArrived,
)
from tests.fakes.dialects import CASES, TOOLS, Bench, blocks_of, plain
from tests.fakes.model_server import ModelServer, Script, answer, call, refusal, thought

ANSWER = (
    thought("Let me look."),
    "Reading two files.",
    call("Read", "call_1", file_path="/a/ä→🙂", limit=3),
    call("Stop", "call_2"),
)


@pytest.fixture(params=CASES)
async def bench(request: pytest.FixtureRequest) -> AsyncGenerator[Bench, None]:
    async with ModelServer(CASES[request.param].api()) as server:
        made = Bench(request.param, server)
        yield made
        await made.made.close()


EXPECTED = [
    {"type": "thinking", "thinking": "Let me look."},
    {"type": "text", "text": "Reading two files."},
    {"type": "tool_use", "id": "call_1", "name": "Read", "input": {"file_path": "/a/ä→🙂", "limit": 3}},
    {"type": "tool_use", "id": "call_2", "name": "Stop", "input": {}},
]


@pytest.mark.parametrize("streamed", [True, False])
async def test_text_thoughts_and_parallel_calls_become_blocks(bench: Bench, streamed: bool):
    events = await bench.ask(answer(*ANSWER), bench.request(stream=streamed))
    assert blocks_of(events) == EXPECTED
    assert all(event.flaw is None for event in events if isinstance(event, BlockClosed))


@pytest.mark.parametrize("streamed", [True, False])
async def test_events_come_in_the_order_of_a_messages_api_stream(bench: Bench, streamed: bool):
    events = await bench.ask(answer(*ANSWER), bench.request(stream=streamed))
    assert isinstance(events[0], Started) and isinstance(events[-1], Completed)
    assert [type(event) for event in events].count(Completed) == 1
    order = {BlockOpened: 0, TextArrived: 1, ThinkingArrived: 1, PieceArrived: 1, BlockClosed: 2}
    steps = [(event.index, order[type(event)]) for event in events if isinstance(event, tuple(order))]
    assert all(earlier <= later for earlier, later in pairwise(steps))
    closed = [event.block for event in events if isinstance(event, BlockClosed)]
    assert events[-1].message["content"] == closed


@pytest.mark.parametrize("streamed", [True, False])
async def test_the_wire_of_the_events_is_a_messages_api_stream_of_the_same_answer(
    bench: Bench, streamed: bool
):
    from bridle.providers.dialects.messages_stream import Decoder

    events = await bench.ask(answer(*ANSWER), bench.request(stream=streamed))
    decoder = Decoder()
    wires: list[bytes] = [getattr(event, "wire", b"") for event in events]
    again = [decoder.feed(wire) for wire in wires]
    last = again[-1]
    assert isinstance(last, Completed) and decoder.completed
    assert [plain(block) for block in last.message["content"]] == EXPECTED
    assert last.message["stop_reason"] == "tool_use"
    assert all(wire and b"\n" not in wire for wire in wires)


async def test_input_of_calls_arrives_in_pieces_that_make_the_whole(bench: Bench):
    events = await bench.ask(answer(call("Read", file_path="/a/ä→🙂"), piece=3))
    pieces = [json.loads(event.wire)["delta"] for event in events if isinstance(event, PieceArrived)]
    joined = "".join(piece.get("partial_json", "") for piece in pieces)
    assert json.loads(joined) == {"file_path": "/a/ä→🙂"}
    assert bench.case.whole_calls or len(pieces) > 3


async def test_the_answer_says_who_it_is_from_why_it_ended_and_what_it_used(bench: Bench):
    events = await bench.ask(answer(*ANSWER))
    last = events[-1]
    assert isinstance(last, Completed)
    usage = last.message["usage"]
    expected = "served" if bench.name == "anthropic" else bench.case.model
    assert last.message["model"] == expected
    assert (usage["input_tokens"], usage["cache_read_input_tokens"], usage["output_tokens"]) == (8, 4, 7)
    assert last.request_id == "req_1" and last.message["stop_reason"] == "tool_use"


@pytest.mark.parametrize(
    ("stop", "reason"), [("end", "end_turn"), ("length", "max_tokens"), ("filter", "refusal")]
)
@pytest.mark.parametrize("streamed", [True, False])
async def test_every_way_to_end_has_one_name(bench: Bench, stop: str, reason: str, streamed: bool):
    events = await bench.ask(answer("Hi", stop=stop), bench.request(stream=streamed))
    last = events[-1]
    assert isinstance(last, Completed) and last.message["stop_reason"] == reason


@pytest.mark.parametrize("write", [1, 3, 7])
async def test_characters_split_between_reads_arrive_whole(bench: Bench, write: int):
    said = "Grüße, 世界 🙂🙂"
    events = await bench.ask(answer(said, piece=3, write=write))
    assert "".join(event.text for event in events if isinstance(event, TextArrived)) == said


async def test_events_of_unknown_kinds_are_no_fault(bench: Bench):
    events = await bench.ask(answer("Hello there, you.", piece=2, extra=(bench.case.unknown,)))
    assert blocks_of(events) == [{"type": "text", "text": "Hello there, you."}]


@pytest.mark.parametrize("every", [41, pytest.param(5, marks=pytest.mark.soak)])
async def test_a_stream_that_is_cut_is_whole_or_broken_and_never_wrong(bench: Bench, every: int):
    said = (thought("Hm."), "Ok ö.", call("Read", file_path="/a"))
    length = len(b"".join(bench.server.api.frames(answer(*said).said or _never())))
    expected = blocks_of(await bench.ask(answer(*said)))
    for cut in range(0, length, every):
        kept: list[Any] = []
        ended = False
        bench.server.script(answer(*said, close_after=cut))
        try:
            async with asyncio.timeout(50):
                async for event in bench.provider.stream(bench.request()):
                    if isinstance(event, BlockClosed):
                        assert event.flaw is None
                        kept.append(plain(event.block))
                    ended = isinstance(event, Completed)
        except StreamBroken as error:
            assert error.retryable and not ended
            assert kept == expected[: len(kept)]
        else:
            assert ended and kept == expected


def _never() -> Any:
    raise AssertionError


async def test_a_stream_that_ends_properly_but_too_early_is_broken(bench: Bench):
    error = await bench.fail(answer("Hello, this is long.", piece=2, cut_frames=3))
    assert isinstance(error, StreamBroken) and error.retryable


@pytest.mark.parametrize(
    ("status", "kind", "retryable"),
    [
        (400, "invalid_request", False),
        (403, "authentication_failed", False),
        (404, "model_not_found", False),
        (413, "invalid_request", False),
        (429, "rate_limit", True),
        (500, "server_error", True),
        (502, "server_error", True),
        (503, "overloaded", True),
    ],
)
async def test_refusals_have_one_set_of_kinds(bench: Bench, status: int, kind: str, retryable: bool):
    error = await bench.fail(refusal(status, "No."))
    if bench.name == "anthropic":
        # What hosts of the first dialect have read ever since.
        kind = {400: "unknown", 503: "server_error"}.get(status, kind)
    assert (error.kind, error.retryable, error.status) == (kind, retryable, status)
    assert "\n" not in str(error) and str(error).endswith("No.")


async def test_a_limit_says_how_long_to_wait(bench: Bench):
    error = await bench.fail(refusal(429, "slow down", headers={"retry-after": "7"}))
    assert (error.retry_after, error.kind) == (7.0, "rate_limit")


@pytest.mark.parametrize("code", [400, 413])
async def test_a_prompt_beyond_the_window_is_known_as_such(bench: Bench, code: int):
    words = "prompt is too long: maximum context length is 8192 tokens"
    error = await bench.fail(refusal(code, words, "context_length_exceeded"))
    assert error.is_prompt_too_long and not error.retryable


async def test_a_wrong_key_is_said_with_the_variable_to_set(bench: Bench):
    env = bench.case.variables(bench.server.url)
    for name in env:
        if name.endswith(("KEY", "KEY_ID", "TOKEN")):
            env[name] = "wrong"
    provider = Providers(env, bench.case.entries(bench.server.url))
    with pytest.raises(ProviderError) as caught:
        _ = [event async for event in provider.stream(bench.request())]
    await provider.close()
    assert caught.value.kind == "authentication_failed"


async def test_a_web_page_is_no_answer(bench: Bench):
    error = await bench.fail(Script(body="<html><title>Welcome</title></html>"))
    assert "web page" in str(error)


async def test_nobody_at_the_address_is_worth_another_try_and_says_where(bench: Bench):
    provider = Providers(bench.case.variables("http://127.0.0.1:9"), bench.case.entries("http://127.0.0.1:9"))
    with pytest.raises(ProviderError, match=r"127\.0\.0\.1:9") as caught:
        _ = [event async for event in provider.stream(bench.request())]
    await provider.close()
    assert caught.value.retryable


async def test_leaving_in_the_middle_closes_the_connection(bench: Bench):
    frames = bench.server.api.frames(answer("Hello, this is long.", piece=2).said or _never())
    size = sum(map(len, frames[: len(frames) // 2]))
    bench.server.script(answer("Hello, this is long.", piece=2, silent_after=size))

    async def listen() -> None:
        async for _ in bench.provider.stream(bench.request()):
            pass

    async with asyncio.timeout(50):
        task = asyncio.create_task(listen())
        await bench.server.arrived.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await bench.server.hung_up.wait()
    assert task.cancelled()


async def test_connections_are_kept_between_answers(bench: Bench):
    for _ in range(2):
        await bench.ask(answer("Hi"))
    assert len(bench.server.requests) == 2


_PICTURE = {"type": "base64", "media_type": "image/png", "data": "aGk="}
_PAPER = {"type": "base64", "media_type": "application/pdf", "data": "aGk="}


async def test_a_whole_conversation_is_taken_by_the_vendor(bench: Bench):
    """Answers go back with calls, results, files and thoughts; the server checks all of it."""
    first = await bench.ask(answer(*ANSWER), bench.request(thinking=Thinking("enabled", 1024)))
    last = first[-1]
    assert isinstance(last, Completed)
    history = History()
    history.add({"role": "user", "content": [{"type": "text", "text": "look"}, _image()]})
    content: Any = last.message["content"]
    history.add({"role": "assistant", "content": content}, origin=last.message["model"])
    results: Any = [
        {
            "type": "tool_result",
            "tool_use_id": "call_1",
            "content": [{"type": "text", "text": "a"}, _image()],
        },
        {"type": "tool_result", "tool_use_id": "call_2", "content": "no", "is_error": True},
        {"type": "document", "source": _PAPER, "title": "paper.pdf"},
        {"type": "text", "text": "go on"},
    ]
    history.add({"role": "user", "content": results})
    request = ModelRequest(
        model=bench.case.model,
        system=({"type": "text", "text": "Be brief."},),
        history=history,
        tools=TOOLS,
        max_tokens=2000,
        thinking=Thinking("enabled", 1024),
        session_id="s1",
    )
    assert blocks_of(await bench.ask(answer("Done."), request)) == [{"type": "text", "text": "Done."}]
    sent = bench.server.requests[-1].raw.decode()
    assert "Be brief." in sent and "go on" in sent and "ä→🙂" in sent


def _image() -> Any:
    return {"type": "image", "source": _PICTURE}


async def test_settled_messages_are_encoded_once(bench: Bench):
    request = bench.request(
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": [{"type": "text", "text": "two"}]},
        {"role": "user", "content": "three"},
    )
    await bench.ask(answer("Hi"), request)
    settled: Any = request.history.messages[0]
    settled["content"] = "changed behind its back"
    await bench.ask(answer("Hi"), request)
    assert bench.server.requests[-1].raw == bench.server.requests[-2].raw
