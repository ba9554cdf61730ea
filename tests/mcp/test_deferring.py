import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from tests.fakes.mcp_session import FAKES
from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.program import Program

PLAIN: dict[str, Any] = {"command": sys.executable, "args": ["-I", str(FAKES / "mcp_plain.py")]}
EVERYTHING: dict[str, Any] = {"command": sys.executable, "args": [str(FAKES / "mcp_everything.py"), "stdio"]}
MANY = """
import json, sys
tools = [{"name": f"tool_{n}", "description": "does a thing " * 20, "inputSchema": {"type": "object"}}
         for n in range(1000)]
answers = {"initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
           "serverInfo": {"name": "many", "version": "1"}}, "tools/list": {"tools": tools}}
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = answers.get(message["method"])
        told = {"result": result} if result else {"error": {"code": -32601, "message": "unknown"}}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **told}), flush=True)
"""


def _call(name: str, id: str = "toolu_1", **input: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": name, "input": input}


def _config(**servers: Any) -> str:
    return json.dumps({"mcpServers": servers})


def _names(request: Any) -> list[str]:
    return [tool["name"] for tool in request.body["tools"]]


async def test_model_searches_for_a_tool_and_calls_it(tmp_path: Path):
    script = [
        step(_call("ToolSearch", query="select:mcp__plain__echo")),
        step(_call("mcp__plain__echo", "toolu_2", text="found")),
        step("Done."),
    ]
    async with MessagesServer(script) as server, asyncio.timeout(60):
        done = await Program(tmp_path, server.url, ENABLE_TOOL_SEARCH="true").run(
            "-p", "go", "--output-format", "json", "--mcp-config", _config(plain=PLAIN),
            "--allowedTools", "mcp__plain__echo",
        )  # fmt: skip
        first, second, third = server.requests
    assert "mcp__plain__echo" not in _names(first) and "ToolSearch" in _names(first)
    assert "mcp__plain__echo" in json.dumps(first.body["messages"])
    assert _names(second) == [*_names(first), "mcp__plain__echo"]
    assert _names(third) == _names(second)
    assert third.body["messages"][: len(second.body["messages"]) - 1] == second.body["messages"][:-1]
    result = third.body["messages"][-1]["content"][0]
    assert result["content"] == [{"type": "text", "text": "found"}]
    assert done.result["subtype"] == "success"


async def test_tool_found_earlier_is_there_in_a_resumed_session(tmp_path: Path):
    script = [step(_call("ToolSearch", query="select:mcp__plain__echo")), step("Done."), step("Again.")]
    async with MessagesServer(script) as server, asyncio.timeout(60):
        program = Program(tmp_path, server.url, ENABLE_TOOL_SEARCH="true")
        more = ("--output-format", "json", "--mcp-config", _config(plain=PLAIN))
        await program.run("-p", "go", *more)
        await program.run("-p", "go on", "--continue", *more)
        last = server.requests[-1]
    assert "mcp__plain__echo" in _names(last)


async def test_tool_that_is_always_loaded_is_told_at_once(tmp_path: Path):
    async with MessagesServer([step("Done.")]) as server, asyncio.timeout(60):
        await Program(tmp_path, server.url, ENABLE_TOOL_SEARCH="true").run(
            "-p", "go", "--mcp-config", _config(plain={**PLAIN, "alwaysLoad": True})
        )
        (request,) = server.requests
    assert "mcp__plain__echo" in _names(request)


async def test_ten_thousand_tools_add_little_to_the_first_request(tmp_path: Path):
    many = {"command": sys.executable, "args": ["-I", "-c", MANY]}
    async with MessagesServer([step("Done."), step("Done.")]) as server, asyncio.timeout(90):
        program = Program(tmp_path, server.url, MCP_CONNECT_TIMEOUT_MS="30000")
        await program.run("-p", "go")
        done = await program.run("-p", "go", "--mcp-config", _config(**{f"s{n}": many for n in range(10)}))
        bare, crowded = (len(json.dumps(request.body)) for request in server.requests)
    assert done.code == 0
    assert "s7: 1000 tools" in json.dumps(server.requests[1].body["messages"])
    assert crowded - bare < 20_000


async def test_instructions_of_a_server_reach_the_model_once(tmp_path: Path):
    script = [step(_call("mcp__all__echo", text="x")), step("Done.")]
    async with MessagesServer(script) as server, asyncio.timeout(60):
        await Program(tmp_path, server.url).run(
            "-p", "go", "--mcp-config", _config(all=EVERYTHING), "--allowedTools", "mcp__all__echo"
        )
        first, second = (json.dumps(request.body["messages"]) for request in server.requests)
    assert first.count("Ask for one thing at a time.") == 1
    assert second.count("Ask for one thing at a time.") == 1


async def test_nothing_is_hidden_where_the_search_is_not_offered(tmp_path: Path):
    async with MessagesServer([step("Done.")]) as server, asyncio.timeout(60):
        await Program(tmp_path, server.url, ENABLE_TOOL_SEARCH="true").run(
            "-p", "go", "--tools", "Read", "--mcp-config", _config(plain=PLAIN)
        )
        (request,) = server.requests
    assert _names(request) == ["Read", "mcp__plain__echo", "mcp__plain__reader"]
