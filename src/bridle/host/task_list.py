"""The list of everything that runs beside a conversation: commands, agents, monitors."""

import asyncio
import os
from collections.abc import Awaitable, Callable

import msgspec

from bridle.host.plain_text import plain
from bridle.types.services.tasks import Task

_STOP_PATIENCE = 1.0


class TaskList:
    """Every job of one session; the code that runs a job reports its changes here.

    `on_change` is called with every job when it begins and when it ends.
    """

    def __init__(self, on_change: Callable[[Task], None]) -> None:
        self._on_change = on_change
        self._jobs: dict[str, _Job] = {}

    def find(self, task_id: str) -> Task | None:
        """A job by its id, or the newest one of a name."""
        if (job := self._jobs.get(task_id)) is not None:
            return job.task
        named = (job.task for job in reversed(self._jobs.values()) if job.task.name == task_id)
        return next(named, None)

    def all(self) -> tuple[Task, ...]:
        return tuple(job.task for job in self._jobs.values())

    def begin(self, task: Task, stop: Callable[[], Awaitable[None]]) -> None:
        """List a job that has begun; one of the same id that has ended is forgotten."""
        self._jobs.pop(task.id, None)
        self._jobs[task.id] = _Job(task, stop)
        self._on_change(task)

    def change(self, task: Task) -> None:
        """The job stands differently now; after its end only whether its process is still there changes.

        Raises:
            KeyError: there is no such job.
        """
        job = self._jobs[task.id]
        if job.task.status != "running":
            job.task = msgspec.structs.replace(job.task, resident=task.resident)
            return
        job.task = task
        if task.status != "running":
            job.ended.set()
            self._on_change(task)

    def read(self, task_id: str, limit: int) -> str:
        """The newest output of a job, at most `limit` characters.

        Raises:
            KeyError: there is no such job.
        """
        return tail(self._jobs[task_id].task.output_file, limit)

    def tell(self, task_id: str) -> None:
        """The model knows of the end of a job, or has brought it about: it need not be reported."""
        if (job := self._jobs.get(task_id)) is not None:
            job.reported = True

    def is_told(self, task_id: str) -> bool:
        """Whether the model knows of the end of a job already."""
        return task_id in self._jobs and self._jobs[task_id].reported

    async def wait(self, task_id: str, timeout: float) -> Task:
        """The job once it has ended, or as it stands when `timeout` seconds are over.

        Raises:
            KeyError: there is no such job.
        """
        job = self._jobs[task_id]
        try:
            async with asyncio.timeout(timeout):
                await job.ended.wait()
        except TimeoutError:
            pass  # The caller sees from the status that it still runs.
        return job.task

    async def stop(self, task_id: str) -> Task:
        """End a job and all its children; a job that has ended stays as it is.

        Raises:
            KeyError: there is no such job.
        """
        job = self._jobs[task_id]
        if job.task.status == "running" or job.task.resident:
            await job.stop()
        return await self.wait(task_id, _STOP_PATIENCE)


class _Job:
    def __init__(self, task: Task, stop: Callable[[], Awaitable[None]]) -> None:
        self.task = task
        self.stop = stop
        self.ended = asyncio.Event()
        self.reported = False


def tail(path: str, limit: int) -> str:
    """The end of a file as plain text, at most `limit` characters."""
    try:
        with open(path, "rb") as file:
            # No character takes more than four bytes.
            file.seek(max(0, os.fstat(file.fileno()).st_size - 4 * limit))
            return plain(file.read(4 * limit))[-limit:] if limit else ""
    except FileNotFoundError:
        return ""
