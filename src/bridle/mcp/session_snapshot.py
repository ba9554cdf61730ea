"""The servers of a session as scripts see them: asked from the session, or read from the file it leaves."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from bridle.mcp.names import tool_name
from bridle.types.errors import UsageError
from bridle.types.services.mcp import McpServers, normalized


class ListedTool(Struct, frozen=True, kw_only=True, rename="camel"):
    name: str
    """As the model knows it."""
    server_name: str
    original_tool_name: str
    description: str = ""
    input_schema: Mapping[str, Any] = {}


class Client(Struct, frozen=True, kw_only=True):
    name: str
    type: str
    """How it fares."""


class Snapshot(Struct, frozen=True, kw_only=True, rename="camel"):
    """The servers of a session at one moment."""

    clients: tuple[Client, ...] = ()
    configs: Mapping[str, Any] = {}
    tools: tuple[ListedTool, ...] = ()
    resources: Mapping[str, Sequence[Mapping[str, Any]]] = {}
    normalized_names: Mapping[str, str] = {}

    def server(self, name: str) -> str:
        """The full name of a server.

        Raises:
            UsageError: there is none.
        """
        known = {client.name for client in self.clients}
        found = name if name in known else self.normalized_names.get(name, "")
        if found not in known:
            raise UsageError(f"unknown MCP server {name!r}; servers: {', '.join(sorted(known)) or 'none'}")
        return found

    def tool(self, reference: str) -> ListedTool:
        """A tool by `<server>/<tool>`.

        Raises:
            UsageError: that is no such reference, or there is no such tool.
        """
        server, name = split_reference(reference)
        full = self.server(server)
        for tool in self.tools:
            if tool.server_name == full and name in (tool.original_tool_name, tool.name):
                return tool
        raise UsageError(f"{full} has no tool {name!r}")


def take_snapshot(servers: McpServers, schemas: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> Snapshot:
    """The servers as they are now; `schemas` has what tools take, by server and tool."""
    states = servers.status()
    resources: dict[str, list[Mapping[str, Any]]] = {}
    for each in servers.resources():
        described = {
            "uri": each.uri,
            "name": each.name,
            "mimeType": each.mime_type,
            "description": each.description,
        }
        resources.setdefault(each.server, []).append(
            {key: value for key, value in described.items() if value is not None}
        )
    return Snapshot(
        clients=tuple(Client(name=state.name, type=state.status) for state in states),
        configs={state.name: msgspec.to_builtins(state.config) for state in states},
        tools=tuple(
            ListedTool(
                name=tool_name(state.name, tool.name),
                server_name=state.name,
                original_tool_name=tool.name,
                description=tool.description,
                input_schema=schemas.get(state.name, {}).get(tool.name, {}),
            )
            for state in states
            for tool in state.tools
        ),
        resources=resources,
        normalized_names={normalized(state.name): state.name for state in states},
    )


def answer(snapshot: Snapshot, command: str, words: Sequence[str]) -> Any:
    """What a command that only looks has to say, as plain JSON.

    Raises:
        UsageError: the words are off.
    """
    match command, *words:
        case ("servers",):
            return [{"name": client.name, "status": client.type} for client in snapshot.clients]
        case ("tools",):
            return [_reference(tool) for tool in snapshot.tools]
        case ("tools", name):
            server = snapshot.server(name)
            return [_reference(tool) for tool in snapshot.tools if tool.server_name == server]
        case ("info", reference):
            tool = snapshot.tool(reference)
            return {
                "name": _reference(tool),
                "description": tool.description,
                "inputSchema": tool.input_schema,
            }
        case ("grep", pattern):
            return _grep(snapshot, pattern)
        case ("resources",):
            return [
                {"server": server, **each} for server, listed in snapshot.resources.items() for each in listed
            ]
        case ("resources", name):
            server = snapshot.server(name)
            return [{"server": server, **each} for each in snapshot.resources.get(server, ())]
        case _:
            raise UsageError(f"wrong arguments for --mcp-cli {command}; see bridle --mcp-cli --help")


def split_reference(reference: str) -> tuple[str, str]:
    """The two halves of `<server>/<tool>`.

    Raises:
        UsageError: it has others.
    """
    parts = reference.split("/")
    if len(parts) != 2 or not all(parts):
        raise UsageError(f"Invalid tool identifier '{reference}'. Expected format: <server>/<tool>")
    return parts[0], parts[1]


def _grep(snapshot: Snapshot, pattern: str) -> list[dict[str, str]]:
    try:
        wanted = re.compile(pattern, re.IGNORECASE)
    except re.error as error:
        raise UsageError(f"{pattern!r} is not a regular expression: {error}") from error
    return [
        {"name": _reference(tool), "description": tool.description.partition("\n")[0][:200]}
        for tool in snapshot.tools
        if wanted.search(_reference(tool)) or wanted.search(tool.description)
    ]


def _reference(tool: ListedTool) -> str:
    return f"{tool.server_name}/{tool.original_tool_name}"
