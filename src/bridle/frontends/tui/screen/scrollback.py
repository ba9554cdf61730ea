"""What is finished, in a window that the conversation has to itself: kept, and scrolled through."""

from collections import deque
from collections.abc import Sequence
from itertools import chain

from bridle.frontends.tui.render.layout import count, style
from bridle.frontends.tui.style import cells
from bridle.frontends.tui.style.text import Line, Span

_MOST_LINES = 10_000


class Scrollback:
    """The newest lines; follows the end until the user scrolls up."""

    def __init__(self, past: Sequence[Line] = (), *, follows: bool = True) -> None:
        """`past` is what was finished before, and is in the terminal's own scrollback already.

        Without `follows`, what is new never moves what is shown.
        """
        self._follows = follows
        self._past = past
        self._lines: deque[Line] = deque(maxlen=_MOST_LINES)
        self._back = 0
        """How many rows below the window are out of sight."""
        self._height = 1

    @property
    def lines(self) -> Sequence[Line]:
        """What was finished since, the oldest first."""
        return tuple(self._lines)

    def add(self, lines: Sequence[Line]) -> None:
        """Something is finished; who has scrolled up stays where they are."""
        self._lines.extend(lines)
        self._back += len(lines) if self._back or not self._follows else 0

    def scroll(self, action: str) -> bool:
        """Move by what an action says; False when it does not scroll."""
        page = max(self._height - 2, 1)
        step = {"scroll:pageUp": page, "scroll:pageDown": -page}.get(action)
        if step is None:
            return False
        self._back = max(self._back + step, 0)
        return True

    def roll(self, rows: int) -> None:
        """Move by so many rows, up where the number is positive."""
        self._back = max(self._back + rows, 0)

    def follow(self) -> None:
        """Go back to the end."""
        self._back = 0

    def rows(self, width: int, height: int, going_on: Sequence[Line], *, key: str) -> list[Line]:
        """`height` rows: finished lines, then the running turn; `key` scrolls down."""
        self._height = height
        found = self._last(width, height + self._back, going_on)
        self._back = min(self._back, max(len(found) - height, 0))
        end = len(found) - self._back
        shown = found[max(end - height, 0) : end]
        if self._back and height > 1:
            hint = f"↓ {count(self._back, 'row')} below" + (f" · {key}" if key else "")
            shown[-1] = cells.truncate((Span(hint, style("warning")),), width)
        # A conversation that is shorter than the window begins at its top.
        return [*shown, *[()] * (height - len(shown))]

    def _last(self, width: int, wanted: int, going_on: Sequence[Line]) -> list[Line]:
        """The last rows of all, laid out from the end so that a long past costs nothing."""
        groups: list[list[Line]] = [list(going_on)]
        size = len(going_on)
        for line in chain(reversed(self._lines), reversed(self._past)):
            if size >= wanted:
                break
            rows = cells.chop(line, width) or [()]
            groups.append(rows)
            size += len(rows)
        return [row for rows in reversed(groups) for row in rows]
