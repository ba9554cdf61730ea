"""The background commands of a session; what runs them is imported with the first."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from bridle.types.task import Task, Tasks

if TYPE_CHECKING:
    from bridle.host.background import BackgroundShells


def _nothing(task: Task) -> None:
    del task


class Shells:
    """Made with a session and closed with it."""

    def __init__(self, storage: str) -> None:
        self._storage = storage
        self._made: BackgroundShells | None = None
        self.on_change: Callable[[Task], None] = _nothing
        """Told when a command begins or ends."""

    def make(self) -> Tasks:
        from bridle.host.background import BackgroundShells

        self._made = BackgroundShells(self._storage, on_change=self.on_change)
        return self._made

    async def close(self) -> None:
        if self._made is not None:
            await self._made.close()
