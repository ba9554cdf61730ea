"""One workflow run: started by a call, a background task, and a notification at its end."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from msgspec import UNSET, Struct

from bridle.engine.turn import Turn
from bridle.features.agents.records import output_path
from bridle.features.agents.registry import Agents
from bridle.features.workflows.agents import Verdict, phases_of, preview_of
from bridle.features.workflows.calls import Calls, value_of
from bridle.features.workflows.journal import Journal, RunFolder, RunNote
from bridle.features.workflows.run_context import Event, Nested, RunContext
from bridle.features.workflows.run_log import RunLog
from bridle.features.workflows.slots import Slots
from bridle.host.scripts.protocol import ScriptEnd
from bridle.types.errors import ToolError
from bridle.types.event import Noticed, TaskProgressed
from bridle.types.services.tasks import Task, TaskStatus, TaskUsage
from bridle.types.services.workflows import RunState, RunView
from bridle.types.text import one_line

_LONGEST_DESCRIPTION = 200
_QUIET_SECONDS = 0.25
_STOP_PATIENCE = 5.0
_STATES: dict[TaskStatus, RunState] = {
    "running": "running",
    "completed": "completed",
    "failed": "failed",
    "killed": "stopped",
}
_DONE: dict[Verdict, str] = {"skip": "skipped", "stop": "stopped", "restart": "restarted"}


class Plan(Struct, frozen=True, kw_only=True):
    """What a run is to do."""

    run_id: str
    call_id: str
    name: str
    description: str
    phases: tuple[tuple[str, str], ...] = ()
    """Titles and details."""
    source: str
    args: Any = UNSET
    origin: str | None = None
    budget: int | None = None
    """The most tokens that its agents may write."""
    background: bool = True
    """False where a call waits for the end."""
    asked: str = ""
    """The command by which a person asked for it: the model has not seen that."""


class WorkflowRun:
    """A run from its first call to its end."""

    def __init__(self, turn: Turn, agents: Agents, plan: Plan, folder: RunFolder) -> None:
        self.plan = plan
        self.folder = folder
        self._turn = turn
        self._agents = agents
        self._channel = turn.runtime.channel
        self._tasks = turn.runtime.workspace.tasks
        self._clock = turn.runtime.clock
        self._slots = Slots(turn.runtime.env)
        self._log = RunLog(output_path(turn.runtime, plan.run_id), self._tell)
        self._calls: Calls | None = None
        self._main: asyncio.Task[None] | None = None
        self._underway: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._listed = False
        self._telling: asyncio.TimerHandle | None = None
        """The next report of how far it is."""
        self.task = Task(
            id=plan.run_id,
            kind="local_workflow",
            description=one_line(f"{plan.name}: {plan.description}", _LONGEST_DESCRIPTION),
            call_id=plan.call_id,
            output_file=self._log.path,
            started=time.time(),
            backgrounded=plan.background,
            name=plan.name,
            usage=TaskUsage(),
        )

    async def begin(self, find: Callable[[Any], Awaitable[Nested]]) -> int:
        """Start the script, and return how many results are known once it has made its first call.

        `find` looks up the workflows that it calls.

        Raises:
            ToolError: it cannot be run at all, or nothing can be kept of it.
        """
        try:
            journal = self.folder.open_journal()
            self.folder.write(self.folder.script, self.plan.source.encode())
            self.folder.write_note(self._note("running"))
        except BlockingIOError as error:
            text = f"Another process is running {self.plan.run_id}: stop it there, or wait until it ends."
            raise ToolError(text) from error
        except OSError as error:
            raise ToolError(f"Could not save the run: {error.strerror or error}.") from error
        known = len(journal)
        self._main = asyncio.create_task(self._run(journal, find))
        self._main.add_done_callback(self._leave)
        try:
            await asyncio.shield(self._underway)
        except asyncio.CancelledError:
            self._main.cancel()
            raise
        except ToolError:
            # The run was not registered, so its process must end here.
            await asyncio.wait((self._main,))
            raise
        return known

    async def stop(self) -> None:
        """End the run and all its agents."""
        if self._main is not None and not self._main.done():
            self._main.cancel()
            await asyncio.wait((self._main,), timeout=_STOP_PATIENCE)

    def interrupt(self) -> bool:
        """Begin to end the run without a notification. Returns whether it was running."""
        self.task = msgspec.structs.replace(self.task, hushed=True)
        return self._main is not None and self._main.cancel()

    def pause(self) -> None:
        """Start no new agents. Running agents finish."""
        self._slots.pause()
        self._log.log("Paused: running agents finish, but no new ones start.")

    def resume(self) -> None:
        """Start agents again."""
        self._slots.resume()
        self._log.log("Resumed.")

    def decide(self, number: int, verdict: Verdict) -> str:
        """Skip, stop or restart one agent; a sentence about it.

        One that failed can be restarted too, while the run continues.

        Raises:
            ToolError: there is no such agent, or that cannot be done with it.
        """
        if (member := self._log.live.get(number)) is not None:
            member.decide(verdict)
            return f"Agent {number} ({member.request.label}) is {_DONE[verdict]}."
        over = next((each for each in self._log.members if each.number == number), None)
        if over is None or verdict != "restart" or self._calls is None:
            there = ", ".join(map(str, self._log.live)) or "none"
            raise ToolError(f"Agent {number} is not running in {self.plan.run_id}. Running: {there}.")
        name = f"Agent {number} ({over.request.label})"
        if over.state in ("done", "replayed"):
            raise ToolError(f"{name} has finished. To run it again, change its prompt in the script.")
        self._calls.restart(over)
        when = " when the run is resumed" if self._slots.paused else ""
        return f"{name} is restarted{when}. The script runs again. The results of other agents are kept."

    @property
    def state(self) -> RunState:
        state = _STATES[self.task.status]
        return "paused" if state == "running" and self._slots.paused else state

    def view(self) -> RunView:
        """How it stands."""
        now, task, plan = self._clock(), self.task, self.plan
        agents = tuple(member.view(now) for member in self._log.members)
        return RunView(
            run_id=plan.run_id,
            name=plan.name,
            description=plan.description,
            state=self.state,
            script_path=self.folder.script,
            phases=phases_of(plan.phases, self._log.phases, agents),
            agents=agents,
            logs=tuple(self._log.logs),
            tokens=self._log.usage().tokens,
            started=task.started,
            ended=task.ended,
            preview=preview_of(task.error or task.result or ""),
        )

    async def _run(self, journal: Journal, find: Callable[[Any], Awaitable[Nested]]) -> None:
        status: TaskStatus = "failed"
        error: str | None = "It ended unexpectedly."
        value: Any = None
        context = RunContext(
            turn=self._turn,
            agents=self._agents,
            log=self._log,
            slots=self._slots,
            journal=journal,
            call_id=self.plan.call_id,
            budget=self.plan.budget,
            find=find,
            on_event=self._take_event,
        )
        try:
            async with asyncio.TaskGroup() as group:
                self._calls = Calls(context, group)
                end = await self._calls.run(self.plan.source, self.plan.args)
            value = value_of(end)
            status, error = "completed", None
        except asyncio.CancelledError:
            status, error = "killed", None
            raise
        except ToolError as fault:
            error = str(fault)
        finally:
            journal.close()
            self._end(status, error, value)

    def _take_event(self, event: Event) -> None:
        """List the job with the first sign that the script can be run."""
        if self._underway.done():
            return
        if isinstance(event, ScriptEnd) and event.error is not None:
            text = f"Could not run the script: {event.error}. It is saved in {self.folder.script}"
            self._underway.set_exception(ToolError(text))
            return
        self._listed = True
        self._tasks.begin(self.task, self.stop)
        self._underway.set_result(None)

    def _tell(self, last_tool: str | None) -> None:
        """Report the progress, at a limited rate."""
        if last_tool is not None:
            self.task = msgspec.structs.replace(self.task, last_tool=last_tool)
        if self._listed and self._telling is None and self.task.status == "running":
            self._telling = asyncio.get_running_loop().call_later(_QUIET_SECONDS, self._tell_now)

    def _tell_now(self) -> None:
        self._telling = None
        self.task = msgspec.structs.replace(self.task, usage=self._log.usage())
        self._tasks.change(self.task)
        self._channel.emit(TaskProgressed(self.task, self._log.progress()))

    def _end(self, status: TaskStatus, error: str | None, value: Any) -> None:
        self._log.end()
        if self._telling is not None:
            self._telling.cancel()
            self._tell_now()
        if error is not None:
            error = (
                f"{error} {self._log.outcome()} Fix it and continue with resumeFromRunId {self.plan.run_id}."
            )
        self.task = msgspec.structs.replace(
            self.task,
            status=status,
            ended=time.time(),
            usage=self._log.usage(),
            result=self._report(value) if status == "completed" else None,
            error=error,
        )
        self._log.close(self.task.error or self.task.result or f"({_STATES[status]})")
        try:
            if status == "completed":
                self.folder.write(self.folder.result, msgspec.json.encode(value) + b"\n")
            self.folder.write_note(self._note(_STATES[status]))
        except OSError as fault:
            text = f"Could not save the result of the run {self.plan.run_id}: {fault.strerror or fault}."
            self._channel.emit(Noticed(text, "warning"))
        if self._listed:
            self._tasks.change(self.task)

    def _report(self, value: Any) -> str:
        asked = f"The user requested it with {self.plan.asked}\n" if self.plan.asked else ""
        return f"{asked}{self._log.outcome()}\n\n{_text(value)}"

    def _note(self, state: RunState) -> RunNote:
        plan, task = self.plan, self.task
        return RunNote(
            run_id=plan.run_id,
            name=plan.name,
            description=plan.description,
            phases=plan.phases,
            args=plan.args,
            origin=plan.origin,
            state=state,
            started=task.started,
            ended=task.ended,
            preview=preview_of(task.error or task.result or ""),
            logs=tuple(self._log.logs),
        )

    def _leave(self, done: asyncio.Task[None]) -> None:
        """The task of the run is not awaited, so a defect is reported here."""
        if not self._underway.done():
            self._underway.set_exception(
                ToolError(self.task.error or "The run was stopped before it started.")
            )
        # The exception is not retrieved where the call that began the run was interrupted.
        self._underway.exception()
        if not done.cancelled() and (defect := done.exception()) is not None:
            text = f"internal error in bridle: workflow {self.plan.run_id} failed with {defect!r}"
            self._channel.emit(Noticed(text, "warning"))


def _text(value: Any) -> str:
    """What the script returned, as a model reads it."""
    if value is None or value == "":
        return "(The script returned nothing.)"
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
