"""The MCP servers that an agent brings along: connected when it starts, closed when it ends."""

from collections.abc import Mapping
from typing import Any

from bridle.cli import choices
from bridle.cli.ground import Ground
from bridle.config.mcp import host_server
from bridle.config.sandboxing import sandbox_for_programs
from bridle.engine.agents.means import AgentServers
from bridle.mcp.attendant import Company
from bridle.mcp.servers import Servers, Surroundings
from bridle.types.agent import AgentDefinition
from bridle.types.errors import ConfigError, ToolError


async def open_agent_servers(ground: Ground, definition: AgentDefinition) -> AgentServers | None:
    """Connect the servers that a definition spells out; those it only names are the session's.

    Raises:
        ToolError: an entry cannot be used.
    """
    setup, workspace, sandbox = ground.setup, ground.workspace, ground.sandbox
    entries = own_entries(definition)
    if not entries or choices.is_bare(setup.args, setup.env) or choices.is_safe(setup.args, setup.env):
        return None
    if definition.source == "project" and not setup.trusted:
        ground.warn(f"the servers of the agent {definition.name} are not started: this folder is not trusted")
        return None

    def read(name: str, raw: Any) -> Any:
        return host_server(name, raw, config=setup.config, env=setup.env)

    try:
        found = [read(name, raw) for name, raw in entries.items()]
    except ConfigError as error:
        raise ToolError(f"The agent {definition.name} cannot start its MCP server: {error}.") from error
    around = Surroundings(
        cwd=workspace.cwd,
        env=setup.env,
        company=Company(roots=lambda: workspace.roots, ask=ground.channel.ask, hooks=lambda: ground.hooks),
        read=read,
        sandbox=None if sandbox is None else sandbox_for_programs(setup.config, sandbox),
    )
    servers = Servers(found, around)
    await servers.settle()
    return AgentServers(tools=servers.tools, close=servers.close)


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
