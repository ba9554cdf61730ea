"""The tools with which the model looks at what servers offer to read."""

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from bridle.mcp.results import FitImage, ResultStorage, bounded, content_of, most_chars
from bridle.types.block import text_block
from bridle.types.errors import McpError, ToolError
from bridle.types.model import ToolDefinition
from bridle.types.services.mcp import McpServers, Resource
from bridle.types.tool import Tool, ToolContext, ToolOutput, tool

_MOST_LISTED = 1_000
_LIST = "ListMcpResourcesTool"
_READ = "ReadMcpResourceTool"
_READ_FOLDER = "ReadMcpResourceDirTool"
_WAIT = "WaitForMcpServers"
NAMES = (_LIST, _READ, _READ_FOLDER, _WAIT)
"""The tools that are added for servers, besides those of the servers."""


class ListInput(Struct, forbid_unknown_fields=True):
    server: Annotated[str | None, Meta(description="Only this server.")] = None


class ReadInput(Struct, forbid_unknown_fields=True):
    server: Annotated[str, Meta(description="The name of the server.")]
    uri: Annotated[str, Meta(description="The URI of the resource, as listed.")]


class WaitInput(Struct, forbid_unknown_fields=True):
    servers: Annotated[tuple[str, ...] | None, Meta(description="Servers to wait for; default all.")] = None


def resource_tools(servers: McpServers, *, env: Mapping[str, str], fit: FitImage | None) -> tuple[Tool, ...]:
    """Tools that list and read the resources of connected servers."""

    @tool(_LIST, ListInput, read_only=True)
    async def list_resources(input: ListInput, ctx: ToolContext) -> ToolOutput:
        """List the resources that MCP servers offer, with the address and the server of each."""
        del ctx
        _require(servers, input.server)
        listed = [_listed(each) for each in servers.resources(input.server)[:_MOST_LISTED]]
        text = msgspec.json.encode(listed).decode() if listed else "No resources."
        return ToolOutput(content=text, data=listed)

    @tool(_READ, ReadInput, read_only=True, parallel=lambda _: True)
    async def read_resource(input: ReadInput, ctx: ToolContext) -> ToolOutput:
        """Read a resource of an MCP server by its address."""
        _require(servers, input.server)
        try:
            result = await servers.read_resource(input.server, input.uri)
        except McpError as error:
            raise ToolError(str(error)) from error
        storage = ResultStorage(storage=ctx.storage, call_id=ctx.call_id, fit_image=fit)
        blocks = content_of(result.get("contents"), storage)
        shown = bounded(blocks, limit=most_chars(env, None), storage=storage)
        return ToolOutput(content=shown or [text_block("The resource is empty.")], data=shown)

    @tool(_READ_FOLDER, ReadInput, read_only=True, parallel=lambda _: True)
    async def list_folder(input: ReadInput, ctx: ToolContext) -> ToolOutput:
        """List what an MCP server offers to read below an address, one level deep."""
        del ctx
        _require(servers, input.server)
        listed = _below(servers.resources(input.server), input.uri)[:_MOST_LISTED]
        text = msgspec.json.encode(listed).decode() if listed else f"Nothing below {input.uri[:500]}."
        return ToolOutput(content=text, data=listed)

    return tuple(
        msgspec.structs.replace(each, definition=_definition(each, kind), deferred=True)
        for each, kind in (
            (list_resources, ListInput),
            (read_resource, ReadInput),
            (list_folder, ReadInput),
        )
    )


def waiting_tool(servers: McpServers, seconds: float) -> Tool:
    """A tool that waits until servers are connected or failed, so that what they offer is known."""

    @tool(_WAIT, WaitInput, read_only=True, parallel=lambda _: True)
    async def wait(input: WaitInput, ctx: ToolContext) -> ToolOutput:
        """Wait until MCP servers that are still being connected are ready: the named ones, or all."""
        del ctx
        for name in input.servers or ():
            _require(servers, name)
        states = await servers.ready(input.servers, seconds)
        statuses = {state.name: state.status for state in states}
        text = "\n".join(f"{name}: {status}" for name, status in statuses.items())
        return ToolOutput(content=text or "No MCP servers.", data={"servers": statuses})

    return msgspec.structs.replace(wait, definition=_definition(wait, WaitInput))


def _below(resources: tuple[Resource, ...], uri: str) -> list[dict[str, Any]]:
    """What lies in a folder: its resources, and the folders in it."""
    base = uri.rstrip("/") + "/"
    found: dict[str, dict[str, Any]] = {}
    for each in resources:
        if each.template or not each.uri.startswith(base):
            continue
        first, slash, _ = each.uri.removeprefix(base).partition("/")
        if slash:
            found.setdefault(f"{base}{first}/", {"uri": f"{base}{first}/", "name": first, "directory": True})
        elif first:
            found[each.uri] = _listed(each)
    return [found[key] for key in sorted(found)]


def _definition(each: Tool, kind: type[Struct]) -> ToolDefinition:
    schema = msgspec.json.schema(kind, ref_template="{name}")["$defs"][kind.__name__]
    return {
        "name": each.name,
        "description": each.summary,
        "input_schema": {key: value for key, value in schema.items() if key != "title"},
    }


def _require(servers: McpServers, name: str | None) -> None:
    known = [state.name for state in servers.status()]
    if name is not None and name not in known:
        raise ToolError(f"Unknown MCP server {name!r}. Servers: {', '.join(known) or 'none'}.")


def _listed(resource: Resource) -> dict[str, Any]:
    """A resource as the model reads it: only what is known of it."""
    fields = {
        "uriTemplate" if resource.template else "uri": resource.uri,
        "name": resource.name,
        "title": resource.title,
        "mimeType": resource.mime_type,
        "description": resource.description,
        "server": resource.server,
    }
    return {key: value for key, value in fields.items() if value is not None}
