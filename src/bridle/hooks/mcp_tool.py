"""Hooks that are a tool of a connected MCP server."""

import re
from collections.abc import Mapping
from typing import Any, Protocol

import msgspec

from bridle.config.hook_schema import McpToolHook
from bridle.hooks.handler import Failed, Handler, HookCall, Ran, Reply
from bridle.types.errors import BridleError, McpError
from bridle.types.services.mcp import McpServers

_LONGEST = 4 * 1024 * 1024
_REFERENCE = re.compile(r"\$\{([A-Za-z_][\w-]*(?:\.[\w-]+)*)\}")


class CallTool(Protocol):
    """Calls a tool of an MCP server and returns its text; raises a BridleError when it fails."""

    async def __call__(self, server: str, tool: str, input: Mapping[str, Any]) -> str: ...


def mcp_tool_handler(call_tool: CallTool | None) -> Handler:
    """Call the tool that the hook names; without MCP servers every such hook fails with a reason."""

    async def run(call: HookCall) -> Reply:
        assert isinstance(call.hook, McpToolHook)
        hook = call.hook
        if call_tool is None:
            return Failed(reason="cannot run: MCP tool hooks need MCP servers")
        try:
            said = await call_tool(hook.server, hook.tool, fill(hook.input or {}, call.payload))
        except BridleError as error:
            return Failed(reason=f"failed in {hook.tool} of {hook.server}: {error}")
        # What a tool says counts like the output of a program.
        return Ran(exit_code=0, stdout=said[:_LONGEST])

    return run


def tool_caller(servers: McpServers) -> CallTool:
    """Calls tools of the session's servers; what is not text does not count."""

    async def call_tool(server: str, tool: str, input: Mapping[str, Any]) -> str:
        answer = await servers.call(server, tool, input)
        said = "\n".join(
            block["text"]
            for block in answer.get("content") or ()
            if isinstance(block, dict) and isinstance(block.get("text"), str)
        )
        if answer.get("isError"):
            raise McpError(said or "the tool failed without a message")
        return said

    return call_tool


def fill(template: Mapping[str, Any], payload: Mapping[str, Any]) -> dict[str, Any]:
    """The input with `${tool_input.path}` filled in.

    A text that is one reference and nothing else takes the value as it is, with its type; what is not
    there becomes empty. Values that are filled in are not looked at again.
    """
    return {key: _filled(value, payload) for key, value in template.items()}


def _filled(value: Any, payload: Mapping[str, Any]) -> Any:
    match value:
        case str():
            if (whole := _REFERENCE.fullmatch(value)) is not None:
                found = _find(whole[1], payload)
                return "" if found is None else found
            return _REFERENCE.sub(lambda part: _text(_find(part[1], payload)), value)
        case dict():
            return {key: _filled(item, payload) for key, item in value.items()}
        case list():
            return [_filled(item, payload) for item in value]
        case _:
            return value


def _find(path: str, payload: Mapping[str, Any]) -> Any:
    found: Any = payload
    for part in path.split("."):
        match found:
            case dict():
                found = found.get(part)
            case list() if part.isdecimal() and int(part) < len(found):
                found = found[int(part)]
            case _:
                return None
    return found


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
