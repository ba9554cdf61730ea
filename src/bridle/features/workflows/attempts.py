"""Runs the agents of a run, each with as many attempts as it needs."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

from msgspec import Struct

from bridle.engine.limits import is_overspent
from bridle.engine.permissions.run_rules import objection, require
from bridle.engine.turn import Turn
from bridle.features.workflows.agents import AgentCall, preview_of
from bridle.features.workflows.journal import Record
from bridle.features.workflows.options import Request
from bridle.features.workflows.run_context import RunContext
from bridle.features.workflows.worker import result_of, work
from bridle.tools.agent import TOOL as AGENT
from bridle.types.channel import Channel
from bridle.types.errors import ToolError
from bridle.types.event import AssistantReplied, Event, FromAgent
from bridle.types.question import Answer, Question
from bridle.types.services.delegation import AgentCompleted
from bridle.types.services.tasks import Task
from bridle.types.text import one_line
from bridle.types.workspace import Workspace

_LONGEST_FAULT = 500


class Refused(Struct, frozen=True):
    """No agent may begin any more. The script gets an error."""

    reason: str


class _Refusal(ToolError):
    """Raised where a call becomes `Refused`."""


class Attempts:
    """The agents of one run; those that wait for one may go without ending it."""

    def __init__(self, context: RunContext, group: asyncio.TaskGroup) -> None:
        self.lead = lead_of(context.turn, self._answered)
        self._context = context
        self._group = group
        """Running agents are ended with the run."""
        self._log = context.log
        self._warming: dict[str, asyncio.Event] = {}
        self._approved: set[str] = set()
        """Types of agents that rules ask about and that the user has allowed for this run."""
        self._approving = asyncio.Lock()

    def begin(self, member: AgentCall) -> asyncio.Task[Any]:
        """Start an agent, unless it is running or has finished.

        It comes to its result, to None when it fails or is skipped, or to `Refused`.
        """
        if member.work is not None and not member.work.cancelling():
            return member.work
        if not member.live:
            # It was ended with a script that did not wait for it.
            self._log.reopen(member)
        member.work = self._group.create_task(self._work(member))
        return member.work

    def end(self, members: Iterable[AgentCall]) -> None:
        """Stop these: they are not needed any more."""
        for member in members:
            if member.work is not None:
                member.work.cancel()

    def put_back(self) -> None:
        """Put agents that have not begun back until the script calls them again."""
        idle = [member for member in self._log.live.values() if member.began is None]
        for member in idle:
            if member.work is not None:
                member.work.cancel()
                member.work = None
        self._log.put_back(idle)

    def require_budget(self) -> None:
        """Check that the budget allows another agent.

        Raises:
            ToolError: it does not.
        """
        most = self._context.budget
        if most is not None and self._log.spent >= most:
            raise _Refusal(f"The budget of {most:,} tokens is used.")
        if (overspent := is_overspent(self.lead.session, self.lead.runtime)) is not None:
            raise _Refusal(f"{overspent}.")

    async def _work(self, member: AgentCall) -> Any:
        try:
            while member.verdict in (None, "restart"):
                member.verdict, member.state = None, "waiting"
                member.attempt = asyncio.create_task(self._attempt(member))
                try:
                    return await member.attempt
                except asyncio.CancelledError:
                    self._pass_on(member)
                    member.verdict = member.verdict or "stop"
            state = "skipped" if member.verdict == "skip" else "stopped"
            member.end(state, "The user continued without it.", self._now())
            return None
        except ToolError as fault:
            member.end("failed", one_line(" ".join(str(fault).split()), _LONGEST_FAULT), self._now())
            self._log.fault(f"{member.request.label}: {member.preview}", member.number)
            return Refused(str(fault)) if isinstance(fault, _Refusal) else None
        finally:
            if not member.live:
                self._log.settle(member)

    def _pass_on(self, member: AgentCall) -> None:
        """Pass a cancellation of the run on. One that is for the attempt alone is not passed on.

        Raises:
            CancelledError: the run is being stopped, or the agent put back.
        """
        own = asyncio.current_task()
        if own is None or not own.cancelling():
            return
        if own is member.work:
            member.end("stopped", "", self._now())
        raise asyncio.CancelledError

    async def _attempt(self, member: AgentCall) -> Any:
        """Run one agent once.

        Raises:
            ToolError: it could not finish.
        """
        request, context = member.request, self._context
        await self._approve(request)
        async with context.slots.place(request.prefix) as warm:
            self.require_budget()
            assignment = request.assignment(context.call_id)
            self._log.begin(member, assignment.agent_id, self._now())
            self._warming[assignment.agent_id] = warm

            def on_task(task: Task) -> None:
                member.take_task(task)
                self._log.changed(task.last_tool)

            try:
                done = await work(
                    context.agents,
                    self.lead,
                    assignment,
                    isolated=request.isolated,
                    on_task=on_task,
                    opened=member.take_session,
                )
            finally:
                self._warming.pop(assignment.agent_id, None)
            result = result_of(done, shaped=request.schema is not None)
            self._note_beside(member, done)
            member.end("done", preview_of(result), self._now())
            self._keep(member.record(result))
            return result

    async def _approve(self, request: Request) -> None:
        """Ask about a type of agent where a rule says so, once in a run.

        Raises:
            ToolError: it may not work.
        """
        name = request.definition.name
        async with self._approving:
            if name in self._approved or objection(self.lead, AGENT.name, "subagent_type", name) is None:
                return
            asked = {"description": request.label, "prompt": request.prompt, "subagent_type": name}
            await require(AGENT, asked, self.lead)
            self._approved.add(name)

    def _note_beside(self, member: AgentCall, done: AgentCompleted) -> None:
        """Log what a structured result cannot carry."""
        label = member.request.label
        if done.warning is not None:
            self._log.fault(f"{label}: {done.warning}", member.number)
        if done.worktree_path is not None:
            self._log.keep_place(label, done.worktree_path, done.worktree_branch)

    def _keep(self, record: Record) -> None:
        try:
            self._context.journal.add(record)
        except OSError as error:
            why = error.strerror or error
            self._log.fault(f"Could not save the result of {record.label}: {why}", record.number)

    def _answered(self, agent_id: str) -> None:
        if (warm := self._warming.get(agent_id)) is not None:
            warm.set()

    def _now(self) -> float:
        return self.lead.runtime.clock()


class RunChannel:
    """Passes everything on, and tells the run which agents have been answered."""

    def __init__(self, parent: Channel, answered: Callable[[str], None]) -> None:
        self._parent = parent
        self._answered = answered

    def emit(self, event: Event) -> None:
        if isinstance(event, FromAgent) and isinstance(event.event, AssistantReplied):
            self._answered(event.agent_id)
        self._parent.emit(event)

    async def ask(self, question: Question) -> Answer:
        return await self._parent.ask(question)


def lead_of(turn: Turn, answered: Callable[[str], None]) -> Turn:
    """The turn that agents of a run work for: where it stood when the run began, wherever it goes later."""
    runtime, before = turn.runtime, turn.runtime.workspace
    workspace = Workspace(before.start, tasks=lambda: before.tasks, extra_roots=before.roots[1:])
    workspace.cwd, workspace.origins = before.cwd, before.origins
    own = runtime.without_shape().replaced(
        channel=RunChannel(runtime.channel, answered),
        workspace=workspace,
        host=runtime.host.without_arrivals(),
    )
    return Turn(turn.session, turn.prompt, own)
