"""Runs prompts one after another, as long as they come."""

import asyncio
from collections import deque
from collections.abc import Callable

from bridle.engine.loop import record_prompt, run_turn
from bridle.engine.runtime import Runtime
from bridle.engine.wording import task_notification
from bridle.sessions.session import Session
from bridle.types.event import TaskEnded, TaskStarted
from bridle.types.task import Task
from bridle.types.turn import Outcome, Prompt

_TASK_NOTE = {"kind": "task-notification"}


class Inbox:
    """Prompts that wait for their turn; closed when no more can come."""

    def __init__(self) -> None:
        self._waiting: deque[Prompt] = deque()
        self._changed = asyncio.Event()
        self._closed = False

    def put(self, prompt: Prompt) -> None:
        self._waiting.append(prompt)
        self._changed.set()

    def close(self) -> None:
        self._closed = True
        self._changed.set()

    @property
    def is_empty(self) -> bool:
        return not self._waiting

    def waiting(self) -> list[str]:
        """The senders' ids of the prompts that wait."""
        return [prompt.uuid for prompt in self._waiting if prompt.uuid is not None]

    def drop(self) -> list[str]:
        """Forget every prompt that waits, and return the senders' ids of them."""
        dropped = self.waiting()
        self._waiting.clear()
        return dropped

    async def next(self) -> Prompt | None:
        """The next prompt, or None when the inbox is closed and empty."""
        while not self._waiting:
            if self._closed:
                return None
            self._changed.clear()
            await self._changed.wait()
        return self._waiting.popleft()


class Server:
    """Serves one session: turns from the inbox, and a turn of its own when a background job has ended."""

    def __init__(
        self, session: Session, runtime: Runtime, inbox: Inbox, *, on_rest: Callable[[], None] = lambda: None
    ) -> None:
        self._session = session
        self._runtime = runtime
        self._inbox = inbox
        self._on_rest = on_rest
        """Told whenever no turn is owed."""
        self._turn: asyncio.Task[Outcome] | None = None
        self._ended = asyncio.Event()
        self.last: Outcome | None = None

    async def serve(self, *, wait_for_tasks: float, say_waiting: Callable[[str], None]) -> None:
        """Run every prompt; then wait at most `wait_for_tasks` seconds for background jobs to report."""
        await self._serve_inbox()
        deadline = self._runtime.clock() + wait_for_tasks
        while running := [task for task in self._runtime.workspace.jobs() if task.status == "running"]:
            left = deadline - self._runtime.clock()
            if left <= 0:
                return
            say_waiting(f"waiting for {len(running)} background job(s): {running[0].description}")
            self._ended.clear()
            try:
                async with asyncio.timeout(left):
                    await self._ended.wait()
            except TimeoutError:
                return
            await self._serve_inbox()

    @property
    def busy(self) -> bool:
        """Whether a turn runs."""
        return self._turn is not None

    def waiting(self) -> list[str]:
        """Prompts that wait for their turn, by their senders' ids."""
        return self._inbox.waiting()

    def drop_waiting(self) -> list[str]:
        """Forget the prompts that wait."""
        return self._inbox.drop()

    def interrupt(self) -> bool:
        """End the running turn, if there is one."""
        return self._turn is not None and self._turn.cancel()

    def note_task(self, task: Task) -> None:
        """Tell the channel and, when a job has ended by itself, the model."""
        if task.status == "running":
            self._runtime.channel.emit(TaskStarted(task))
            return
        self._runtime.channel.emit(TaskEnded(task))
        self._inbox.put(Prompt(content=_notification(task), meta=True, origin=_TASK_NOTE))
        self._ended.set()

    async def _serve_inbox(self) -> None:
        while (prompt := await self._inbox.next()) is not None:
            if not prompt.query:
                record_prompt(self._session, prompt, self._runtime)
                continue
            self._turn = asyncio.create_task(run_turn(self._session, prompt, self._runtime))
            try:
                self.last = await self._turn
            except asyncio.CancelledError:
                if (own := asyncio.current_task()) is not None and own.cancelling():
                    raise
            finally:
                self._turn = None
            if self._inbox.is_empty:
                self._on_rest()


def _notification(task: Task) -> str:
    status = "stopped" if task.status == "killed" else task.status
    code = "" if task.exit_code is None else f" with exit code {task.exit_code}"
    return task_notification(
        task_id=task.id,
        call_id=task.call_id,
        output_file=task.output_file,
        status=status,
        summary=f'Background command "{task.description}" {status}{code}',
    )
