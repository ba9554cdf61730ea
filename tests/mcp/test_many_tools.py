"""R11: what is kept of a tool does not grow with how many there are, and nothing is kept twice."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw

from bridle.mcp.catalog import read_tools
from bridle.mcp.names import distinct
from bridle.mcp.transports.base import decode, entry_of
from tests.fakes.counting import steps_of

_SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}
_MOST_MEMORY = 300 * 1024
"""KiB."""
_SERVER = """
import json, sys
count = int(sys.argv[1])
def tool(n):
    schema = {"type": "object", "required": ["path"], "properties": {
        "path": {"type": "string", "description": "Where."},
        f"p{n}": {"type": "integer", "description": "How many at most."}}}
    return json.dumps({"name": f"t{n}", "description": f"Does thing {n}. " * 12, "inputSchema": schema})
for line in sys.stdin:
    asked = json.loads(line)
    match asked.get("method"):
        case "initialize":
            told = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                    "serverInfo": {"name": "many", "version": "1"}}
            print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": told}), flush=True)
        case "tools/list":
            print(json.dumps({"jsonrpc": "2.0", "id": asked["id"]})[:-1] + ', "result": {"tools": [', end="")
            for n in range(count):
                print(", " * (n > 0) + tool(n), end="")
            print("]}}", flush=True)
        case _ if "id" in asked:
            error = {"code": -32601, "message": "unknown"}
            print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": error}), flush=True)
"""
_MEASURE = """
import os, subprocess, sys
process = subprocess.Popen(sys.argv[1:])
print(os.wait4(process.pid, 0)[2].ru_maxrss, file=sys.stderr)
"""
"""Runs a program from a small process: one that a large process starts is counted with what that had."""


def _listed(count: int, **more: Any) -> list[dict[str, Any]]:
    return [{"name": f"t{n}", "inputSchema": {**_SCHEMA, **more}} for n in range(count)]


def test_equal_schemas_are_kept_once():
    tools, _ = read_tools("s", _listed(50), checks_headers=False)
    assert len({id(tool.schema_json) for tool in tools}) == 1
    assert tools[0].schema == _SCHEMA
    assert len({id(tool.header_paths) for tool in tools}) == 1


def test_different_schemas_are_kept_as_they_came():
    listed = _listed(3)
    for number, each in enumerate(listed):
        each["inputSchema"] = {"type": "object", "properties": {f"p{number}": {}}}
    tools, _ = read_tools("s", listed, checks_headers=False)
    assert [tool.schema for tool in tools] == [each["inputSchema"] for each in listed]


def test_only_so_many_schemas_are_looked_for_among_others():
    listed = [{"name": f"t{n}", "inputSchema": {"type": "object", "n": n % 1_500}} for n in range(3_000)]
    tools, _ = read_tools("s", listed, checks_headers=False)
    assert len({id(tool.schema_json) for tool in tools}) == 1_000 + 2 * 500
    assert [tool.schema["n"] for tool in tools] == [n % 1_500 for n in range(3_000)]


def test_text_that_cannot_be_encoded_is_put_right():
    listed = [{"name": "t", "inputSchema": {"type": "object", "description": "\ud800"}}]
    tools, _ = read_tools("s", listed, checks_headers=False)
    assert "\ud800" not in str(tools[0].schema)


def test_names_that_are_all_the_same_cost_the_same_each():
    def work(count: int) -> int:
        return steps_of(lambda: list(distinct(["again"] * count)))

    few, many = work(200), work(800)
    assert many <= few * 4.2
    assert len(set(distinct(["x" * 200, *(["again"] * 5_000), "again_2"]))) == 5_002


def _answer(result: dict[str, Any], **more: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 3, "result": result, **more}).encode()


def test_a_long_list_is_read_one_tool_at_a_time_and_says_the_same():
    listed = [*_listed(20_000), 7, None, {"name": "odd"}, {"name": "half", "description": "\ud800"}]
    message = decode(_answer({"tools": listed, "nextCursor": "c", "_meta": {"a": 1}}))
    assert message["id"] == 3 and message["result"]["nextCursor"] == "c"
    assert message["result"]["_meta"] == {"a": 1}
    entries = message["result"]["tools"]
    assert all(isinstance(each, Raw) for each in entries[:20_000])
    read = [entry_of(each) for each in entries]
    assert read[:-1] == listed[:-1] and read[-1]["description"] == "\ufffd"


@pytest.mark.parametrize(
    "message",
    [
        _answer({"content": [{"type": "text", "text": "x" * 300_000}]}),
        _answer({"tools": "x" * 300_000}),
        _answer({"tools": [{"name": "x" * 300_000}]}, method="sampling/createMessage"),
        json.dumps([{"id": 1, "result": {"tools": ["x" * 300_000]}}]).encode(),
    ],
)
def test_other_long_messages_are_read_as_ever(message: bytes):
    assert decode(message) == json.loads(message)


def test_a_long_list_that_is_broken_is_no_json():
    whole = _answer({"tools": _listed(20_000)})
    for broken in (whole[:-3], whole.replace(b'"t9000"', b"t9000"), whole + b"}"):
        with pytest.raises(ValueError):
            decode(broken)


def test_a_hundred_thousand_tools_fit_each_with_an_input_of_its_own(tmp_path: Path):
    """R11"""
    server = {"command": sys.executable, "args": ["-I", "-c", _SERVER, "100000"]}
    env = {
        **os.environ, "HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path), "ANTHROPIC_API_KEY": "x",
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:9", "CLAUDE_CODE_MAX_RETRIES": "0", "NO_PROXY": "*",
        "MCP_CONNECTION_NONBLOCKING": "0", "MCP_CONNECT_TIMEOUT_MS": "120000", "MCP_TIMEOUT": "120000",
    }  # fmt: skip
    program = [sys.executable, "-m", "bridle", "-p", "hi", "--output-format", "stream-json", "--verbose"]
    config = ["--mcp-config", json.dumps({"mcpServers": {"s": server}})]
    done = subprocess.run(
        [sys.executable, "-c", _MEASURE, *program, *config],
        cwd=tmp_path, env=env, capture_output=True, check=True,
    )  # fmt: skip
    assert done.stdout.splitlines()[0].count(b'"mcp__s__t') == 100_000
    assert int(done.stderr.split()[-1]) < _MOST_MEMORY
