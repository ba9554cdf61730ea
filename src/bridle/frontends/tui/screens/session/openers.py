"""Views of how a session stands: its window, its costs, its settings, its work."""

import asyncio
from typing import Any

from bridle.commands.context import CommandContext
from bridle.commands.queries.doctor import run_checks
from bridle.commands.queries.rules import folder_rows, recent_denials, rule_rows
from bridle.commands.queries.settings import setting_rows
from bridle.commands.queries.spending import ModelCost, cost_by_model, session_cost
from bridle.commands.queries.status import status_facts
from bridle.commands.queries.usage_causes import causes_of, limits_of
from bridle.commands.reports import breakdown_of, scene_of
from bridle.commands.usage import usage_report
from bridle.engine.compaction.items import item_text, list_items
from bridle.engine.compaction.report import Compacted, last_compaction
from bridle.frontends.tui.render.diff import FileChange
from bridle.frontends.tui.render.git_diff import read_unified
from bridle.frontends.tui.screens.base import OpenScreen, ScreenContext, fixed, renewed
from bridle.frontends.tui.screens.session.compaction import compacted_view
from bridle.frontends.tui.screens.session.config import Config, config_view
from bridle.frontends.tui.screens.session.context import context_view
from bridle.frontends.tui.screens.session.context_items import items_view
from bridle.frontends.tui.screens.session.diff import DiffSource, diff_view, read_untracked
from bridle.frontends.tui.screens.session.doctor import doctor_view
from bridle.frontends.tui.screens.session.goal import Goal, goal_view
from bridle.frontends.tui.screens.session.permissions import Permissions, permissions_view
from bridle.frontends.tui.screens.session.pins import pins_view
from bridle.frontends.tui.screens.session.status import status_of, status_view
from bridle.frontends.tui.screens.session.tasks import tasks_view
from bridle.frontends.tui.screens.session.usage import UsageFacts, session_lines, usage_view
from bridle.host.git.diff import tree_diff

_DAYS = 30


async def open_context(context: CommandContext, screen: ScreenContext) -> OpenScreen:
    """What fills the window."""

    async def read() -> Any:
        return breakdown_of(context)

    return renewed(context_view(await read(), do=screen.do), read)


async def open_items(context: CommandContext, screen: ScreenContext) -> OpenScreen:
    """Single parts of the window."""
    session = context.session

    async def read() -> Any:
        return list_items(session)

    view = items_view(await read(), read=lambda item: item_text(session, item), do=screen.do)
    return renewed(view, read)


async def open_pins(context: CommandContext, screen: ScreenContext) -> OpenScreen:
    """What outlives every compaction."""

    async def read() -> Any:
        return context.session.state.ledger

    return renewed(pins_view(await read(), do=screen.do), read)


async def open_compacted(context: CommandContext, screen: ScreenContext) -> OpenScreen:
    """What the last compaction did."""
    del screen
    done = last_compaction(context.session) or Compacted(trigger="", tokens_before=0)
    return fixed(compacted_view(done, context.session.state.ledger.pins))


async def open_usage(context: CommandContext, screen: ScreenContext) -> OpenScreen:
    """What was spent, by model and day."""
    del screen
    report = await usage_report(context, _DAYS)
    days = report.days
    return fixed(
        usage_view(
            UsageFacts(
                session=_session_cost(context),
                days=days,
                models=cost_by_model(days),
                causes=causes_of(report.found.calls),
                limits=limits_of(context.runtime),
                timeline=report.session,
                work=context.session.work,
            )
        )
    )


async def open_config(context: CommandContext, screen: ScreenContext) -> OpenScreen:
    """Every setting."""

    async def read() -> Config:
        config = context.settings.config()
        spent = UsageFacts(session=_session_cost(context), work=context.session.work)
        return Config(
            status=status_of(status_facts(context)),
            settings=setting_rows(config),
            usage=lambda width: session_lines(spent, width),
        )

    return renewed(config_view(await read(), do=screen.do), read)


async def open_status(context: CommandContext, screen: ScreenContext) -> OpenScreen:
    """Version, model, login, folders."""
    del screen

    async def read() -> Any:
        return status_of(status_facts(context))

    return renewed(status_view(await read()), read)


async def open_doctor(context: CommandContext, screen: ScreenContext) -> OpenScreen:
    """What is wrong with the installation."""

    async def read() -> Any:
        return await run_checks(scene_of(context))

    return renewed(doctor_view(await read(), do=screen.do), read)


async def open_permissions(context: CommandContext, screen: ScreenContext) -> OpenScreen:
    """Rules, folders and refusals."""

    async def read() -> Permissions:
        state = context.session.state
        return Permissions(
            mode=state.mode,
            rules=rule_rows(state.rules, tools=context.runtime.toolbox.names()),
            folders=folder_rows(context.workspace),
            denials=recent_denials(context.server.last),
        )

    return renewed(permissions_view(await read(), do=screen.do), read)


async def open_goal(context: CommandContext, screen: ScreenContext) -> OpenScreen:
    """The condition that is worked toward."""

    async def read() -> Goal:
        goal = context.goal
        return Goal(condition=goal.condition or "", turns=goal.checks, last=goal.missing)

    return renewed(goal_view(await read(), do=screen.do), read)


async def open_tasks(context: CommandContext, screen: ScreenContext) -> OpenScreen:
    """Work in the background."""

    async def read() -> Any:
        return context.workspace.jobs()

    def tail(id: str, most: int) -> str:
        # Looked up late: without background work there is nothing that could be asked.
        return context.workspace.tasks.read(id, most)

    view, tell = tasks_view(
        await read(),
        read=tail,
        clock=screen.clock,
        do=screen.do,
    )
    return renewed(view, read, tell=tell)


async def open_diff(context: CommandContext, screen: ScreenContext) -> OpenScreen:
    """What has changed in the work tree."""
    found = await tree_diff(context.workspace.cwd, context.env)
    changes: list[FileChange] = []
    if found is not None:
        new = await asyncio.to_thread(read_untracked, found.root, found.untracked)
        changes = sorted((*read_unified(found.patch), *new), key=lambda change: change.path)
    return fixed(diff_view([DiffSource(name="working tree", changes=tuple(changes))], do=screen.do))


def _session_cost(context: CommandContext) -> tuple[ModelCost, ...]:
    return session_cost(context.session, context.settings.config().raw.get("bridleModels"))
