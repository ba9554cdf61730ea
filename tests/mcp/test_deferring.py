import asyncio
import json
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.fakes.forked import official_python
from tests.fakes.mcp_session import FAKES
from tests.fakes.messages_server import MessagesServer, Step, step
from tests.fakes.program import Program

PLAIN: dict[str, Any] = {"command": sys.executable, "args": ["-I", str(FAKES / "mcp_plain.py")]}
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


def _call(name: str, id: str = "toolu_1", /, **input: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": name, "input": input}


def _config(**servers: Any) -> str:
    return json.dumps({"mcpServers": servers})


def _names(request: Any) -> list[str]:
    return [tool["name"] for tool in request.body["tools"]]


async def test_model_loads_a_tool_by_reference_and_calls_it(tmp_path: Path):
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
    assert second.body["tools"][:-1] == first.body["tools"] and "CallTool" not in _names(first)
    assert second.body["tools"][-1]["name"] == "mcp__plain__echo"
    assert second.body["tools"][-1]["defer_loading"] is True
    assert third.body["tools"] == second.body["tools"]
    assert "advanced-tool-use-2025-11-20" in second.headers["anthropic-beta"]
    loaded = second.body["messages"][-1]["content"][0]
    assert loaded["content"] == [{"type": "tool_reference", "tool_name": "mcp__plain__echo"}]
    assert third.body["messages"][: len(second.body["messages"]) - 1] == second.body["messages"][:-1]
    result = third.body["messages"][-1]["content"][0]
    assert result["content"] == [{"type": "text", "text": "found"}]
    assert done.result["subtype"] == "success"


async def test_at_a_foreign_address_a_loaded_tool_is_called_by_another_and_no_list_changes(tmp_path: Path):
    script = [
        step(_call("ToolSearch", query="select:mcp__plain__echo")),
        step(_call("CallTool", "toolu_2", name="mcp__plain__echo", input={"text": "found"})),
        step(_call("mcp__plain__echo", "toolu_3", text="directly")),
        step("Done."),
    ]
    async with MessagesServer(script) as server, asyncio.timeout(60):
        program = Program(tmp_path, server.url, ENABLE_TOOL_SEARCH="")
        done = await program.run(
            "-p", "go", "--output-format", "stream-json", "--verbose", "--include-partial-messages",
            "--mcp-config", _config(plain=PLAIN), "--allowedTools", "mcp__plain__echo",
        )  # fmt: skip
        requests = server.requests
    assert all(request.body["tools"] == requests[0].body["tools"] for request in requests)
    assert "defer_loading" not in str(requests[-1].body) and "tool_reference" not in str(requests[-1].body)
    messages = requests[-1].body["messages"]
    shown = messages[2]["content"][0]["content"][0]["text"]
    assert "# mcp__plain__echo\ndoes echo\nParameters: {" in shown
    for earlier, later in pairwise(_bare(request.body["messages"]) for request in requests):
        assert later[: len(earlier)] == earlier
    calls = [block for message in messages for block in message["content"] if block["type"] == "tool_use"]
    assert [call["name"] for call in calls] == ["ToolSearch", "CallTool", "CallTool"]
    assert calls[1]["input"] == {"name": "mcp__plain__echo", "input": {"text": "found"}}
    assert messages[4]["content"][0]["content"] == [{"type": "text", "text": "found"}]
    assert done.result["subtype"] == "success" and done.result["permission_denials"] == []
    shown = [frame for frame in done.frames if frame["type"] in ("assistant", "stream_event")]
    assert "CallTool" not in json.dumps(shown) and "CallTool" not in _said(program)
    opened = [
        frame["event"]["content_block"]["name"]
        for frame in done.frames
        if frame["type"] == "stream_event" and frame["event"].get("content_block", {}).get("name")
    ]
    assert opened == ["ToolSearch", "mcp__plain__echo", "mcp__plain__echo"]


async def test_a_call_of_a_loaded_tool_passes_rules_and_hooks_under_its_own_name(tmp_path: Path):
    calls = [_call("CallTool", f"toolu_{n}", name=f"mcp__plain__{n}", input={}) for n in ("echo", "reader")]
    async with MessagesServer([step(*calls), step("Done.")]) as server, asyncio.timeout(60):
        program = Program(tmp_path, server.url, ENABLE_TOOL_SEARCH="")
        hook = {"type": "command", "command": "cat >> calls.jsonl; echo >> calls.jsonl"}
        settings = {"hooks": {"PreToolUse": [{"matcher": "mcp__plain__.*", "hooks": [hook]}]}}
        done = await program.run(
            "-p", "go", "--output-format", "json", "--mcp-config", _config(plain=PLAIN),
            "--settings", json.dumps(settings), "--disallowedTools", "mcp__plain__reader",
        )  # fmt: skip
        last = server.requests[-1].body["messages"][-1]["content"]
    assert [denial["tool_name"] for denial in done.result["permission_denials"]] == ["mcp__plain__echo"]
    assert all(result["is_error"] for result in last if result["type"] == "tool_result")
    assert "mcp__plain__reader was denied: denied by rule mcp__plain__reader" in str(last)
    heard = (program.project / "calls.jsonl").read_text(encoding="utf-8")
    assert "mcp__plain__echo" in heard and "CallTool" not in heard


async def test_a_service_that_knows_no_references_is_asked_once_more_without(tmp_path: Path):
    refused = {"type": "error", "error": {"type": "invalid_request_error", "message": "tools.16.custom."
               "defer_loading: Extra inputs are not permitted"}}  # fmt: skip
    script = [
        step(_call("ToolSearch", query="select:mcp__plain__echo")),
        Step(status=400, body=refused),
        step(_call("CallTool", "toolu_2", name="mcp__plain__echo", input={"text": "found"})),
        step("Done."),
    ]
    async with MessagesServer(script) as server, asyncio.timeout(60):
        done = await Program(tmp_path, server.url, ENABLE_TOOL_SEARCH="true").run(
            "-p", "go", "--output-format", "json", "--mcp-config", _config(plain=PLAIN),
            "--allowedTools", "mcp__plain__echo",
        )  # fmt: skip
        after = [request.body for request in server.requests[2:]]
    assert done.result["result"] == "Done." and len(after) == 2
    assert all("defer_loading" not in str(body) and "tool_reference" not in str(body) for body in after)
    assert "found" in str(after[-1]["messages"][-1])


def _bare(messages: list[Any]) -> list[Any]:
    """Without the marks of the cache, which move on."""
    return json.loads(json.dumps(messages).replace(', "cache_control": {"type": "ephemeral"}', ""))


def _said(program: Program) -> str:
    """What the transcript has of answers."""
    return json.dumps([row["message"]["content"] for row in program.rows() if row["type"] == "assistant"])


async def test_tool_found_earlier_is_there_in_a_resumed_session(tmp_path: Path):
    script = [step(_call("ToolSearch", query="select:mcp__plain__echo")), step("Done."), step("Again.")]
    async with MessagesServer(script) as server, asyncio.timeout(60):
        program = Program(tmp_path, server.url, ENABLE_TOOL_SEARCH="true")
        more = ("--output-format", "json", "--mcp-config", _config(plain=PLAIN))
        await program.run("-p", "go", *more)
        await program.run("-p", "go on", "--continue", *more)
        before, last = server.requests[1].body, server.requests[-1].body
    assert last["tools"] == before["tools"] and last["tools"][-1]["name"] == "mcp__plain__echo"
    assert json.dumps(last["messages"]).count("# More tools") == 1
    assert _bare(last["messages"])[: len(before["messages"])] == _bare(before["messages"])


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
    everything = {"command": official_python(), "args": [str(FAKES / "mcp_everything.py"), "stdio"]}
    async with MessagesServer(script) as server, asyncio.timeout(60):
        await Program(tmp_path, server.url, MCP_CONNECT_TIMEOUT_MS="30000").run(
            "-p", "go", "--mcp-config", _config(all=everything), "--allowedTools", "mcp__all__echo"
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
