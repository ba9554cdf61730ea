"""The servers of a session as screens show them: how each fares, what it offers and what that costs."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from bridle.mcp.names import tool_name
from bridle.types.mcp import (
    HttpServer,
    McpServers,
    SdkServer,
    ServerState,
    SseServer,
    StdioServer,
    WebSocketServer,
)
from bridle.types.model import ToolDefinition

_CHARS_PER_TOKEN = 4


class ToolRow(Struct, frozen=True, kw_only=True):
    name: str
    full_name: str
    description: str
    tokens: int
    """What its definition takes in a request, about."""
    loaded: bool
    """Whether it is part of requests now."""
    read_only: bool = False
    destructive: bool = False


class ServerRow(Struct, frozen=True, kw_only=True):
    name: str
    status: str
    scope: str
    address: str
    error: str = ""
    server: str = ""
    """What the server calls itself, with its version."""
    tools: tuple[ToolRow, ...] = ()
    tokens: int = 0
    """What the tools that are part of requests take together."""
    hidden_tokens: int = 0
    """What the others would take."""
    prompts: int = 0
    resources: int = 0
    log: str = ""
    can_log_in: bool = False


def rows_of(servers: McpServers, definitions: Sequence[ToolDefinition]) -> tuple[ServerRow, ...]:
    """A row for each server; `definitions` is what requests hold now."""
    loaded = {each["name"] for each in definitions}
    tokens = {tool.name: _tokens(tool.own_definition()) for tool in servers.tools()}
    prompts = [prompt.server for prompt in servers.prompts()]
    resources = [resource.server for resource in servers.resources()]
    return tuple(
        _row(state, tokens, loaded, prompts.count(state.name), resources.count(state.name))
        for state in servers.status()
    )


def _row(
    state: ServerState, tokens: Mapping[str, int], loaded: set[str], prompts: int, resources: int
) -> ServerRow:
    tools = tuple(
        ToolRow(
            name=tool.name,
            full_name=(full := tool_name(state.name, tool.name)),
            description=tool.description.partition("\n")[0],
            tokens=tokens.get(full, 0),
            loaded=full in loaded,
            read_only=tool.read_only is True,
            destructive=tool.destructive is True,
        )
        for tool in state.tools
    )
    return ServerRow(
        name=state.name,
        status=state.status,
        scope=state.scope,
        address=_address(state),
        error=state.error or "",
        server=f"{state.info.title or state.info.name} {state.info.version}".strip() if state.info else "",
        tools=tools,
        tokens=sum(tool.tokens for tool in tools if tool.loaded),
        hidden_tokens=sum(tool.tokens for tool in tools if not tool.loaded),
        prompts=prompts,
        resources=resources,
        log=state.log,
        can_log_in=isinstance(state.config, HttpServer | SseServer | WebSocketServer),
    )


def _tokens(definition: Any) -> int:
    return 0 if definition is None else -(-len(msgspec.json.encode(definition)) // _CHARS_PER_TOKEN)


def _address(state: ServerState) -> str:
    match state.config:
        case StdioServer() as config:
            return " ".join((config.command, *config.args))
        case SdkServer():
            return "inside the host program"
        case config:
            return config.url
