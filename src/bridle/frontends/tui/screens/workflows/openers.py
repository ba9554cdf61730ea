"""The view of workflow runs, with the runs of the session."""

import asyncio
import os.path

from bridle.commands.context import CommandContext
from bridle.features.workflows.feature import SESSION_WORKFLOWS
from bridle.features.workflows.session import SessionWorkflows
from bridle.frontends.tui.screens.base import OpenScreen, ScreenContext, renewed
from bridle.frontends.tui.screens.conversation.agent_transcript import agent_messages
from bridle.frontends.tui.screens.workflows.agent import AgentSummary, read_story
from bridle.frontends.tui.screens.workflows.browser import BrowserData, Saved, WorkflowBrowser
from bridle.frontends.tui.screens.workflows.commands import Scope
from bridle.host.paths import config_home
from bridle.types.services.workflows import RunView


async def open_workflows(context: CommandContext, screen: ScreenContext) -> OpenScreen:
    """Runs of workflows, those of earlier processes included."""
    known = context.runtime.features.find(SESSION_WORKFLOWS)
    runs = known.runs() if known is not None and known.shown else None
    views = {} if runs is None else {view.run_id: view for view in await runs.views(context.runtime)}

    async def read() -> BrowserData:
        story = await _story(browser.agent_id, context)
        if runs is not None:
            _renew(views, runs, context)
        return BrowserData(
            runs=_newest_first(views), saved=_saved(context), story=story, waiting=screen.waiting()
        )

    browser = WorkflowBrowser(
        BrowserData(runs=_newest_first(views), saved=_saved(context)),
        clock=screen.clock,
        taken=lambda name, scope: _taken(context, name, scope),
        do=screen.do,
        opened=screen.arguments,
    )
    return renewed(browser.sheet, read, tell=browser.tell)


def _renew(known: dict[str, RunView], runs: SessionWorkflows, context: CommandContext) -> None:
    """Look at the runs of this process; those that are over stay as they were seen."""
    begun = (task.id for task in context.workspace.jobs() if task.kind == "local_workflow")
    for run_id in dict.fromkeys((*known, *begun)):
        run, seen = runs.find(run_id), known.get(run_id)
        if run is not None and (seen is None or seen.live or seen.state != run.state):
            known[run_id] = run.view()


def _newest_first(known: dict[str, RunView]) -> tuple[RunView, ...]:
    return tuple(sorted(known.values(), key=lambda run: -run.started))


def _saved(context: CommandContext) -> tuple[Saved, ...]:
    known = context.runtime.features.find(SESSION_WORKFLOWS)
    files = {} if known is None else known.files()
    return tuple(
        Saved(name=name, description=file.description, path=file.path, source=file.source)
        for name, file in files.items()
    )


async def _story(agent_id: str | None, context: CommandContext) -> AgentSummary | None:
    if agent_id is None:
        return None
    return read_story(agent_id, await asyncio.to_thread(agent_messages, context.runtime, agent_id))


def _taken(context: CommandContext, name: str, scope: Scope) -> str:
    """The file that would be replaced; empty when there is none."""
    project = os.path.join(context.workspace.start, ".claude")
    base = config_home(context.env) if scope == "user" else project
    path = os.path.join(base, "workflows", f"{name}.js")
    return path if os.path.lexists(path) else ""
