"""Work after turns: one task at a time, in the background, and gone with the session."""

import asyncio

from bridle.engine.feature import SideTask
from bridle.engine.runtime import Runtime
from bridle.transcripts.session import Session
from bridle.types.errors import BridleError
from bridle.types.event import SideTaskFailed
from bridle.types.turn import Outcome

_MOST_WAITING = 8
_PATIENCE = 120.0


class SideQueue:
    """Runs its tasks after each turn; one that still waits is not queued twice.

    `idle` tasks begin only when no one has asked for anything for their number of seconds, and end as soon
    as someone does. Faults are reported once for each task.
    """

    def __init__(
        self,
        tasks: dict[str, SideTask],
        *,
        idle: dict[str, tuple[float, SideTask]] | None = None,
        patience: float = _PATIENCE,
    ) -> None:
        self._tasks = tasks
        self._idle = idle or {}
        self._patience = patience
        self._waiting: dict[str, tuple[Session, Runtime, Outcome]] = {}
        self._worker: asyncio.Task[None] | None = None
        self._sleepers: set[asyncio.Task[None]] = set()
        self._reported: set[str] = set()
        self._closed = False

    def begin_turn(self) -> None:
        """The user is back: cancel what waits for a pause."""
        for task in tuple(self._sleepers):
            task.cancel()

    def after_turn(self, session: Session, runtime: Runtime, outcome: Outcome) -> None:
        """Queue what is to be done; a turn that failed or was interrupted leaves nothing to do."""
        if self._closed or outcome.is_error:
            return
        for name in self._tasks:
            if name in self._waiting or len(self._waiting) < _MOST_WAITING:
                self._waiting[name] = (session, runtime, outcome)
        if self._waiting and (self._worker is None or self._worker.done()):
            self._worker = asyncio.create_task(self._work())
        for name, (seconds, task) in self._idle.items():
            later = asyncio.create_task(self._later(name, seconds, task, (session, runtime, outcome)))
            self._sleepers.add(later)
            later.add_done_callback(self._sleepers.discard)

    async def settle(self) -> None:
        """Wait until nothing is left to do."""
        if self._worker is not None:
            await asyncio.shield(asyncio.gather(self._worker, return_exceptions=True))

    async def close(self) -> None:
        """Give up what is not done yet."""
        self._closed = True
        self._waiting.clear()
        tasks = [task for task in (self._worker, *self._sleepers) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _work(self) -> None:
        while self._waiting:
            name = next(iter(self._waiting))
            about = self._waiting.pop(name)
            await self._run(name, self._tasks[name], about)

    async def _later(
        self, name: str, seconds: float, task: SideTask, about: tuple[Session, Runtime, Outcome]
    ) -> None:
        await asyncio.sleep(seconds)
        await self._run(name, task, about)

    async def _run(self, name: str, task: SideTask, about: tuple[Session, Runtime, Outcome]) -> None:
        try:
            async with asyncio.timeout(self._patience):
                await task(*about)
        except (BridleError, OSError, ValueError, TimeoutError) as error:
            if name not in self._reported:
                self._reported.add(name)
                reason = str(error) or "it took too long"
                about[1].channel.emit(SideTaskFailed(name, reason))
