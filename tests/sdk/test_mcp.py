import json
from pathlib import Path
from typing import Any

from claude_agent_sdk import (
    PermissionResultDeny,
    SystemMessage,
    ToolPermissionContext,
    create_sdk_mcp_server,
    tool,
)

from tests.fakes.messages_server import step
from tests.sdk.world import bash, call, text_of, world

_ADDS = call("mcp__calc__add", a=2, b=3)


def _calculator(called: list[dict[str, Any]]) -> Any:
    @tool("add", "Add two numbers", {"a": int, "b": int})
    async def add(args: dict[str, Any]) -> dict[str, Any]:
        called.append(args)
        if args["a"] < 0:
            raise ValueError("no negative numbers")
        return {"content": [{"type": "text", "text": str(args["a"] + args["b"])}]}

    return {"calc": create_sdk_mcp_server("calc", tools=[add])}


def _gate(answer: dict[str, Any], asked: list[dict[str, Any]]) -> Any:
    @tool("ask", "Decide on a call", {"tool_name": str, "input": dict, "tool_use_id": str})
    async def ask(args: dict[str, Any]) -> dict[str, Any]:
        asked.append(args)
        return {"content": [{"type": "text", "text": json.dumps(answer)}]}

    return {"gate": create_sdk_mcp_server("gate", tools=[ask])}


async def test_tool_of_the_program_is_offered_and_called(tmp_path: Path):
    called: list[dict[str, Any]] = []
    async with world(tmp_path, step(_ADDS), step("Five.")) as it:
        servers = _calculator(called)
        messages = await it.ask("2+3?", mcp_servers=servers, allowed_tools=["mcp__calc__add"])
        (told,) = it.results()
        offered = [each["name"] for each in it.sent(0)["tools"]]
    assert called == [{"a": 2, "b": 3}] and text_of(messages) == "Five."
    assert "mcp__calc__add" in offered and "5" in str(told["content"])
    init = next(message.data for message in messages if isinstance(message, SystemMessage))
    assert {"name": "calc", "status": "connected", "source": "sdk"} in init["mcp_servers"]
    assert "mcp__calc__add" in init["tools"]


async def test_tool_of_the_program_needs_permission_like_any_other(tmp_path: Path):
    called: list[dict[str, Any]] = []
    asked: list[str] = []

    async def decide(tool: str, input: dict[str, Any], context: ToolPermissionContext) -> Any:
        asked.append(tool)
        return PermissionResultDeny(message="no sums today")

    async with world(tmp_path, step(_ADDS), step("ok")) as it:
        await it.ask("2+3?", mcp_servers=_calculator(called), can_use_tool=decide)
        (told,) = it.results()
    assert (called, asked) == ([], ["mcp__calc__add"]) and told["content"] == "no sums today"


async def test_tool_of_the_program_that_fails_is_an_error_result(tmp_path: Path):
    failing = call("mcp__calc__add", a=-1, b=3)
    async with world(tmp_path, step(failing), step("ok")) as it:
        await it.ask("go", mcp_servers=_calculator([]), allowed_tools=["mcp__calc__add"])
        (told,) = it.results()
    assert told["is_error"] and "no negative numbers" in str(told["content"])


async def test_status_lists_the_server_and_its_tools(tmp_path: Path):
    async with world(tmp_path, step("ok")) as it, it.client(mcp_servers=_calculator([])) as client:
        await client.query("hi")
        _ = [message async for message in client.receive_response()]
        (status,) = (await client.get_mcp_status())["mcpServers"]
    assert (status["name"], status["status"]) == ("calc", "connected")
    assert [each["name"] for each in status.get("tools", ())] == ["add"]


async def test_permission_prompt_tool_decides_on_calls(tmp_path: Path):
    asked: list[dict[str, Any]] = []
    servers = _gate({"behavior": "allow", "updatedInput": {"command": "touch other"}}, asked)
    async with world(tmp_path, step(bash("touch made")), step("ok")) as it:
        await it.ask("go", mcp_servers=servers, permission_prompt_tool_name="mcp__gate__ask")
    assert asked == [{"tool_name": "Bash", "input": {"command": "touch made"}, "tool_use_id": "t1"}]
    assert (it.project / "other").exists() and not (it.project / "made").exists()


async def test_permission_prompt_tool_may_deny(tmp_path: Path):
    servers = _gate({"behavior": "deny", "message": "gate is shut"}, [])
    async with world(tmp_path, step(bash("touch made")), step("ok")) as it:
        await it.ask("go", mcp_servers=servers, permission_prompt_tool_name="mcp__gate__ask")
        (told,) = it.results()
    assert told["content"] == "gate is shut" and not (it.project / "made").exists()
