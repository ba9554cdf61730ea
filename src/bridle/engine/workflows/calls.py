"""Runs a script and answers what it calls: agents, and other workflows."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import msgspec
from msgspec import UNSET, Struct

from bridle.context.lines import one_line
from bridle.engine.agents import Agents
from bridle.engine.guards import is_overspent
from bridle.engine.turn import Turn
from bridle.engine.workflows.agents import Member, preview_of
from bridle.engine.workflows.book import Book
from bridle.engine.workflows.crew import Crew
from bridle.engine.workflows.journal import Journal, Record, call_key
from bridle.engine.workflows.options import Request, read_request
from bridle.engine.workflows.rules import objection, require
from bridle.engine.workflows.stage import lead_of
from bridle.engine.workflows.worker import result_of, work
from bridle.host.background import BackgroundShells
from bridle.host.reaper import Reaper
from bridle.host.scripts.script import Script, open_script
from bridle.host.scripts.wire import ScriptCall, ScriptEnd
from bridle.tools.agent import TOOL as AGENT
from bridle.types.delegation import AgentCompleted
from bridle.types.errors import ToolError
from bridle.types.task import Task

MOST_AGENTS = 1_000
_MOST_NESTED = 256
_LONGEST_FAULT = 500

Event = ScriptCall | ScriptEnd


class Nested(Struct, frozen=True):
    """A workflow that another one calls."""

    name: str
    source: str


class Means(Struct, frozen=True, kw_only=True):
    """What answering needs besides the script."""

    turn: Turn
    agents: Agents
    book: Book
    crew: Crew
    journal: Journal
    call_id: str
    budget: int | None
    """The most tokens that agents may write."""
    find: Callable[[Any], Awaitable[Nested]]
    """Looks up what `workflow()` names.

    Raises:
        ToolError: there is none.
    """
    heard: Callable[[Event], None] = lambda _: None
    """Told of every event first."""


class _Refusal(ToolError):
    """No agent may begin any more; the script is told by an error."""


class Calls:
    """The calls of one run, those of the workflows that it calls included."""

    def __init__(self, means: Means) -> None:
        self._means = means
        self._book = means.book
        self._lead = lead_of(means.turn, self._answered)
        self._seen: dict[str, int] = {}
        self._asked = self._nested = 0
        self._warming: dict[str, asyncio.Event] = {}
        self._approved: set[str] = set()
        """Types of agents that rules ask about, and somebody has agreed to for this run."""
        self._approving = asyncio.Lock()

    async def run(self, source: str, args: Any, *, within: str | None = None) -> Any:
        """Run a script to its end and return its value.

        Raises:
            ToolError: it came to none.
        """
        end = ScriptEnd()
        async with (
            open_script(
                source,
                args=args,
                budget=self._means.budget,
                spent=lambda: self._book.spent,
                reaper=self._reaper(),
            ) as script,
            asyncio.TaskGroup() as group,
        ):
            answers: list[asyncio.Task[None]] = []
            async for event in script.events():
                self._means.heard(event)
                if isinstance(event, ScriptEnd):
                    end = event
                elif (answer := self._take(script, event, within)) is not None:
                    answers.append(group.create_task(answer))
            for each in answers:
                each.cancel()
        if end.error is not None:
            where = f" in {within}" if within else ""
            raise ToolError(f"The script failed{where}: {str(end.error).rstrip('.')}.")
        return end.value

    def _take(self, script: Script, call: ScriptCall, within: str | None) -> Coroutine[Any, Any, None] | None:
        """What answers a call; None where nothing does."""
        match call.kind:
            case "phase":
                self._book.open_phase(_titled(str(call.payload.get("title") or ""), within))
            case "log":
                self._book.log(str(call.payload.get("message") or ""))
            case "workflow":
                return self._call_workflow(script, call, within)
            case "agent":
                return self._call_agent(script, call, within)
        return None

    def _call_agent(self, script: Script, call: ScriptCall, within: str | None) -> Coroutine[Any, Any, None]:
        """Look at a call at once, so that equal ones are counted in their order."""
        try:
            if self._asked >= MOST_AGENTS:
                raise ToolError(f"A run may have at most {MOST_AGENTS:,} agents.")
            self._require_budget()
            request = read_request(call.payload, self._means.agents, self._lead, number=self._asked + 1)
        except ToolError as fault:
            self._book.fault(str(fault) if call.line is None else f"line {call.line}: {fault}")
            return script.fail(call.id, str(fault))
        self._asked += 1
        request = msgspec.structs.replace(request, phase=_titled(request.phase or "", within) or None)
        key = call_key(request.prompt, call.payload.get("options") or {})
        occurrence = self._seen.get(key, 0)
        self._seen[key] = occurrence + 1
        member = Member(self._asked, request, key, occurrence)
        self._book.add(member)
        if (known := self._means.journal.find(key, occurrence)) is not None:
            member.replay(known)
            self._book.settle(member)
            return script.answer(call.id, known.result)
        return self._answer(script, call.id, member)

    async def _call_workflow(self, script: Script, call: ScriptCall, within: str | None) -> None:
        try:
            if within is not None:
                raise ToolError("A workflow that another one called cannot call a third.")
            self._nested += 1
            if self._nested > _MOST_NESTED:
                raise ToolError(f"A run may call at most {_MOST_NESTED} workflows.")
            found = await self._means.find(call.payload.get("workflow"))
            value = await self.run(found.source, call.payload.get("args", UNSET), within=found.name)
        except ToolError as fault:
            await script.fail(call.id, str(fault))
        else:
            await script.answer(call.id, value)

    async def _answer(self, script: Script, call_id: int, member: Member) -> None:
        try:
            result = await self._result(member)
        except _Refusal as refusal:
            await script.fail(call_id, str(refusal))
        else:
            await script.answer(call_id, result)

    async def _result(self, member: Member) -> Any:
        """What comes of an agent; None when it failed or somebody went on without it."""
        try:
            while True:
                member.verdict = None
                member.attempt = asyncio.create_task(self._attempt(member))
                try:
                    return await member.attempt
                except asyncio.CancelledError:
                    if not self._goes_on(member):
                        return None
        except ToolError as fault:
            member.end("failed", one_line(" ".join(str(fault).split()), _LONGEST_FAULT), self._now())
            self._book.fault(f"{member.request.label}: {member.preview}")
            if isinstance(fault, _Refusal):
                raise
            return None
        finally:
            self._book.settle(member)

    def _goes_on(self, member: Member) -> bool:
        """Whether an agent that was stopped begins again; the end of the whole run goes on its way.

        Raises:
            CancelledError: the run is being stopped.
        """
        own = asyncio.current_task()
        if own is not None and own.cancelling():
            member.end("stopped", "", self._now())
            raise asyncio.CancelledError
        if member.verdict == "restart":
            member.state = "waiting"
            return True
        state = "skipped" if member.verdict == "skip" else "stopped"
        member.end(state, "Somebody went on without it.", self._now())
        return False

    async def _attempt(self, member: Member) -> Any:
        """Let one agent work.

        Raises:
            ToolError: it could not finish.
        """
        request, means = member.request, self._means
        await self._approve(request)
        async with means.crew.place(request.prefix) as warm:
            self._require_budget()
            assignment = request.assignment(means.call_id)
            self._book.begin(member, assignment.agent_id, self._now())
            self._warming[assignment.agent_id] = warm

            def told(task: Task) -> None:
                member.take_task(task)
                self._book.changed(task.last_tool)

            try:
                done = await work(
                    means.agents,
                    self._lead,
                    assignment,
                    isolated=request.isolated,
                    told=told,
                    opened=member.take_session,
                )
            finally:
                self._warming.pop(assignment.agent_id, None)
            result = result_of(done, shaped=request.schema is not None)
            self._note_beside(request.label, done)
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
            if name in self._approved or objection(self._lead, "Agent", "subagent_type", name) is None:
                return
            asked = {"description": request.label, "prompt": request.prompt, "subagent_type": name}
            await require(AGENT, asked, self._lead)
            self._approved.add(name)

    def _note_beside(self, label: str, done: AgentCompleted) -> None:
        """What an answer in a given shape has no place for."""
        if done.warning is not None:
            self._book.fault(f"{label}: {done.warning}")
        if done.worktree_path is not None:
            self._book.keep_place(label, done.worktree_path, done.worktree_branch)

    def _require_budget(self) -> None:
        most = self._means.budget
        if most is not None and self._book.spent >= most:
            raise _Refusal(f"The budget of {most:,} tokens is used up.")
        if (overspent := is_overspent(self._lead.session, self._lead.runtime)) is not None:
            raise _Refusal(f"{overspent}.")

    def _keep(self, record: Record) -> None:
        try:
            self._means.journal.add(record)
        except OSError as error:
            self._book.fault(f"The result of {record.label} could not be kept: {error.strerror or error}")

    def _answered(self, agent_id: str) -> None:
        if (warm := self._warming.get(agent_id)) is not None:
            warm.set()

    def _reaper(self) -> Reaper | None:
        """What sees to it that the child does not outlive us."""
        tasks = self._lead.runtime.workspace.tasks
        return tasks.reaper if isinstance(tasks, BackgroundShells) else None

    def _now(self) -> float:
        return self._lead.runtime.clock()


def _titled(title: str, within: str | None) -> str:
    """The phase of a workflow that another one called is told from the caller's."""
    if within is None:
        return title
    return f"{within}: {title}" if title else within
