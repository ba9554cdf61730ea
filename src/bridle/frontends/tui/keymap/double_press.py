"""Keys that do something only when they are pressed twice."""

import asyncio
from collections.abc import Callable

_SECONDS = 1.5


class DoublePress:
    """Remembers a key for a moment; `redraw` is called when the moment is over."""

    def __init__(self, redraw: Callable[[], None]) -> None:
        self._redraw = redraw
        self._key = ""
        self._until = 0.0

    @property
    def waiting(self) -> str:
        """What counts when it is pressed once more; empty when nothing does."""
        return self._key if asyncio.get_running_loop().time() < self._until else ""

    def take(self) -> str:
        """Return the waiting key and forget it."""
        found = self.waiting
        self._key = ""
        return found

    def expect(self, key: str) -> None:
        """It was pressed once."""
        loop = asyncio.get_running_loop()
        self._key, self._until = key, loop.time() + _SECONDS
        loop.call_later(_SECONDS, self._redraw)
