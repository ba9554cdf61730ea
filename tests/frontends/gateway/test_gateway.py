"""A team's gateway: who may ask, what is passed on, in which dialect, and what is counted."""

import asyncio
import json
import os
import socket
import sys
from asyncio.subprocess import PIPE
from pathlib import Path
from signal import SIGTERM
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.frontends.gateway.config import load_gateway
from bridle.types.errors import ConfigError
from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.model_server import ModelServer
from tests.fakes.model_server import answer as said
from tests.fakes.openai_server import ChatApi
from tests.frontends.gateway.scene import SERVICE_KEY, USER_KEY, Client, config_file, config_of, gateway
from tests.tables import table

_ASK: dict[str, Any] = {"max_tokens": 100, "messages": [{"role": "user", "content": "hello there"}]}


def _body(model: str, **more: Any) -> bytes:
    return json.dumps({"model": model, **_ASK, **more}).encode()


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("model", ["claude-sonnet-4-5", "qwen"])
@pytest.mark.parametrize("path", ["/v1/messages", "/v1/chat/completions"])
async def test_each_dialect_at_the_entrance_reaches_a_service_of_each_dialect(
    tmp_path: Path, path: str, model: str, stream: bool
):
    async with (
        MessagesServer([step("Hi from it.")]) as home,
        ModelServer(ChatApi(), [said("Hi from it.")]) as other,
    ):
        async with gateway(config_of(tmp_path, home.url, other.url)) as client:
            answer = await client.send(path, _body(model, stream=stream))
            usage = json.loads((await client.send("/v1/usage")).body)["usage"]
        assert answer.status == 200
        assert _text_of(answer.body, path, stream) == "Hi from it."
        assert USER_KEY not in str([dict(each.headers) for each in (*home.requests, *other.requests)])
        ((row),) = usage
        assert (row["user"], row["model"], row["requests"], row["errors"]) == ("ada", model, 1, 0)
        assert row["input"] > 0 and row["output"] > 0 and row["usd"] > 0


def _text_of(body: bytes, path: str, stream: bool) -> str:
    if not stream:
        answer = json.loads(body)
        return (
            answer["content"][0]["text"]
            if path == "/v1/messages"
            else answer["choices"][0]["message"]["content"]
        )
    lines = [line[6:] for line in body.decode().splitlines() if line.startswith("data: {")]
    events = [json.loads(line) for line in lines]
    if path == "/v1/messages":
        return "".join(
            each["delta"].get("text", "") for each in events if each["type"] == "content_block_delta"
        )
    assert body.rstrip().endswith(b"data: [DONE]")
    return "".join(each["choices"][0]["delta"].get("content") or "" for each in events if each["choices"])


async def test_the_program_serves_with_two_workers_and_ends_with_a_signal(tmp_path: Path):
    async with MessagesServer([step("ok", repeat=True)]) as home:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        file = config_file(tmp_path, home.url, "http://127.0.0.1:9", listen=f"127.0.0.1:{port}")
        command = (sys.executable, "-m", "bridle", "gateway", "--config", str(file))
        env = {**os.environ, "SERVICE_KEY": SERVICE_KEY, "USER_KEY": USER_KEY, "NO_PROXY": "127.0.0.1"}
        program = await asyncio.create_subprocess_exec(*command, env=env, stdout=PIPE, stderr=PIPE)
        client = Client(f"http://127.0.0.1:{port}")
        try:
            assert program.stdout is not None
            assert b"Serving 2 models to 1 users" in await program.stdout.readline()
            answers = await asyncio.gather(
                *(client.send("/v1/messages", _body("claude-sonnet-4-5")) for _ in range(20))
            )
            assert {answer.status for answer in answers} == {200}
        finally:
            await client.close()
            program.send_signal(SIGTERM)
            _, complaints = await program.communicate()
        assert (program.returncode, complaints) == (0, b"")


async def test_calls_of_tools_go_both_ways_between_dialects(tmp_path: Path):
    call = {"type": "tool_use", "id": "call_1", "name": "look", "input": {"at": "it"}}
    async with MessagesServer([step(call), step("Seen.")]) as home:
        async with gateway(config_of(tmp_path, home.url, "http://127.0.0.1:9")) as client:
            tools = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]
            first = await client.send("/v1/chat/completions", _body("claude-sonnet-4-5", tools=tools))
            turn = json.loads(first.body)["choices"][0]
            assert turn["finish_reason"] == "tool_calls"
            told = {"role": "tool", "tool_call_id": "call_1", "content": "a cat"}
            messages = [*_ASK["messages"], turn["message"], told]
            second = await client.send(
                "/v1/chat/completions", _body("claude-sonnet-4-5", tools=tools, messages=messages)
            )
        assert json.loads(second.body)["choices"][0]["message"]["content"] == "Seen."
        sent = home.requests[1].body["messages"]
        assert [each["role"] for each in sent] == ["user", "assistant", "user"]
        assert sent[2]["content"][0]["tool_use_id"] == "call_1"


async def test_a_stream_is_passed_on_as_it_comes(tmp_path: Path):
    async with (
        MessagesServer([step("one two three", piece=4, pause=0.01, write=64)]) as home,
        gateway(config_of(tmp_path, home.url, "http://127.0.0.1:9")) as client,
    ):
        reader, writer = await asyncio.open_connection("127.0.0.1", int(client.url.rpartition(":")[2]))
        body = _body("claude-sonnet-4-5", stream=True)
        head = (
            "POST /v1/messages HTTP/1.1",
            "host: x",
            f"x-api-key: {USER_KEY}",
            f"content-length: {len(body)}",
        )
        writer.write("\r\n".join((*head, "\r\n")).encode() + body)
        async with asyncio.timeout(60):
            seen = await reader.readuntil(b"message_start")
            # The service has not ended its answer: nothing waits for that here.
            assert b"message_stop" not in seen
            await reader.readuntil(b"message_stop")
        writer.close()


@table(
    ("rules", "status", "words"),
    [
        ({"models": ["gpt-*"]}, 403, "not allowed"),
        ({"maxTokens": 10}, 403, "at most 10"),
        ({"requestsPerMinute": 1}, 429, "Wait"),
        ({"day": {"requests": 1}}, 429, "per day"),
        ({"month": {"usd": 0.000001}}, 429, "per month"),
        ({"day": {"tokens": 3}}, 429, "tokens"),
    ],
)
def test_rules_and_budgets_of_a_user_hold(rules: dict[str, Any], status: int, words: str):
    async def scene(folder: Path) -> None:
        async with MessagesServer([step("ok"), step("ok")]) as home:
            user = {"key": "${USER_KEY}", **rules}
            config = config_of(folder, home.url, "http://127.0.0.1:9", ada=user)
            async with gateway(config) as client:
                await client.send("/v1/messages", _body("claude-sonnet-4-5"))
                answer = await client.send("/v1/messages", _body("claude-sonnet-4-5"))
                assert (answer.status, words in answer.body.decode()) == (status, True), answer.body
                models = json.loads((await client.send("/v1/models")).body)["data"]
                assert len(models) == (0 if "models" in rules else 2)

    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(scene(Path(folder)))


_DEEP = b'{"model": "qwen", "messages": ' + b"[" * 5_000 + b"]" * 5_000 + b"}"


async def test_broken_huge_deep_and_hostile_requests_are_refused_in_a_sentence(tmp_path: Path):
    async with (
        MessagesServer([]) as home,
        gateway(config_of(tmp_path, home.url, "http://127.0.0.1:9")) as client,
    ):
        for path in ("/v1/messages", "/v1/chat/completions"):
            other = "qwen" if path == "/v1/messages" else "claude-sonnet-4-5"
            for body, status in (
                (b"", 400), (b"{", 400), (b"[]", 400), (b"null", 400), (b"\xff\xfe", 400), (_DEEP, 400),
                (b'{"model": "' + b"x" * 300_000 + b'"}', 413), (b'{"model": 7}', 404),
                (b'{"model": "../../etc/passwd"}', 404), (_body(other, messages=None), 400),
                (_body(other, messages=[{"role": "root", "content": "x"}]), 400),
                (_body(other, messages=[{"role": "user", "content": [{"type": "tool_result"}]}]), 400),
                (_body(other, messages=[{"role": "user", "content": [[[]]]}]), 400),
                (_body(other, tools=[7]), 400), (_body(other, max_tokens="many"), 400),
            ):  # fmt: skip
                answer = await client.send(path, body)
                assert answer.status == status, (path, body[:80], answer.body)
                assert json.loads(answer.body)["error"]["message"]
            for key in ("", "wrong", "sha256:" + "0" * 64, "x" * 5_000):
                assert (await client.send(path, _body(other), key=key)).status == 401
        assert home.requests == []
        assert (await client.send("/healthz")).body == b"ok\n"


async def test_random_json_never_breaks_the_gateway(tmp_path: Path):
    examples: list[Any] = []
    leaves = st.none() | st.booleans() | st.integers() | st.text(max_size=5)
    keys = st.sampled_from(
        ["role", "content", "type", "text", "tool_calls", "function", "source", "id", "name"]
    )
    json_values = st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4),
        max_leaves=8,
    )

    @given(json_values)
    def collect(value: Any) -> None:
        examples.append(value)

    collect()
    async with (
        MessagesServer([]) as home,
        gateway(config_of(tmp_path, home.url, "http://127.0.0.1:9")) as client,
    ):
        for value in examples:
            for field in ("messages", "tools", "system", "thinking", "stream_options"):
                body = msgspec.json.encode({"model": "qwen", **_ASK, "stream": True, field: value})
                answer = await client.send("/v1/messages", body)
                # What is in order is passed on, to a service that cannot be reached.
                assert answer.status in (400, 502), (field, value, answer.body)


async def test_policy_of_a_user_is_added_to_that_of_all(tmp_path: Path):
    ada = {"key": "${USER_KEY}", "policy": {"permissions": {"deny": ["Bash(curl *)"]}, "model": "sonnet"}}
    async with gateway(config_of(tmp_path, "http://127.0.0.1:9", "http://127.0.0.1:9", ada=ada)) as client:
        settings = json.loads((await client.send("/v1/policy")).body)["managedSettings"]
    assert settings == {"permissions": {"deny": ["WebFetch", "Bash(curl *)"]}, "model": "sonnet"}


async def test_only_administrators_export_the_usage_of_others_and_no_secret_is_in_it(tmp_path: Path):
    bob = {"key": "bg-key-of-bob-0123456789"}
    users = {"ada": {"key": "${USER_KEY}", "admin": True}, "bob": bob}
    async with (
        MessagesServer([step("ok"), step("ok")]) as home,
        gateway(config_of(tmp_path, home.url, "http://127.0.0.1:9", **users)) as client,
    ):
        for key in (USER_KEY, bob["key"]):
            await client.send("/v1/messages", _body("claude-sonnet-4-5", system="classified words"), key=key)
        mine = await _users(client, bob["key"])
        everyone = await _users(client, USER_KEY)
        csv = (await client.send("/v1/usage?format=csv")).body.decode()
    assert (mine, everyone) == ({"bob"}, {"ada", "bob"})
    kept = csv + (tmp_path / "usage.sqlite").read_bytes().decode("latin-1")
    for secret in (USER_KEY, bob["key"], SERVICE_KEY, "hello there", "classified words"):
        assert secret not in kept


async def _users(client: Client, key: str) -> set[str]:
    return {row["user"] for row in json.loads((await client.send("/v1/usage", key=key)).body)["usage"]}


@table(
    ("text", "words"),
    [
        ("a: [", "not valid YAML, line 1"),
        ("[]", "Expected `object`"),
        ("upstreams: {}\nmodels: {}\nusers: {}\nlisten: here", "listen must be host:port"),
        ("upstreams: {}\nmodels: {m: {upstream: x}}\nusers: {}", "names the upstream 'x'"),
        ("upstreams: {a: {url: 'ftp://x'}}\nmodels: {}\nusers: {}", "must begin with https://"),
        (
            "upstreams: {a: {url: 'http://x', key: '${NOWHERE}'}}\nmodels: {}\nusers: {}",
            "NOWHERE, which is not set",
        ),
        ("upstreams: {}\nmodels: {}\nusers: {a: {key: k}, b: {key: k}}", "two users have the same key"),
        ("upstreams: {}\nmodels: {}\nusers: {}\nsurprise: 1", "unknown field"),
        ("x: &a [*a]", "nested too deep"),
    ],
)
def test_a_wrong_file_is_told_in_a_sentence(text: str, words: str):
    import tempfile

    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(text)
        file.flush()
        with pytest.raises(ConfigError) as raised:
            load_gateway(file.name, {})
    assert words.lower() in str(raised.value).lower() and "\n" not in str(raised.value)
