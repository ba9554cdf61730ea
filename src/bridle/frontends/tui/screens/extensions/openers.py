"""Views of what extends a session: servers, agents, hooks, skills, plugins, memory, the boundary."""

import asyncio
from collections.abc import Sequence
from typing import Literal

from bridle.commands.context import CommandContext
from bridle.commands.editors import rows_of
from bridle.commands.plugins import plugin_rows
from bridle.commands.queries.extensions import AgentFacts, SkillFacts, agent_facts, hook_table, skill_facts
from bridle.commands.queries.memory_files import memory_places, takes_notes
from bridle.commands.reports import breakdown_of
from bridle.features.editors.connector import EditorRow
from bridle.frontends.tui.screens.base import OpenScreen, ScreenContext, fixed, renewed
from bridle.frontends.tui.screens.extensions.agents import agents_view
from bridle.frontends.tui.screens.extensions.editors import editors_view
from bridle.frontends.tui.screens.extensions.hooks import hook_rows, hooks_view
from bridle.frontends.tui.screens.extensions.mcp import ServerRow, mcp_view
from bridle.frontends.tui.screens.extensions.memory import Memory, memory_view
from bridle.frontends.tui.screens.extensions.plugins import Plugins, plugins_view
from bridle.frontends.tui.screens.extensions.sandbox import SandboxFacts, sandbox_view
from bridle.frontends.tui.screens.extensions.skills import skills_view
from bridle.types.services.session import MEMORY


async def open_servers(context: CommandContext, screen: ScreenContext) -> OpenScreen:
    """MCP servers."""

    async def read() -> list[ServerRow]:
        costs = _tool_costs(context)
        return [
            ServerRow(state=state, costs=costs.get(state.name, {}))
            for state in context.runtime.servers.status()
        ]

    return renewed(mcp_view(await read(), do=screen.do), read)


async def open_editors(context: CommandContext, screen: ScreenContext) -> OpenScreen:
    """Editors that the session can connect to."""

    async def read() -> Sequence[EditorRow]:
        return await rows_of(context)

    return renewed(editors_view(await read(), do=screen.do), read)


async def open_agents(context: CommandContext, screen: ScreenContext) -> OpenScreen:
    """Whom work can be handed to."""

    async def read() -> Sequence[AgentFacts]:
        return agent_facts(context)

    return renewed(agents_view(await read(), do=screen.do), read)


async def open_hooks(context: CommandContext, screen: ScreenContext) -> OpenScreen:
    """What runs at which event."""
    disabled = context.settings.config().settings.disable_all_hooks is True
    return fixed(hooks_view(hook_rows(hook_table(context)), disabled=disabled, do=screen.do))


async def open_skills(context: CommandContext, screen: ScreenContext) -> OpenScreen:
    """Skills and who may use them."""

    async def read() -> Sequence[SkillFacts]:
        return skill_facts(context)

    return renewed(skills_view(await read(), do=screen.do), read)


async def open_plugins(context: CommandContext, screen: ScreenContext) -> OpenScreen:
    """Plugins and marketplaces."""

    async def read() -> Plugins:
        rows, markets = await asyncio.to_thread(plugin_rows, context)
        return Plugins(plugins=tuple(rows), marketplaces=tuple(markets))

    return renewed(plugins_view(await read(), do=screen.do), read)


async def open_memory(context: CommandContext, screen: ScreenContext) -> OpenScreen:
    """Instruction files and notes."""

    async def read() -> Memory:
        places = await asyncio.to_thread(memory_places, context)
        return Memory(
            files=places,
            automatic=takes_notes(context),
            folder=context.runtime.features.find(MEMORY) or "",
        )

    return renewed(memory_view(await read(), do=screen.do), read)


async def open_sandbox(context: CommandContext, screen: ScreenContext) -> OpenScreen:
    """The boundary around commands."""

    async def read() -> SandboxFacts:
        settings = context.settings.config().settings.sandbox
        runtime = context.runtime
        is_wanted = settings is not None and settings.enabled is True
        is_unasked = settings is None or settings.auto_allow_bash_if_sandboxed is not False
        network = None if settings is None else settings.network
        return SandboxFacts(
            mode=_boundary(is_on=is_wanted, is_unasked=is_unasked),
            now=_boundary(is_on=runtime.gate.sandbox is not None, is_unasked=runtime.gate.sandbox_allows),
            may_leave=settings is None or settings.allow_unsandboxed_commands is not False,
            limits=(
                ("writable folders", context.workspace.roots),
                ("allowed hosts", () if network is None else network.allowed_domains or ()),
            ),
        )

    return renewed(sandbox_view(await read(), do=screen.do), read)


def _tool_costs(context: CommandContext) -> dict[str, dict[str, int]]:
    """Tokens of the tools in the window, by server and by the server's own name for each."""
    found: dict[str, dict[str, int]] = {}
    for category in breakdown_of(context).categories:
        if category.id == "mcp_tools":
            for item in category.items:
                found.setdefault(item.note, {})[item.name.split("__", 2)[2]] = item.tokens
    return found


def _boundary(*, is_on: bool, is_unasked: bool) -> Literal["off", "auto", "regular"]:
    return "off" if not is_on else "auto" if is_unasked else "regular"
