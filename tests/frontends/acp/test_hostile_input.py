"""Whatever comes on standard input, the agent answers or ignores it, and goes on."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bridle.config.options import SessionOptions
from bridle.frontends.acp.server import AcpServer
from tests.fakes.program import Program

METHODS = (
    "initialize", "authenticate", "logout", "session/new", "session/load", "session/resume", "session/fork",
    "session/list", "session/close", "session/delete", "session/prompt", "session/set_mode",
    "session/set_config_option", "session/cancel", "$/cancel_request", "fs/read_text_file", "no/such",
)  # fmt: skip
_INTRODUCTION = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": 1}}

_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)
_names = st.sampled_from(
    ("sessionId", "cwd", "mcpServers", "prompt", "modeId", "configId", "value", "methodId", "cursor",
     "protocolVersion", "clientCapabilities", "additionalDirectories", "requestId")
)  # fmt: skip
_messages = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0"), "method": st.sampled_from(METHODS)},
    optional={"id": _values, "params": st.dictionaries(_names, _values, max_size=5) | _values},
)


class _Collected:
    """Takes what the agent writes."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.ended = asyncio.Event()

    def write(self, data: bytes) -> None:
        self.lines.append(data)
        if b'"last"' in data:
            self.ended.set()

    async def drain(self) -> None:
        """Everything is read at once."""


async def _answers(home: str, lines: list[bytes]) -> list[Any]:
    output: Any = _Collected()
    env = {"HOME": home, "CLAUDE_CONFIG_DIR": f"{home}/.claude", "PATH": os.environ["PATH"]}
    server = AcpServer(env, SessionOptions(model="offline"), output)
    reads, writes = os.pipe()
    serving = asyncio.create_task(server.run(reads))
    try:
        for line in (json.dumps(_INTRODUCTION).encode(), *lines):
            await asyncio.to_thread(os.write, writes, line + b"\n")
        last = {"jsonrpc": "2.0", "id": "last", "method": "no/such"}
        await asyncio.to_thread(os.write, writes, json.dumps(last).encode() + b"\n")
        async with asyncio.timeout(30):
            await output.ended.wait()
    finally:
        os.close(writes)
        async with asyncio.timeout(30):
            await serving
        os.close(reads)
    return [json.loads(line) for line in output.lines]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    lines=st.lists(_messages.map(lambda each: json.dumps(each).encode()) | st.binary(max_size=60), max_size=6)
)
def test_any_messages_leave_the_agent_answering(tmp_path_factory: Any, lines: list[bytes]):
    home = str(tmp_path_factory.mktemp("home"))
    answers = asyncio.run(_answers(home, [line.replace(b"\n", b" ") for line in lines]))

    assert answers[0]["jsonrpc"] == "2.0"
    assert any(each.get("id") == "last" and each["error"]["code"] == -32601 for each in answers)


async def test_deep_huge_and_broken_lines_are_answered_with_an_error_and_the_next_line_counts(tmp_path: Path):
    program = Program(tmp_path)
    hostile = [
        b'{"jsonrpc":"2.0","id":1,"method":"session/new","params":' + b"[" * 200_000,
        b"[" * 100_000 + b"]" * 100_000,
        b'{"jsonrpc":"2.0","id":2,"method":"' + b"x" * 2_000_000 + b'"}',
        b'{"jsonrpc":"2.0","id":{"a":1},"method":"initialize"}',
        b'{"jsonrpc":"2.0","id":99,"result":{}}',
        b'[{"jsonrpc":"2.0","id":3,"method":"initialize"}]',
        b"\xff\xfe\x00",
        b'"\\ud800"',
        b"null",
        b"",
    ]
    last = {"jsonrpc": "2.0", "id": "last", "method": "initialize", "params": {"protocolVersion": 99}}
    done = await program.run("acp", stdin=b"\n".join([*hostile, json.dumps(last).encode(), b""]))

    assert (done.code, done.err) == (0, "")
    (answer,) = [each for each in done.frames if each["id"] == "last"]
    assert answer["result"]["protocolVersion"] == 1
    codes = [each["error"]["code"] for each in done.frames if "error" in each]
    assert set(codes) <= {-32700, -32600, -32601} and len(codes) >= 7
