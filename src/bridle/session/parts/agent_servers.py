"""The MCP servers that an agent brings along: connected when it starts, closed when it ends."""

from collections.abc import Mapping
from typing import Any

from bridle.config.mcp.variables import NEVER_GIVEN, credentials
from bridle.config.source_limits import CHANGED
from bridle.features.agents.registry import AgentServers
from bridle.mcp.client_requests import RequestContext
from bridle.mcp.servers import Servers
from bridle.session import choices
from bridle.session.base import SessionBase
from bridle.session.parts.mcp import sampler
from bridle.session.parts.mcp_context import read_server, servers_context
from bridle.types.agent import AgentDefinition
from bridle.types.errors import ConfigError, ToolError


async def open_agent_servers(base: SessionBase, definition: AgentDefinition) -> AgentServers | None:
    """Connect the servers that a definition spells out; those it only names are the session's.

    Raises:
        ToolError: an entry cannot be used.
    """
    setup, workspace = base.setup, base.workspace
    entries = own_entries(definition)
    if not entries or choices.is_closed(setup.options, setup.env):
        return None
    if definition.source == "project" and not setup.trusted:
        base.warn(f"the servers of the agent {definition.name} are not started: this folder is not trusted")
        return None
    approved_content = setup.config.approved_content
    if (
        definition.source == "project"
        and approved_content is not None
        and not approved_content.covers_file(definition.file or "")
    ):
        base.warn(f"the servers of the agent {definition.name} are not started: its file {CHANGED}")
        return None

    if definition.source == "project" and (names := _credentials(entries, setup.env)):
        why = NEVER_GIVEN.format(", ".join(names))
        base.warn(f"the servers of the agent {definition.name} are not started: it {why}")
        return None
    try:
        found = [read_server(setup, name, raw) for name, raw in entries.items()]
    except ConfigError as error:
        raise ToolError(f"The agent {definition.name} cannot start its MCP server: {error}.") from error
    company = RequestContext(
        roots=lambda: workspace.roots, ask=base.channel.ask, hooks=lambda: base.hooks, sample=sampler(base)
    )
    servers = Servers(found, servers_context(base, company, cwd=workspace.cwd))
    await servers.settle()
    return AgentServers(tools=servers.tools, close=servers.close)


def _credentials(entries: Mapping[str, Mapping[str, Any]], env: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(name for raw in entries.values() for name in credentials(raw, env))


def own_entries(definition: AgentDefinition) -> dict[str, Mapping[str, Any]]:
    """The servers that a definition spells out: `{name: entry}`, or one entry with its `name` in it."""
    found: dict[str, Mapping[str, Any]] = {}
    for each in definition.mcp_servers:
        if isinstance(each, str):
            continue
        name = each.get("name")
        if isinstance(name, str) and ("command" in each or "url" in each):
            found[name] = {key: value for key, value in each.items() if key != "name"}
        else:
            found |= {key: value for key, value in each.items() if isinstance(value, Mapping)}
    return found
