"""One task of a member in a process of its own, listed like that of any other agent."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import msgspec

from bridle.engine.assignment import Assignment
from bridle.engine.turn import Turn
from bridle.engine.worktrees import conflict_note
from bridle.features.agents.records import output_path, transcript_path, write_meta
from bridle.features.agents.session import take_on_state
from bridle.features.agents.team import IdleCheck
from bridle.features.teams.process import MemberProcess
from bridle.features.teams.protocol import Continue, MemberState
from bridle.types.block import text_block
from bridle.types.errors import ToolError
from bridle.types.event import TaskProgressed
from bridle.types.permission import PermissionUpdate
from bridle.types.services.delegation import AgentCompleted
from bridle.types.services.tasks import Task, TaskStatus, TaskUsage

if TYPE_CHECKING:
    from bridle.features.teams.processes import MemberProcesses

_CLOSED = "Its pane was closed before it finished; a message resumes it with its context."
_DIED = "Its process exited before it finished; a message resumes it with its context."


class PaneRun:
    """A task of a member until it is idle. Its process stays for more."""

    def __init__(
        self, lead: Turn, work: Assignment, member: MemberProcess, processes: "MemberProcesses", *, after: int
    ) -> None:
        self.lead = lead
        self.work = work
        self.member = member
        self._processes = processes
        runtime = lead.runtime
        self.session = lead.session.child(
            work.agent_id, transcript_path(runtime, work.agent_id), cwd=runtime.workspace.cwd
        )
        take_on_state(self.session, lead, work)
        self._after = after
        """The member counts as idle only after more turns than these."""
        self._seen: MemberState | None = None
        self._calls = member.state.tool_uses
        self._began = runtime.clock()
        self.mail: MemberProcess | None = member
        self.over = asyncio.Event()
        self.moved = asyncio.Event()
        self.task = Task(
            id=work.agent_id,
            kind="local_agent",
            description=work.description,
            call_id=work.call_id,
            output_file=output_path(runtime, work.agent_id),
            started=time.time(),
            backgrounded=work.background,
            name=work.name,
            agent_type=work.definition.name,
            prompt=work.prompt,
            depth=work.depth,
            usage=TaskUsage(),
        )
        member.is_followed = True

    def begin(self, stop: Callable[[], Awaitable[None]]) -> None:
        """Add the member to the tasks of the session."""
        write_meta(self.lead, self.work, process_session=self.member.session_id)
        self.lead.runtime.workspace.tasks.begin(self.task, stop)

    def move_to_background(self) -> bool:
        """Move it to the background. Returns False if it is there already or has ended."""
        if self.task.backgrounded or self.task.status != "running":
            return False
        self.task = msgspec.structs.replace(self.task, backgrounded=True)
        self.lead.runtime.workspace.tasks.change(self.task)
        self.moved.set()
        return True

    def hush(self) -> None:
        """Make the end of the work start no turn."""
        self.task = msgspec.structs.replace(self.task, hushed=True)

    def take_rules(self, update: PermissionUpdate) -> None:
        """Nothing to do: the leader sends the rules to its process."""

    async def report(self) -> AgentCompleted:
        """Wait until the member is idle.

        Raises:
            ToolError: it could not finish, and why.
        """
        status, error, done = "failed", "It ended unexpectedly.", None
        try:
            await self._until_rest()
            done = await self._completed()
            status, error = "completed", None
            return done
        except asyncio.CancelledError:
            status, error = "killed", None
            # Stopping a member ends its process too.
            await self._processes.end(self.work.agent_id)
            raise
        except ToolError as fault:
            error = str(fault)
            raise
        finally:
            self.mail = None
            self._leave()
            self._end(status, error, done)

    async def _until_rest(self) -> None:
        work, member = self.work, self.member
        rest = IdleCheck(self.lead, work.name or "", work.team or "")
        while True:
            await member.changed(lambda: member.state is not self._seen)
            if member.gone.is_set():
                raise ToolError(_CLOSED if member.left else _DIED)
            seen = self._seen = member.state
            self._tell_progress()
            if not self._rests():
                continue
            if seen.error is not None or (why := await rest.objection()) is None:
                return
            self._after = seen.round
            member.say(Continue(why))

    def _rests(self) -> bool:
        state = self.member.state
        return state.status == "idle" and state.round > self._after

    def _tell_progress(self) -> None:
        state, runtime = self.member.state, self.lead.runtime
        self.task = msgspec.structs.replace(self.task, usage=self._usage(), last_tool=state.last_tool)
        runtime.workspace.tasks.change(self.task)
        runtime.channel.emit(TaskProgressed(self.task))

    async def _completed(self) -> AgentCompleted:
        work, state = self.work, self.member.state
        if state.error is not None:
            so_far = f"\n\nIts last message:\n{state.text}" if state.text else ""
            raise ToolError(f"The agent could not finish: {state.error}{so_far}")
        place = work.place
        usage = self._usage()
        return AgentCompleted(
            agent_id=work.agent_id,
            agent_type=work.definition.name,
            prompt=work.prompt,
            content=[text_block(state.text)] if state.text else [],
            tool_uses=usage.tool_uses,
            duration_ms=usage.duration_ms,
            tokens=usage.tokens,
            usage=dict(state.usage),
            model=state.model or work.model,
            worktree_path=None if place is None else place.path,
            worktree_branch=None if place is None or place.tree is None else place.tree.branch,
            warning=None if place is None else await conflict_note(self.lead.runtime, place),
        )

    def settle(self) -> None:
        """Make sure that the task is ended, also if it was stopped before its first step."""
        if self.task.status == "running":
            self._processes.dismiss(self.member)
            self._end("killed", None, None)

    def _leave(self) -> None:
        self.member.is_followed = False
        if self.member.gone.is_set():
            self._processes.forget(self.member)

    def _usage(self) -> TaskUsage:
        state = self.member.state
        milliseconds = round((self.lead.runtime.clock() - self._began) * 1000)
        return TaskUsage(state.tokens, max(0, state.tool_uses - self._calls), milliseconds)

    def _end(self, status: TaskStatus, error: str | None, done: AgentCompleted | None) -> None:
        self.task = msgspec.structs.replace(
            self.task,
            status=status,
            ended=time.time(),
            usage=self._usage(),
            result=None if done is None else done.text,
            error=error,
            resident=not self.member.gone.is_set(),
        )
        self.lead.runtime.workspace.tasks.change(self.task)
