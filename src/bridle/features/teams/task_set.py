"""Background tasks that end with their owner."""

import asyncio
from collections.abc import Coroutine
from typing import Any


class TaskSet:
    """Tasks that are not awaited; cancelled when the set is closed."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        return self.include(asyncio.create_task(work))

    def include(self, task: asyncio.Task[None]) -> asyncio.Task[None]:
        """Let a task that runs already end with the others."""
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def close(self) -> None:
        """End what is not done yet."""
        own = asyncio.current_task()
        left = [task for task in self._tasks if task is not own]
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
