"""The rows at the end of the output that still change, and the shortest way from one picture to the next."""

from collections.abc import Sequence

from bridle.frontends.tui.style.cells import chop, cut, is_doubtful, line_width
from bridle.frontends.tui.style.paint import Painter
from bridle.frontends.tui.style.text import Line, Span

_WORTH_MOVING = 24
"""Rows with fewer cells than this are written again rather than moved."""

Cursor = tuple[int, int]
"""Row and column, from 0."""


class LiveRegion:
    """What stands on the screen below the finished lines, and where the cursor is in it.

    The place of the region on the screen is never known or needed: all movement is relative. It has at least
    one row, which may be empty.
    """

    def __init__(self, brush: Painter, columns: int) -> None:
        self.brush = brush
        self.columns = columns
        self.rows: list[Line] = [()]
        self._row = 0
        self._column: int | None = 0
        """None where terminals differ: after the last cell of a row."""
        self._out: list[str] = []
        self._start: Cursor | None = None
        """Where the cursor was before this frame, as long as nothing has moved that place."""

    @property
    def is_empty(self) -> bool:
        """Whether only the row of the next output is left."""
        return len(self.rows) == 1 and not self.rows[0]

    def take(self) -> str:
        """What has to be written to get here; the style is the terminal's own again at its end."""
        self._out.append(self.brush.plain())
        written = "".join(self._out)
        self._out.clear()
        self._start = None if self._column is None else (self._row, self._column)
        return written

    def become(self, rows: Sequence[Line]) -> int:
        """Change into other rows; returns how many rows were touched."""
        after: list[Line] = list(rows) or [()]
        before = self.rows
        head = _common(before, after)
        tail = _common(before[head:][::-1], after[head:][::-1])
        if tail and not _is_worth_moving(before[-tail:]):
            tail = 0
        middle = len(after) - tail
        self._scroll(after, head, middle, tail)
        self._resize(len(after), middle, tail)
        touched = 0
        for index in range(head, len(after)):
            if self.rows[index] != after[index]:
                self._rewrite(index, after[index])
                touched += 1
        self.rows = after
        return touched

    def advance(self, lines: Sequence[Line], rows: Sequence[Line], height: int) -> int:
        """Put finished lines above the region, never to be touched again, and change it into other rows.

        Both are drawn as one picture: the lines take the place of rows that go, so that the newest of them
        stay in the window however many there are. Returns how many rows were touched.
        """
        self._start = None
        after: list[Line] = list(rows) or [()]
        finished = [piece for line in lines for piece in self._pieces(line)]
        if self.is_empty:
            self._print(finished)
            return len(finished) + self.become(after)
        fits = all(line_width(piece) <= self.columns and not _is_doubtful(piece) for piece in finished)
        if not fits or len(finished) + len(after) > height:
            self._overwrite(finished, after)
            return len(finished) + len(after)
        touched = self.become([*finished, *after])
        self.release(len(finished))
        return touched

    def print(self, lines: Sequence[Line]) -> None:
        """Write finished lines; the region must be empty."""
        self._start = None
        self._print([piece for line in lines for piece in self._pieces(line)])

    def draw(self, sequence: str, rows: int) -> None:
        """Draw something that takes so many rows; the region must be empty.

        The rows are made first: whatever the terminal does with its cursor, nothing scrolls while it draws.
        """
        self._to(0)
        self._out.append(f"{self._left()}{chr(10) * rows}{_up(rows)}\x1b7{sequence}\x1b8\x1b[{rows}B")
        self._start = None

    def _print(self, finished: Sequence[Line]) -> None:
        self._to(0)
        self._out.append(self._left())
        for piece in finished:
            self._out.append(f"{self.brush.paint(piece)}{self.brush.plain()}\r\n")
        self._row, self._column = 0, 0

    def keep(self, lines: Sequence[Line]) -> int:
        """Release the first rows as far as they are these finished lines; returns how many."""
        count = min(_common(self.rows, lines), len(self.rows) - 1)
        fitting = (line_width(row) <= self.columns and not _is_doubtful(row) for row in self.rows[:count])
        count = next((at for at, fits in enumerate(fitting) if not fits), count)
        if count:
            self.release(count)
        return count

    def release(self, count: int) -> None:
        """Let the first rows stay where they are: they no longer belong to the region."""
        self._start = None
        if count >= len(self.rows):
            self._to(len(self.rows) - 1)
            self._out.append("\r\n")
            self.rows = [()]
            self._row, self._column = 0, 0
        else:
            del self.rows[:count]
            self._row -= count

    def place(self, cursor: Cursor) -> None:
        """Move the cursor there."""
        row = min(max(cursor[0], 0), len(self.rows) - 1)
        column = min(max(cursor[1], 0), max(self.columns - 1, 0))
        if (row, column) == self._start and row != self._row:
            # Coming back to where it was is shorter than going there.
            self._out.insert(0, "\x1b7")
            self._out.append(f"{self.brush.plain()}\x1b8")
            self._row, self._column = row, column
            return
        self._to(row)
        self._across(column)

    def clear(self, columns: int, *, height: int, reflows: bool) -> None:
        """Erase everything, also after the window has got another width, and be empty."""
        if self._row < 0:
            self._to(0)
        above, below = self._row, len(self.rows) - 1 - self._row
        if reflows and columns < self.columns:
            heights = [-(-line_width(self._fit(row)) // columns) or 1 for row in self.rows]
            below = sum(heights[self._row :]) - 1
            above = sum(heights[: self._row]) + (self._column or 0) // columns
        above = min(max(above, 0), height - 1)
        self._out.append(f"\r{_up(above)}{self.brush.plain()}\x1b[K")
        if above + below:
            # From the second row on: tmux saves the whole screen when it is erased from the first cell.
            self._out.append("\x1b[B\x1b[J\x1b[A")
        self.forget(columns)

    def forget(self, columns: int) -> None:
        """Start over at the line where the cursor is, which must be empty."""
        self._start = None
        self.columns = columns
        self.rows = [()]
        self._row, self._column = 0, 0

    def adopt(self, rows: Sequence[Line], cursor: Cursor) -> None:
        """These rows are on the screen already."""
        self.rows = list(rows) or [()]
        self._row, self._column = cursor

    def _overwrite(self, finished: Sequence[Line], after: list[Line]) -> None:
        """Write the lines over the region and its new rows below them: nothing is blank for a moment."""
        self._to(0)
        self._out.append(self._left())
        for piece in finished:
            self._out.append(f"{self.brush.paint(piece)}{self._end(self._last_width(piece))}\r\n")
        for index, row in enumerate(after):
            fitted = self._fit(row)
            self._out.append("\r\n" if index else "")
            self._out.append(f"{self._paint(fitted)}{self._end(line_width(fitted))}")
        if sum(self._height(piece) for piece in finished) + len(after) < len(self.rows):
            self._out.append("\r\n\x1b[J\x1b[A")
        self.rows = after
        self._row, self._column = len(after) - 1, None

    def _scroll(self, after: Sequence[Line], head: int, middle: int, tail: int) -> None:
        """When text has moved up by some rows inside the region, move it there too."""
        old = self.rows[head : len(self.rows) - tail]
        new = after[head:middle]
        if len(old) != len(new) or len(new) < 4 or new[0] not in old:
            return
        by = old.index(new[0])
        if by == 0 or by > len(old) // 2 or old[by:] != new[: len(old) - by]:
            return
        self._to(head)
        self._out.append(f"{self._left()}\x1b[{_number(by)}M")
        del self.rows[head : head + by]
        if tail:
            self._to(middle - by)
            self._out.append(f"{self._left()}\x1b[{_number(by)}L")
        self.rows[middle - by : middle - by] = [()] * by

    def _resize(self, size: int, middle: int, tail: int) -> None:
        """Get the right number of rows, with the unchanged ones at the end moved to their place."""
        more = size - len(self.rows)
        if more:
            self._start = None
        if more > 0:
            self._to(len(self.rows) - 1)
            self._out.append("\r\n" * more)
            self._row, self._column = size - 1, 0
            if tail:
                self._to(middle - more)
                self._out.append(f"{self._left()}\x1b[{_number(more)}L")
            self.rows[middle - more : middle - more] = [()] * more
        elif more < 0:
            self._to(middle)
            self._out.append(self._left())
            self._out.append(
                f"{self.brush.plain()}\x1b[{_number(-more)}M" if tail else f"{self.brush.plain()}\x1b[J"
            )
            del self.rows[middle : middle - more]
            if not tail:
                self._row = middle

    def _rewrite(self, index: int, row: Line) -> None:
        before, after = self._fit(self.rows[index]), self._fit(row)
        old_width, new_width = line_width(before), line_width(after)
        same, rest = _changed_tail(before, after)
        self._to(index)
        self._across(same)
        self._out.append(self._paint(rest))
        if new_width < old_width or _is_doubtful(before):
            self._out.append(self._end(new_width))
        self._row = index
        self._column = new_width if new_width < self.columns and not _is_doubtful(after) else None
        self.rows[index] = row

    def _paint(self, fitted: Line) -> str:
        painted = self.brush.paint(fitted)
        # Should the terminal find this row longer than we do, it must not begin another one.
        return f"\x1b[?7l{painted}\x1b[?7h" if _is_doubtful(fitted) else painted

    def _end(self, width: int) -> str:
        """Erase what follows; in the last column that would erase what was just written."""
        return f"{self.brush.plain()}\x1b[K" if width < self.columns else self.brush.plain()

    def _fit(self, row: Line) -> Line:
        return row if line_width(row) <= self.columns else cut(row, self.columns)

    def _pieces(self, line: Line) -> list[Line]:
        """A long line is left to the terminal to break, so that copying it gives one line again."""
        if line_width(line) <= self.columns or all(span.text.isascii() for span in line):
            return [line]
        return chop(line, self.columns)

    def _last_width(self, piece: Line) -> int:
        """The width of the last row that a finished line takes."""
        width = line_width(piece)
        return (width - 1) % self.columns + 1 if width else 0

    def _height(self, piece: Line) -> int:
        return max(-(-line_width(piece) // self.columns), 1)

    def _to(self, row: int) -> None:
        if row < self._row:
            self._out.append(_up(self._row - row))
        elif row > self._row:
            self._out.append(f"\x1b[{_number(row - self._row)}B")
        self._row = row

    def _across(self, column: int) -> None:
        if column != self._column:
            self._out.append("\r" if column == 0 else f"\x1b[{_number(column + 1)}G")
            self._column = column

    def _left(self) -> str:
        self._column = 0
        return "\r"


def _changed_tail(before: Line, after: Line) -> tuple[int, Line]:
    """How many cells at the start stay, and what has to be written after them."""
    if _is_doubtful(before) or _is_doubtful(after):
        return 0, after
    same = _common(before, after)
    cells = line_width(after[:same])
    if same < len(before) and same < len(after) and before[same].style == after[same].style:
        old, new = before[same].text, after[same].text
        if old.isascii() and new.isascii():
            kept = _common(old, new)
            if kept:
                rest = new[kept:]
                shorter = (Span(rest, after[same].style),) if rest else ()
                return cells + kept, (*shorter, *after[same + 1 :])
    return cells, after[same:]


def _common(one: Sequence[object], other: Sequence[object]) -> int:
    """How many items at the start are the same."""
    count = 0
    for left, right in zip(one, other, strict=False):
        if left is not right and left != right:
            break
        count += 1
    return count


def _is_worth_moving(rows: Sequence[Line]) -> bool:
    return sum(len(span.text) for row in rows for span in row) > _WORTH_MOVING


def _is_doubtful(row: Line) -> bool:
    return any(is_doubtful(span.text) for span in row)


def _up(rows: int) -> str:
    return f"\x1b[{_number(rows)}A" if rows > 0 else ""


def _number(value: int) -> str:
    return "" if value == 1 else str(value)
