"""Shows workflow runs, and directs them: pause, resume, stop, skip or restart an agent, save the script."""

import asyncio
import time
from typing import get_args

from bridle.commands.context import CommandContext
from bridle.features.workflows.agents import Verdict
from bridle.features.workflows.commands import launch_text, start
from bridle.features.workflows.feature import SESSION_WORKFLOWS
from bridle.features.workflows.run import WorkflowRun
from bridle.features.workflows.saved import save
from bridle.features.workflows.session import SessionWorkflows
from bridle.types.command import CommandResult, Says, Shows
from bridle.types.errors import UsageError
from bridle.types.services.workflows import AgentView, Launch, PhaseView, RunView

_USE = (
    "Use /workflows, /workflows <run>, or /workflows <run> pause|resume|stop|skip <agent>|restart <agent>|"
    "stop <agent>|save [name] [--user] [--force]."
)
_ENDING = "Workflows are off: running workflows can finish, but no new ones start."
_VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
_LAST_LINES = 10
_MOST_AGENTS = 60


async def workflows(arguments: str, context: CommandContext) -> CommandResult:
    """Every run, one of them (`<run>`), or something done with it (`<run> pause`)."""
    known = context.runtime.features.find(SESSION_WORKFLOWS)
    if known is None or not known.shown:
        raise UsageError("Workflows are off in this session.")
    runs = known.runs()
    views = await runs.views(context.runtime)
    words = arguments.split()
    if not words:
        text = _overview(views, tuple(known.files()))
        return Shows(view="workflows", text=text if known.allowed() else f"{text}\n{_ENDING}")
    view = _named(words[0], views)
    if len(words) == 1:
        return Shows(view="workflows", arguments=view.run_id, text=_details(view))
    return Says(await _direct(view, words[1], words[2:], runs, context))


def complete(context: CommandContext) -> tuple[str, ...]:
    """The runs that can be named."""
    known = context.runtime.features.find(SESSION_WORKFLOWS)
    return () if known is None else known.runs().ids(context.runtime)


async def _direct(
    view: RunView, action: str, rest: list[str], runs: SessionWorkflows, context: CommandContext
) -> str:
    match action, rest:
        case "pause", []:
            _live(view, runs).pause()
            return f"Paused {view.run_id}: running agents finish, but no new ones start."
        case "resume", []:
            return await _resume(view, runs, context)
        case "stop", []:
            await _live(view, runs).stop()
            return f"Stopped {view.run_id}. Resume with: /workflows {view.run_id} resume"
        case str(), [number] if action in _VERDICTS and number.isdecimal():
            return _live(view, runs).decide(int(number), action)
        case "save", _:
            return await _save(view, rest, runs, context)
        case _:
            raise UsageError(_USE)


async def _resume(view: RunView, runs: SessionWorkflows, context: CommandContext) -> str:
    if view.live:
        _live(view, runs).resume()
        return f"{view.run_id} continues."
    if (known := context.runtime.features.find(SESSION_WORKFLOWS)) is not None:
        known.want()
    typed = f"/workflows {view.run_id} resume"
    return launch_text(await start(runs, Launch(resume=view.run_id), typed, context))


async def _save(view: RunView, rest: list[str], runs: SessionWorkflows, context: CommandContext) -> str:
    names = [word for word in rest if not word.startswith("--")]
    unknown = {word for word in rest if word.startswith("--")} - {"--user", "--force"}
    folder = runs.folder(view.run_id, context.runtime)
    if unknown or len(names) > 1 or folder is None:
        raise UsageError(_USE)
    path = await asyncio.to_thread(
        save,
        folder,
        context.runtime,
        name=names[0] if names else None,
        scope="user" if "--user" in rest else "project",
        replace="--force" in rest,
    )
    return f"Saved to {path}."


def _live(view: RunView, runs: SessionWorkflows) -> WorkflowRun:
    run = runs.find(view.run_id)
    if view.state == "elsewhere":
        raise UsageError(
            f"{view.run_id} is running in another session: control it there, or finish it here with "
            f"/workflows {view.run_id} resume."
        )
    if run is None or not view.live:
        raise UsageError(f"{view.run_id} is {view.state}. Resume with: /workflows {view.run_id} resume")
    return run


def _named(word: str, views: tuple[RunView, ...]) -> RunView:
    """A run by its id, the beginning of it, or the newest of a name."""
    exact = [view for view in views if word == view.run_id]
    found = exact or [view for view in views if view.run_id.startswith(word) or view.name == word]
    if not found:
        there = ", ".join(view.run_id for view in views[-10:]) or "none"
        raise UsageError(f"Unknown workflow run {word}. Runs: {there}.")
    return found[-1]


def _overview(views: tuple[RunView, ...], saved: tuple[str, ...]) -> str:
    rows = [_row(view) for view in reversed(views)] or ["No workflows have run in this session."]
    if saved:
        rows.append(f"Saved: {', '.join(f'/{name}' for name in saved)}")
    return "\n".join(rows)


def _row(view: RunView) -> str:
    goes_on = view.live or view.state == "elsewhere"
    seconds = round((view.ended or (time.time() if goes_on else view.started)) - view.started)
    agents = f"{view.done} of {len(view.agents)} agents done"
    return f"{view.run_id}  {view.state}  {seconds} s  {agents}  {view.tokens:,} tokens  {view.name}"


def _details(view: RunView) -> str:
    rows = [_row(view), view.description, f"Script: {view.script_path}"]
    rows += [_phase(phase) for phase in view.phases]
    rows += [_agent(agent) for agent in view.agents[-_MOST_AGENTS:]]
    rows += [f"> {line}" for line in view.logs[-_LAST_LINES:]]
    return "\n".join([*rows, view.preview] if view.preview else rows)


def _phase(phase: PhaseView) -> str:
    counts = (
        ("done", phase.done),
        ("running", phase.running),
        ("waiting", phase.waiting),
        ("failed", phase.failed),
    )
    states = ", ".join(f"{count} {word}" for word, count in counts if count) or "not started"
    return f"[{phase.title or 'no phase'}] {states}"


def _agent(agent: AgentView) -> str:
    used = f"{agent.model}, {agent.tokens:,} tokens, {agent.tool_uses} calls, {agent.seconds:.0f} s"
    said = f": {agent.preview}" if agent.preview else ""
    return f"  {agent.number}. {agent.label} ({agent.state}, {used}){said}"
