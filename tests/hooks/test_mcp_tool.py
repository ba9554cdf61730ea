from collections.abc import Mapping
from typing import Any

import pytest

from bridle.config.hook_schema import McpToolHook
from bridle.hooks.handler import Failed, Ran
from bridle.hooks.mcp_tool import fill, mcp_tool_handler
from bridle.types.errors import ToolError
from tests.fakes.hook_calls import call_of

PAYLOAD: dict[str, Any] = {
    "session_id": "s1",
    "tool_input": {"command": "ls -l", "depth": 3, "files": ["a", "b"], "opt": {"x": None}},
}


class FakeServers:
    def __init__(self, says: str | Exception) -> None:
        self._says = says
        self.called: list[tuple[str, str, Mapping[str, Any]]] = []

    async def call(self, server: str, tool: str, input: Mapping[str, Any]) -> str:
        self.called.append((server, tool, input))
        if isinstance(self._says, Exception):
            raise self._says
        return self._says


async def test_the_tool_is_called_with_what_the_input_names():
    servers = FakeServers('{"decision": "block", "reason": "no"}')
    hook = McpToolHook(server="plugin:audit:log", tool="check", input={"text": "ran ${tool_input.command}"})
    reply = await mcp_tool_handler(servers.call)(call_of(hook))
    assert reply == Ran(exit_code=0, stdout='{"decision": "block", "reason": "no"}')
    assert servers.called == [("plugin:audit:log", "check", {"text": "ran ls"})]


async def test_a_tool_that_fails_is_a_failure():
    servers = FakeServers(ToolError("no such server"))
    reply = await mcp_tool_handler(servers.call)(call_of(McpToolHook(server="s", tool="t")))
    assert reply == Failed(reason="failed in t of s: no such server")


async def test_without_servers_the_hook_says_what_it_needs():
    reply = await mcp_tool_handler(None)(call_of(McpToolHook(server="s", tool="t")))
    assert isinstance(reply, Failed) and "MCP" in reply.reason


@pytest.mark.parametrize(
    ("template", "filled"),
    [
        ("${tool_input.command}", "ls -l"),
        ("${tool_input.depth}", 3),
        ("${tool_input.files}", ["a", "b"]),
        ("${tool_input.files.1}", "b"),
        ("at ${tool_input.depth}: ${tool_input.files}", 'at 3: ["a","b"]'),
        ("${tool_input.missing}", ""),
        ("a${tool_input.opt.x}b", "ab"),
        ("${session_id.x.y}", ""),
        ("$tool_input.command", "$tool_input.command"),
        (7, 7),
        ({"a": ["${session_id}"]}, {"a": ["s1"]}),
    ],
)
def test_references_are_filled_in_everywhere(template: Any, filled: Any):
    assert fill({"v": template}, PAYLOAD) == {"v": filled}


def test_a_value_that_looks_like_a_reference_is_left_alone():
    payload = {"tool_input": {"command": "${session_id}"}, "session_id": "s1"}
    assert fill({"v": "run ${tool_input.command}"}, payload) == {"v": "run ${session_id}"}
