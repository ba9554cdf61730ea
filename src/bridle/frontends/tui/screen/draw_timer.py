"""When to draw: at most thirty times a second, and at once after a key."""

import asyncio
from collections.abc import Callable

_FRAME_SECONDS = 1 / 30


class DrawTimer:
    """Calls `draw`, which says after how many seconds it wants to be called again, if it does."""

    def __init__(self, draw: Callable[[], float | None], *, clock: Callable[[], float]) -> None:
        self._draw = draw
        self._clock = clock
        self._timer: asyncio.TimerHandle | None = None
        self._due = 0.0
        self._drawn = 0.0

    def redraw(self, *, at_once: bool = False) -> None:
        """Draw soon: what happens meanwhile is drawn with it."""
        now = self._clock()
        due = now if at_once else max(now, self._drawn + _FRAME_SECONDS)
        if self._timer is not None:
            if self._due <= due:
                return
            self._timer.cancel()
        self._plan(due)

    def stop(self) -> None:
        """Stop drawing until the next request."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None

    def drawn(self) -> None:
        """A frame is being made: the next one keeps its distance."""
        self._drawn = self._clock()

    def _run(self) -> None:
        self._timer = None
        again = self._draw()
        if again is not None and self._timer is None:
            self._plan(self._clock() + again)

    def _plan(self, due: float) -> None:
        self._due = due
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(max(due - self._clock(), 0.0), self._run)
