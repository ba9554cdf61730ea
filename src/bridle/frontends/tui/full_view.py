"""Draws a view that covers the whole window."""

from collections.abc import Sequence

from bridle.frontends.tui.cells import cut, line_width
from bridle.frontends.tui.paint import Brush
from bridle.frontends.tui.region import Cursor
from bridle.frontends.tui.text import Line


class FullView:
    """The rows on the alternate screen; only those that differ are written."""

    def __init__(self, brush: Brush) -> None:
        self._brush = brush
        self._rows: list[Line] = []
        self._size: tuple[int, int] | None = None

    def forget(self) -> None:
        """Write everything again the next time."""
        self._size = None

    def become(self, rows: Sequence[Line], columns: int, height: int) -> tuple[str, int]:
        """What changes the window into these rows, and how many of them are touched."""
        wanted = [*rows[:height], *[()] * (height - len(rows))]
        out: list[str] = []
        if self._size != (columns, height):
            self._size = (columns, height)
            self._rows = [()] * height
            out.append(f"{self._brush.plain()}\x1b[2J")
        touched = 0
        for index, (old, new) in enumerate(zip(self._rows, wanted, strict=True)):
            if old != new:
                touched += 1
                out.append(self._row(index, new, columns))
        self._rows = wanted
        out.append(self._brush.plain())
        return "".join(out), touched

    def place(self, cursor: Cursor, columns: int, height: int) -> str:
        """Move the cursor there."""
        return f"\x1b[{min(cursor[0], height - 1) + 1};{min(cursor[1], columns - 1) + 1}H"

    def _row(self, index: int, row: Line, columns: int) -> str:
        fitted = row if line_width(row) <= columns else cut(row, columns)
        # Erased before it is written: at the end that would take the last character of a full row with it.
        start = f"\x1b[{index + 1}H{self._brush.plain()}\x1b[K"
        return f"{start}\x1b[?7l{self._brush.paint(fitted)}\x1b[?7h"
