"""How far a turn of the mouse wheel scrolls."""

import time
from collections.abc import Callable, Mapping

from bridle.types.variables import whole_number

_USUAL_ROWS = 3
_MOST_ROWS = 20
_QUICK_SECONDS = 0.06
_FASTEST = 5
WHEEL = ("wheelup", "wheeldown")
"""The names of the keys that stand for the wheel."""


class MouseWheel:
    """Counts quick turns in one direction, which scroll further and further."""

    def __init__(
        self,
        env: Mapping[str, str],
        *,
        accelerates: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._rows = min(whole_number(env, "CLAUDE_CODE_SCROLL_SPEED") or _USUAL_ROWS, _MOST_ROWS)
        self._accelerates = accelerates
        self._clock = clock
        self._last = ("", float("-inf"))
        self._factor = 1

    def turned(self, name: str) -> int:
        """The rows that this turn scrolls."""
        now = self._clock()
        before, at = self._last
        is_quick = self._accelerates and before == name and now - at < _QUICK_SECONDS
        self._factor = min(self._factor + 1, _FASTEST) if is_quick else 1
        self._last = (name, now)
        return self._rows * self._factor
