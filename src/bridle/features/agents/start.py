"""Starts agents, and resumes those that have ended."""

import asyncio
import os
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bridle.engine.assignment import Assignment
from bridle.engine.permissions.grants import grant
from bridle.engine.turn import Turn
from bridle.engine.worktrees import AgentWorktree, open_agent_worktree
from bridle.features.agents.builtin import FORK, FORK_DEFINITION, GENERAL, NOT_RESUMABLE
from bridle.features.agents.fork import is_fork, may_fork
from bridle.features.agents.mailbox import MAIN
from bridle.features.agents.records import PROCESS_SESSION, most_at_once, most_depth, transcript_path
from bridle.features.agents.run import AgentRun
from bridle.features.agents.session import take_on_state
from bridle.features.agents.transcripts import read_meta, remembered, take_over_transcript
from bridle.permissions.updates import read_update
from bridle.transcripts.cost import Cost
from bridle.transcripts.truncation import without_leftovers
from bridle.types.agent import AgentDefinition
from bridle.types.errors import ToolError
from bridle.types.event import Noticed
from bridle.types.nearest import did_you_mean
from bridle.types.services.delegation import AgentCompleted, AgentLaunched, AgentReport, Delegation
from bridle.types.services.teams import is_coordinating, team_name
from bridle.types.variables import is_on

if TYPE_CHECKING:
    from bridle.features.agents.interfaces import Run
    from bridle.features.agents.registry import Agents

_EFFORTS = ((50, "low"), (85, "medium"), (100, "high"))
_MOST_EFFORT = "max"
_MODEL_VARIABLE = "CLAUDE_CODE_SUBAGENT_MODEL"


async def start(agents: "Agents", turn: Turn, delegation: Delegation, *, call_id: str) -> AgentReport:
    """Let an agent do something; in the background only its start is waited for.

    Raises:
        ToolError: there is no such agent, it may not be started, or it could not finish.
    """
    definition = _choose(agents, turn, delegation)
    _check_limits(agents, turn)
    _check_name(agents, turn, delegation.name)
    agent_id = new_agent_id()
    fork = definition is FORK_DEFINITION
    if fork:
        # Siblings share a prefix only if all of them see the whole answer.
        await turn.answer_whole.wait()
    place = await _place(agents, turn, delegation, definition, agent_id)
    work = Assignment(
        agent_id=agent_id,
        definition=definition,
        description=delegation.description,
        prompt=delegation.prompt,
        call_id=call_id,
        name=delegation.name,
        model=model_of(agents, turn, definition, delegation.model),
        effort=effort_of(turn, definition, delegation.effort),
        background=_is_background(agents, turn, definition, delegation),
        depth=agents.depth + 1,
        fork=fork,
        place=place,
        team=team_name(turn.runtime.env, turn.session.id) if delegation.name else None,
        rules=delegation.rules,
    )
    return await _start(agents, await _hired(agents, turn, work) or make_run(agents, turn, work))


async def resume(agents: "Agents", turn: Turn, agent_id: str, prompt: str, *, call_id: str) -> AgentLaunched:
    """Resume an agent that has ended with another prompt, in the background.

    Raises:
        ToolError: there is no such agent, it still runs, or it cannot be resumed.
    """
    task = turn.runtime.workspace.tasks.find(agent_id)
    agent_id = task.id if task is not None else agent_id
    if agent_id in agents.registry.running:
        raise ToolError(f"Agent {agent_id} is still running: wait for its report.")
    _check_limits(agents, turn)
    meta = await asyncio.to_thread(read_meta, turn.runtime, agent_id)
    kind = str(meta.get("agentType") or GENERAL)
    if kind in NOT_RESUMABLE:
        raise ToolError(f"Agents of type {kind} cannot be resumed: start a new agent.")
    fork = kind == FORK
    definition = FORK_DEFINITION if fork else agents.find(kind) or _general(agents)
    place = meta.get("worktreePath")
    work = Assignment(
        agent_id=agent_id,
        definition=definition,
        description=str(meta.get("description") or "Resumed agent"),
        prompt=prompt,
        call_id=call_id,
        name=meta.get("name"),
        team=team_name(turn.runtime.env, turn.session.id) if meta.get("name") else None,
        model=str(meta.get("model") or model_of(agents, turn, definition, None)),
        effort=effort_of(turn, definition, None),
        background=True,
        depth=agents.depth + 1,
        place=AgentWorktree(path=place) if isinstance(place, str) and os.path.isdir(place) else None,
    )
    if isinstance(before := meta.get(PROCESS_SESSION), str):
        if (hired := await _hired(agents, turn, work, resumes=before)) is not None:
            return begin_beside(agents, hired)
        await asyncio.to_thread(take_over_transcript, turn.runtime, agent_id, before)
    entries = await asyncio.to_thread(remembered, turn, agent_id, meta)
    session = turn.session.child(
        agent_id, transcript_path(turn.runtime, agent_id), cwd=turn.runtime.workspace.cwd
    )
    session.restore(without_leftovers(entries), Cost())
    take_on_state(session, turn, work)
    report = await _start(agents, make_run(agents, turn, work, session=session))
    assert isinstance(report, AgentLaunched)
    return report


def _choose(agents: "Agents", turn: Turn, delegation: Delegation) -> AgentDefinition:
    wanted = delegation.agent_type
    forks = may_fork(agents.registry.env, interactive=agents.registry.setup.interactive)
    if wanted is None and forks and not is_coordinating(turn.runtime.env):
        if is_fork(turn.session):
            raise ToolError("A fork cannot fork again: do the work yourself.")
        if agents.depth == 0:
            return FORK_DEFINITION
    found = agents.find(wanted or GENERAL)
    if found is None:
        names = [each.name for each in agents.definitions()]
        meant = did_you_mean(wanted or GENERAL, names) or "."
        there = ", ".join(names) or "none"
        raise ToolError(f"Agent type '{wanted or GENERAL}' not found{meant} Available agents: {there}")
    return found


def _general(agents: "Agents") -> AgentDefinition:
    found = agents.find(GENERAL)
    if found is None:
        raise ToolError(
            f"The type of this agent no longer exists, and there is no {GENERAL} agent to replace it."
        )
    return found


def _check_limits(agents: "Agents", turn: Turn) -> None:
    if agents.depth >= most_depth(turn.runtime.env):
        raise ToolError("Agents cannot start agents at this depth: do the work yourself.")
    most = most_at_once(turn.runtime.env)
    if len(agents.registry.running) >= most:
        raise ToolError(f"The limit of {most} running agents is reached: wait until one ends.")


def _check_name(agents: "Agents", turn: Turn, name: str | None) -> None:
    """In a team a name leads to one member, and some names mean others."""
    if name is None or team_name(turn.runtime.env, turn.session.id) is None:
        return
    if not re.fullmatch(r"[\w.-]{1,64}", name) or name == MAIN:
        raise ToolError(f"Invalid teammate name {name!r}: use letters, digits, . _ and -.")
    hired = agents.registry.processes is not None and agents.registry.processes.has(name)
    if hired or any(run.work.name == name for run in agents.registry.running.values()):
        raise ToolError(f"Teammate {name} is already running: send it a message, or choose another name.")


def _is_background(agents: "Agents", turn: Turn, definition: AgentDefinition, delegation: Delegation) -> bool:
    # An agent gets no notifications, so it waits for those that it starts.
    if agents.depth or is_on(turn.runtime.env, "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS"):
        return False
    return definition.background or delegation.background is not False


def model_of(
    agents: "Agents",
    turn: Turn,
    definition: AgentDefinition,
    called: str | None,
    *,
    variables: Sequence[str] = (_MODEL_VARIABLE,),
) -> str:
    """The model of an agent: the call's, its own, that of the first variable that names one, the turn's."""
    env = turn.runtime.env
    variable = next((env[name] for name in variables if env.get(name)), None)
    forced = variable if is_on(env, "CLAUDE_CODE_SUBAGENT_MODEL_FORCE") else None
    setup = agents.registry.setup
    if called and not forced and not setup.may_choose(called, turn.model):
        raise ToolError(f"The model {called} is on a service that the user's settings do not use: omit it.")
    own = definition.model
    if own and definition.source == "project" and not setup.may_choose(own, turn.model):
        text = f"The agent {definition.name} of this project uses {own}, a model on a service that your "
        turn.runtime.channel.emit(Noticed(f"{text}settings do not use. The model was ignored.", "warning"))
        own = None
    name = forced or called or own or variable or "inherit"
    return turn.model if name == "inherit" else setup.resolve_model(name, turn.model)


async def _place(
    agents: "Agents", turn: Turn, delegation: Delegation, definition: AgentDefinition, agent_id: str
) -> AgentWorktree | None:
    if (delegation.isolation or definition.isolation) is None:
        return None
    return await open_agent_worktree(turn.runtime, f"agent-{agent_id[:9]}")


def make_run(agents: "Agents", turn: Turn, work: Assignment, **more: Any) -> AgentRun:
    """An agent that works for a turn, not begun yet."""
    return AgentRun(
        turn,
        work,
        agents.registry.setup,
        workers=agents.registry.workers,
        share=lambda lead, updates: agree(agents, lead, tuple(updates)),
        clean_later=agents.registry.clean_later,
        **more,
    )


async def _start(agents: "Agents", run: "Run") -> AgentReport:
    work, registry = run.work, agents.registry
    registry.running[work.agent_id] = run
    if not work.background:
        return await _awaited(agents, run)
    return begin_beside(agents, run)


def begin_beside(agents: "Agents", run: "Run") -> AgentLaunched:
    """Let an agent work while the conversation continues."""
    work, registry = run.work, agents.registry
    registry.running[work.agent_id] = run
    task = asyncio.create_task(_beside(run.report))
    task.add_done_callback(lambda done: _leave(agents, run, done))
    registry.beside[work.agent_id] = task
    run.begin(lambda: agents.stop(work.agent_id))
    return _launched(run)


async def _hired(
    agents: "Agents", turn: Turn, work: Assignment, *, resumes: str | None = None
) -> "Run | None":
    """The work in a process of its own, where a teammate is to have one and can."""
    processes = agents.registry.processes
    if processes is None or work.team is None or agents.depth:
        return None
    return await processes.hire(turn, work, resumes=resumes)


def _launched(run: "Run") -> AgentLaunched:
    work = run.work
    return AgentLaunched(
        agent_id=work.agent_id,
        agent_type=work.definition.name,
        description=work.description,
        prompt=work.prompt,
        output_file=run.task.output_file,
        model=work.model,
    )


async def _awaited(agents: "Agents", run: "Run") -> AgentReport:
    """Run in the foreground. Stopping the agent alone does not stop the thread that waits for it."""
    inner = asyncio.create_task(run.report())
    run.begin(lambda: _cancel(inner))
    moving = asyncio.create_task(run.moved.wait())
    try:
        await asyncio.wait((inner, moving), return_when=asyncio.FIRST_COMPLETED)
        if not inner.done():
            return _go_beside(agents, run, inner)
        return inner.result()
    except asyncio.CancelledError:
        inner.cancel()
        await asyncio.wait((inner,))
        own = asyncio.current_task()
        if own is None or own.cancelling():
            raise
        raise ToolError("The agent was stopped before it could report.") from None
    finally:
        moving.cancel()
        if inner.done():
            run.settle()
            gone(agents, run)


def _go_beside(agents: "Agents", run: "Run", inner: asyncio.Task[AgentCompleted]) -> AgentLaunched:
    """It was moved to the background: a notification will bring the report."""
    task = asyncio.create_task(_beside(lambda: inner))
    task.add_done_callback(lambda done: _leave(agents, run, done))
    agents.registry.beside[run.work.agent_id] = task
    return _launched(run)


async def _beside(report: Callable[[], Awaitable[AgentCompleted]]) -> None:
    try:
        await report()
    except ToolError:
        pass  # The task says that it failed and why, and a note tells the model.


def gone(agents: "Agents", run: "Run") -> None:
    """The agent has ended: notify those who asked for it."""
    registry, agent_id = agents.registry, run.work.agent_id
    registry.running.pop(agent_id, None)
    run.over.set()
    name = run.work.name or agent_id
    for watcher in registry.watchers.pop(agent_id, ()):
        other = registry.running.get(watcher)
        if other is not None and other.mail is not None:
            other.mail.tell(f"{name} is idle now ({run.task.status}).", sender=name)


async def agree(
    agents: "Agents", lead: Turn, updates: tuple[Mapping[str, Any], ...], *, without: str | None = None
) -> None:
    """What the user allows for one agent applies to the session and to its other agents."""
    runtime = lead.runtime.without_shape().replaced(gate=lead.runtime.gate.without_persistence())
    await grant(Turn(lead.session, lead.prompt, runtime), updates)
    for given in updates:
        try:
            update = read_update(given)
        except ValueError:
            continue  # Reported where it was granted.
        if update["type"] in ("addRules", "replaceRules", "removeRules"):
            for run in agents.registry.running.values():
                run.take_rules(update)
            if agents.registry.processes is not None:
                agents.registry.processes.share(given, without=without)


def new_agent_id() -> str:
    return "a" + os.urandom(8).hex()


async def _cancel(task: asyncio.Task[Any]) -> None:
    task.cancel()


def _leave(agents: "Agents", run: "Run", done: asyncio.Task[None]) -> None:
    """A background agent has ended. Its task is not awaited, so a defect is reported here."""
    agents.registry.beside.pop(run.work.agent_id, None)
    run.settle()
    gone(agents, run)
    if not done.cancelled() and (defect := done.exception()) is not None:
        text = f"internal error in bridle: agent {run.work.agent_id} failed with {defect!r}"
        run.lead.runtime.channel.emit(Noticed(text, "warning"))


def effort_of(turn: Turn, definition: AgentDefinition, called: str | int | None) -> str | None:
    """The level of effort; a number from 0 to 100 and above stands for the level that covers it."""
    wanted = called if called is not None else definition.effort
    if isinstance(wanted, str):
        return wanted
    if wanted is None:
        return turn.runtime.asking.effort
    return next((level for most, level in _EFFORTS if wanted <= most), _MOST_EFFORT)
