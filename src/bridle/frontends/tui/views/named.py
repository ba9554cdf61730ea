"""Opens the view that a command names, with the data of the session."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import Any

from msgspec import Struct

from bridle.commands.context import CommandContext
from bridle.commands.facts.doctor import run_checks
from bridle.commands.facts.rules import folder_rows, recent_denials, rule_rows
from bridle.commands.facts.settings import setting_rows
from bridle.commands.facts.spending import session_cost
from bridle.commands.facts.status import status_facts
from bridle.commands.facts.window import memory_files
from bridle.commands.files import answers, conversation_text
from bridle.commands.histories import rewind_points
from bridle.commands.models import model_choices
from bridle.commands.plugins import plugin_rows
from bridle.commands.reports import breakdown_of, scene_of
from bridle.commands.usage import days_of
from bridle.context.tokens import estimate
from bridle.frontends.tui.keymap import Keymap
from bridle.frontends.tui.render.unified import read_unified
from bridle.frontends.tui.view import View
from bridle.frontends.tui.views import facts
from bridle.frontends.tui.views.agents import agents_view
from bridle.frontends.tui.views.config import Config, config_view
from bridle.frontends.tui.views.context import context_view
from bridle.frontends.tui.views.copying import copy_view, export_view
from bridle.frontends.tui.views.diff import DiffSource, diff_view
from bridle.frontends.tui.views.doctor import doctor_view
from bridle.frontends.tui.views.goal import Goal, goal_view
from bridle.frontends.tui.views.help import help_view
from bridle.frontends.tui.views.hooks import hook_rows, hooks_view
from bridle.frontends.tui.views.mcp import ServerRow, mcp_view
from bridle.frontends.tui.views.memory import Memory, MemoryRow, memory_view
from bridle.frontends.tui.views.model import ModelView, effort_view
from bridle.frontends.tui.views.pane import Do, nothing
from bridle.frontends.tui.views.permissions import Permissions, permissions_view
from bridle.frontends.tui.views.pins import pins_view
from bridle.frontends.tui.views.plugins import MarketplaceRow, PluginRow, Plugins, plugins_view
from bridle.frontends.tui.views.rewind import RewindPoint, RewindView
from bridle.frontends.tui.views.sandbox import SandboxFacts, sandbox_view
from bridle.frontends.tui.views.sheet import Sheet
from bridle.frontends.tui.views.skills import SkillRow, skills_view
from bridle.frontends.tui.views.status import status_view
from bridle.frontends.tui.views.tasks import tasks_view
from bridle.frontends.tui.views.theme import ThemeView
from bridle.frontends.tui.views.usage import UsageFacts, session_lines, usage_view
from bridle.hooks.table import from_layers
from bridle.host.git_diff import tree_diff
from bridle.types.checkpoint import Rewound
from bridle.types.command import Shows
from bridle.types.errors import SessionError
from bridle.version import __version__

_DAYS = 30
_MOST_MEASURED = 20
"""Prompts for which it is found out what going back would change in files."""


class Around(Struct, frozen=True, kw_only=True):
    """What views need of the program around the session."""

    keymap: Keymap
    clock: Callable[[], float]
    """Seconds since the epoch."""
    do: Do = nothing
    """Told what the user wants done while a view stays open."""
    preview_theme: Callable[[str], None] = nothing
    keys_file: str = ""


class Named(Struct, frozen=True):
    """An opened view, and how it is brought up to date after something was done."""

    view: View[Any]
    renew: Callable[[], Awaitable[None]]


async def named_view(wanted: Shows, context: CommandContext, around: Around) -> Named | None:
    """The view of this name with the data of the session; None for a name that has none here."""
    make = _VIEWS.get(wanted.view)
    return None if make is None else await make(context, around)


def _renewed(sheet: Sheet[Any], read: Callable[[], Awaitable[Any]]) -> Named:
    async def renew() -> None:
        sheet.show(await read())

    return Named(sheet, renew)


def _fixed(view: View[Any]) -> Named:
    async def renew() -> None:
        """Nothing in it changes while it is open."""

    return Named(view, renew)


async def _context(context: CommandContext, around: Around) -> Named:
    async def read() -> Any:
        return facts.context_use(breakdown_of(context))

    return _renewed(context_view(await read(), do=around.do), read)


async def _usage(context: CommandContext, around: Around) -> Named:
    del around
    days = await days_of(context, _DAYS)
    return _fixed(
        usage_view(
            UsageFacts(
                session=facts.model_uses(session_cost(context.session)),
                days=facts.day_uses(days),
                models=facts.model_uses([each for day in days for each in day.models]),
            )
        )
    )


async def _config(context: CommandContext, around: Around) -> Named:
    async def read() -> Config:
        config = context.settings.config()
        spent = UsageFacts(session=facts.model_uses(session_cost(context.session)))
        return Config(
            status=facts.status_of(status_facts(context)),
            settings=facts.setting_list(setting_rows(config), config),
            usage=lambda width: session_lines(spent, width),
        )

    return _renewed(config_view(await read(), do=around.do), read)


async def _permissions(context: CommandContext, around: Around) -> Named:
    async def read() -> Permissions:
        state = context.session.state
        return facts.permission_list(
            rule_rows(state.rules, tools=context.runtime.toolbox.names()),
            folder_rows(context.workspace),
            recent_denials(context.server.last),
            mode=state.mode,
        )

    return _renewed(permissions_view(await read(), do=around.do), read)


async def _doctor(context: CommandContext, around: Around) -> Named:
    async def read() -> Any:
        return facts.check_rows(await run_checks(scene_of(context)))

    return _renewed(doctor_view(await read(), do=around.do), read)


async def _status(context: CommandContext, around: Around) -> Named:
    del around

    async def read() -> Any:
        return facts.status_of(status_facts(context))

    return _renewed(status_view(await read()), read)


async def _servers(context: CommandContext, around: Around) -> Named:
    async def read() -> list[ServerRow]:
        known = context.runtime.servers
        costs = _tool_costs(context)
        return [
            ServerRow(state=state, costs=costs.get(state.name, {}))
            for state in (known.status() if known is not None else ())
        ]

    return _renewed(mcp_view(await read(), do=around.do), read)


async def _agents(context: CommandContext, around: Around) -> Named:
    known = context.runtime.agents
    return _fixed(agents_view(list(known.definitions()) if known is not None else [], do=around.do))


async def _hooks(context: CommandContext, around: Around) -> Named:
    table = from_layers(context.settings.config().layers, trusted=context.trusted)
    return _fixed(hooks_view(hook_rows(table), do=around.do))


async def _memory(context: CommandContext, around: Around) -> Named:
    async def read() -> Memory:
        return Memory(
            files=tuple(
                MemoryRow(path=file.path, name=file.kind, tokens=estimate(file.text), text=file.text)
                for file in memory_files(context.runtime)
            ),
            automatic=context.settings.config().settings.auto_memory_enabled is not False,
        )

    return _renewed(memory_view(await read(), do=around.do), read)


async def _tasks(context: CommandContext, around: Around) -> Named:
    async def read() -> Any:
        return context.workspace.jobs()

    def tail(id: str, most: int) -> str:
        # Looked up late: without background work there is nothing that could be asked.
        return context.workspace.tasks.read(id, most)

    view = tasks_view(
        await read(),
        read=tail,
        clock=around.clock,
        do=around.do,
    )
    return _renewed(view, read)


async def _skills(context: CommandContext, around: Around) -> Named:
    rows = [
        SkillRow(
            name=each.name,
            description=each.description,
            source=each.source,
            file=each.origin,
            tokens=each.tokens,
            locked=True,
        )
        for each in context.commands.all()
        if each.source not in ("builtin", "mcp")
    ]
    return _fixed(skills_view(rows, do=around.do))


async def _help(context: CommandContext, around: Around) -> Named:
    commands = context.commands.all()
    view = help_view(commands, around.keymap, version=__version__, keys_file=around.keys_file, do=around.do)
    return _fixed(view)


async def _pins(context: CommandContext, around: Around) -> Named:
    async def read() -> Any:
        return context.session.state.ledger

    return _renewed(pins_view(await read(), do=around.do), read)


async def _goal(context: CommandContext, around: Around) -> Named:
    async def read() -> Goal:
        goal = context.goal
        return Goal(condition=goal.condition or "", turns=goal.checks, last=goal.missing)

    return _renewed(goal_view(await read(), do=around.do), read)


async def _model(context: CommandContext, around: Around) -> Named:
    del around
    choices = model_choices(context)
    current = next((each.value for each in choices if each.current), "")
    effort = context.runtime.asking.effort
    return _fixed(ModelView(facts.model_rows(choices), current=current, effort=effort))


async def _effort(context: CommandContext, around: Around) -> Named:
    del around
    levels = context.runtime.facts(context.session.state.model).efforts
    return _fixed(effort_view(levels, current=context.runtime.asking.effort))


async def _theme(context: CommandContext, around: Around) -> Named:
    current = context.settings.config().settings.theme or "auto"
    return _fixed(ThemeView(current, preview=around.preview_theme))


async def _diff(context: CommandContext, around: Around) -> Named:
    found = await tree_diff(context.workspace.cwd, context.env)
    changes = () if found is None else tuple(read_unified(found.patch))
    return _fixed(diff_view([DiffSource(name="working tree", changes=changes)], do=around.do))


async def _copy(context: CommandContext, around: Around) -> Named:
    del around
    return _fixed(copy_view(answers(context.session)))


async def _export(context: CommandContext, around: Around) -> Named:
    del around
    name = f"conversation-{context.session.id[:8]}.txt"
    return _fixed(export_view(conversation_text(context.session), file=name))


async def _rewind(context: CommandContext, around: Around) -> Named:
    points = list(reversed(rewind_points(context)))
    checkpoints = context.runtime.checkpoints
    changes: dict[str, Rewound | None] = {point.uuid: None for point in points}
    for point in points[-_MOST_MEASURED:] if checkpoints is not None else ():
        try:
            changes[point.uuid] = await checkpoints.rewind(point.uuid, dry_run=True) if checkpoints else None
        except SessionError:
            continue  # Nothing was kept for this prompt, which the view tells.
    rows = [RewindPoint(uuid=each.uuid, text=each.text, time=_seconds(each.timestamp)) for each in points]
    return _fixed(RewindView(rows, now=around.clock(), changes=changes, do=around.do))


async def _plugins(context: CommandContext, around: Around) -> Named:
    async def read() -> Plugins:
        rows, markets = await asyncio.to_thread(plugin_rows, context)
        return Plugins(
            plugins=tuple(
                PluginRow(
                    id=row.id,
                    description=row.description,
                    version=f"{row.version} ({row.offered} is out)" if row.offered else row.version,
                    author=row.author,
                    installed=row.installed,
                    enabled=row.enabled,
                    scope=row.scope,
                    brings=row.brings,
                    problems=row.problems,
                    managed=row.managed,
                )
                for row in rows
            ),
            marketplaces=tuple(
                MarketplaceRow(
                    name=market.name,
                    source=market.source,
                    plugins=market.plugins,
                    updated=market.updated[:10],
                    problem=market.problem,
                )
                for market in markets
            ),
        )

    return _renewed(plugins_view(await read(), do=around.do), read)


async def _sandbox(context: CommandContext, around: Around) -> Named:
    async def read() -> SandboxFacts:
        settings = context.settings.config().settings.sandbox
        is_on = context.runtime.sandbox is not None
        network = None if settings is None else settings.network
        return SandboxFacts(
            mode="off" if not is_on else "auto" if context.runtime.sandbox_allows else "regular",
            may_leave=settings is None or settings.allow_unsandboxed_commands is not False,
            limits=(
                ("may be worked in", context.workspace.roots),
                ("may be reached", () if network is None else network.allowed_domains or ()),
            ),
        )

    return _renewed(sandbox_view(await read(), do=around.do), read)


def _seconds(moment: str) -> float | None:
    try:
        return datetime.fromisoformat(moment).timestamp()
    except ValueError:
        return None


def _tool_costs(context: CommandContext) -> dict[str, dict[str, int]]:
    """Tokens of the tools in the window, by server and by the server's own name for each."""
    found: dict[str, dict[str, int]] = {}
    for category in breakdown_of(context).categories:
        if category.id == "mcp_tools":
            for item in category.items:
                found.setdefault(item.note, {})[item.name.split("__", 2)[2]] = item.tokens
    return found


_VIEWS: Mapping[str, Callable[[CommandContext, Around], Awaitable[Named]]] = {
    "agents": _agents,
    "config": _config,
    "context": _context,
    "copy": _copy,
    "diff": _diff,
    "doctor": _doctor,
    "effort": _effort,
    "export": _export,
    "goal": _goal,
    "help": _help,
    "hooks": _hooks,
    "mcp": _servers,
    "memory": _memory,
    "model": _model,
    "permissions": _permissions,
    "pin": _pins,
    "plugins": _plugins,
    "rewind": _rewind,
    "sandbox": _sandbox,
    "skills": _skills,
    "status": _status,
    "tasks": _tasks,
    "theme": _theme,
    "usage": _usage,
}
