"""Runs the calls of one answer: together where that is safe, else alone, each with exactly one result."""

import asyncio
from collections import deque
from importlib import import_module
from typing import TYPE_CHECKING

import msgspec

from bridle.engine.calls.call import Call, DeferredCall, Settled, failure
from bridle.engine.calls.results import ResultBudget, normalize
from bridle.engine.texts import CALL_LOST, CALL_STOPPED, COMMAND_CANCELLED
from bridle.engine.turn import Turn
from bridle.transcripts.cost import Work
from bridle.types.block import ToolResultBlock, ToolUseBlock, result_block
from bridle.types.event import ToolFinished, ToolStarted
from bridle.types.tool import Tool, ToolOutput

if TYPE_CHECKING:
    from bridle.types.hooks.base import BatchCall


class _Job:
    """A call in the queue."""

    __slots__ = ("call", "parallel", "result", "source", "tool")

    def __init__(self, call: Call, tool: Tool | None, source: str, *, parallel: bool) -> None:
        self.call = call
        self.tool = tool
        """None while there is none of the name that the model called."""
        self.source = source
        self.parallel = parallel
        self.result: ToolResultBlock | None = None

    @property
    def command(self) -> bool:
        """Whether it runs a shell command and waits for it."""
        return self.tool is not None and self.tool.shell == "awaited"


class CallQueue:
    """Calls start as their blocks arrive, while the rest of the answer is still being written.

    A call that must be alone waits for all before it and holds back all behind it. When a shell command that
    changes something fails, the other shell commands that have not begun are not run: they were planned on
    the belief that it would work. Nothing that has begun is ever cancelled for another call.
    """

    def __init__(self, group: asyncio.TaskGroup, turn: Turn, *, held: bool = False) -> None:
        self._group = group
        self._turn = turn
        self._held = held
        self._jobs: list[_Job] = []
        self._waiting: deque[_Job] = deque()
        self._running: dict[_Job, None] = {}
        self._command_failed = False
        self._counted = asyncio.Event()
        """It is known whether there is more than one call."""
        self._budget = ResultBudget(turn.runtime.limits.message_result_chars)

    def __len__(self) -> int:
        return len(self._jobs)

    def expect(self, name: str) -> None:
        """Load what a call needs while the model still writes its input."""
        if not self._jobs:
            import_module("bridle.engine.calls.dispatch")
        tool = self._turn.runtime.toolbox.find(name)
        if tool is not None:
            self._turn.runtime.features.expect_call(tool.name)

    def add(self, block: ToolUseBlock, *, flaw: str | None, source: str) -> None:
        """Queue the call of a complete block; `source` is the transcript entry that holds it."""
        # With the first call comes all that a call needs: the gate, its grammar, the phases.
        from bridle.engine.calls.dispatch import prepare_call

        tool = self._turn.runtime.toolbox.find(block["name"])
        call = Call(id=block["id"], name=block["name"], input=block["input"], flaw=flaw)
        call, parallel = prepare_call(tool, call)
        job = _Job(call, tool, source, parallel=parallel)
        self._jobs.append(job)
        if len(self._jobs) > 1:
            self._counted.set()
        if job.command and self._command_failed:
            self._refuse(job, COMMAND_CANCELLED)
            return
        self._waiting.append(job)
        self._pump()

    def release(self) -> None:
        """The answer is whole: let held calls start."""
        self._counted.set()
        self._held = False
        self._pump()

    def refuse(self, message: str) -> None:
        """Settle every call that has not started with an error."""
        while self._waiting:
            self._refuse(self._waiting.popleft(), message)

    def finish(self) -> None:
        """Settle whatever has no result when nothing runs any more, except a deferred call."""
        deferred = self._turn.deferred
        for job in self._jobs:
            if job.result is None and (deferred is None or job.call.id != deferred.id):
                self._settle(job, Settled(output=failure(CALL_LOST)), seconds=0.0)

    def batch(self) -> "list[BatchCall]":
        """Every call with what the model reads of it, in the order of the answer."""
        return [
            {
                "tool_name": job.call.name,
                "tool_input": job.call.input,
                "tool_use_id": job.call.id,
                "tool_response": job.result.get("content") if job.result is not None else None,
            }
            for job in self._jobs
        ]

    def _pump(self) -> None:
        """Start what may start now, in the order of the answer: only the next call is looked at."""
        if self._turn.stopped_by is not None and not self._turn.stopped_by_hook:
            self.refuse(CALL_STOPPED)
        while self._waiting and not self._held and self._may_start(self._waiting[0]):
            job = self._waiting.popleft()
            self._announce(job)
            self._running[job] = None
            self._group.create_task(self._run(job))

    def _may_start(self, job: _Job) -> bool:
        if not self._running:
            return self._turn.runtime.limits.parallel_calls > 0
        beside = next(iter(self._running))
        # Whatever runs beside another call is parallel, so any of them speaks for all.
        return (
            job.parallel and beside.parallel and len(self._running) < self._turn.runtime.limits.parallel_calls
        )

    async def _run(self, job: _Job) -> None:
        from bridle.engine.calls.dispatch import dispatch

        clock = self._turn.runtime.clock
        began = clock()
        # Before anything happens the call must be on disk, or a resume could make it a second time.
        self._turn.session.secure()
        try:
            settled = await dispatch(job.call, self._turn, is_alone=self._is_alone)
        except asyncio.CancelledError:
            if (own := asyncio.current_task()) is None or own.cancelling():
                raise
            # The user did not interrupt: something that the tool waited for was cancelled.
            settled = Settled(output=failure(CALL_LOST), ran=True)
        finally:
            self._running.pop(job, None)
        if isinstance(settled, DeferredCall):
            self._turn.deferred = settled.call
            return
        self._settle(job, self._weighed(job, settled), seconds=clock() - began)
        if job.command and settled.ran and settled.output.is_error:
            self._weigh_failure(job, settled.output)
        self._pump()

    def _weighed(self, job: _Job, settled: Settled) -> Settled:
        """What a call came to, with a word for the model when it keeps failing."""
        from bridle.engine.calls.parsing import changes_something

        repetitions = self._turn.repetitions
        if not settled.output.is_error:
            if repetitions.any and changes_something(self._tool_of(job), job.call):
                repetitions.forget()
            return settled
        output = repetitions.failed(job.call, settled.output, step=self._turn.steps)
        return settled if output is settled.output else msgspec.structs.replace(settled, output=output)

    async def _is_alone(self) -> bool:
        await self._counted.wait()
        return len(self._jobs) == 1

    def _weigh_failure(self, failed: _Job, output: ToolOutput) -> None:
        from bridle.engine.calls.failed_commands import is_answer

        # A command that runs beside others only reads, so that nothing was planned on what it would do.
        if failed.parallel or is_answer(str(failed.call.input.get("command", "")), output.exit_code):
            return
        self._command_failed = True
        waiting, self._waiting = self._waiting, deque(job for job in self._waiting if not job.command)
        for job in waiting:
            if job.command:
                self._refuse(job, COMMAND_CANCELLED)

    def _refuse(self, job: _Job, message: str) -> None:
        self._announce(job)
        self._settle(job, Settled(output=failure(message)), seconds=0.0)

    def _tool_of(self, job: _Job) -> Tool | None:
        """Its tool; one of a server may have come since the call was queued."""
        return job.tool or self._turn.runtime.toolbox.find(job.call.name)

    def _announce(self, job: _Job) -> None:
        call = job.call
        self._turn.runtime.channel.emit(ToolStarted(call_id=call.id, tool=call.name, input=call.input))

    def _settle(self, job: _Job, settled: Settled, *, seconds: float) -> None:
        """Record the result and tell it; from here on the call is answered."""
        if job.result is not None:
            return
        turn, call = self._turn, job.call
        tool = self._tool_of(job)
        output = self._budget.fit(
            settled.output,
            limit=tool.max_result_chars if tool is not None else None,
            call_id=call.id,
            storage=turn.runtime.records.storage,
            may_move=tool is not None and tool.shell == "awaited",
        )
        result = result_block(call.id, normalize(output.content), is_error=output.is_error)
        if output.exit_code == 0:
            result["is_error"] = output.is_error
        job.result = result
        entry = turn.session.say_user(
            [result],
            data=output.data,
            source=job.source,
            ran=settled.ran_input,
            decision=settled.decision,
            facts=None if settled.sandboxed is None else {"sandboxed": settled.sandboxed},
        )
        turn.user_lines += 1
        turn.session.attach_hook_context("PostToolUse", settled.context)
        turn.session.record_work(_work(output.data, seconds))
        turn.runtime.channel.emit(
            ToolFinished(
                uuid=entry["uuid"],
                timestamp=entry["timestamp"],
                tool=call.name,
                result=result,
                data=output.data,
                seconds=seconds,
                decision=settled.decision,
            )
        )


def _work(data: object, seconds: float) -> Work:
    if not isinstance(data, dict):
        return Work(tool_ms=round(seconds * 1000))
    from bridle.tools.files.patches import changed_lines

    added, removed = changed_lines(data)
    return Work(tool_ms=round(seconds * 1000), lines_added=added, lines_removed=removed)
