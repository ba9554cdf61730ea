"""Breaks the text of the prompt into rows, and finds places in them."""

from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache

from msgspec import Struct

from bridle.frontends.tui.style.cells import measured, width


class Row(Struct, frozen=True):
    """A row as it is shown: a part of the text, without the break that may follow."""

    start: int
    end: int
    is_last: bool
    """The line ends here; otherwise it continues in the next row."""


class Layout(Struct, frozen=True):
    """A text in rows."""

    text: str
    rows: Sequence[Row]

    def place(self, offset: int) -> tuple[int, int]:
        """The row and column of a position in the text."""
        index = bisect_right(self.rows, offset, key=lambda row: row.start) - 1
        return index, width(self.text[self.rows[index].start : offset])

    def offset(self, index: int, column: int) -> int:
        """The position in the text at this column, or at the end of a shorter row."""
        row = self.rows[index]
        at, used = row.start, 0
        for cluster, size in measured(self.text[row.start : row.end]):
            if used + size > column:
                break
            used += size
            at += len(cluster)
        # The end of a row that continues is shown at the start of the next one.
        return at if row.is_last or at < row.end else max(at - 1, row.start)


def lay_out(text: str, columns: int) -> Layout:
    """Break every line where it is too long, after a space where there is one."""
    rows: list[Row] = []
    at = 0
    for line in text.split("\n"):
        rows += (Row(at + start, at + end, is_last) for start, end, is_last in _break(line, max(columns, 1)))
        at += len(line) + 1
    return Layout(text, rows)


@lru_cache(maxsize=2048)
def _break(line: str, columns: int) -> tuple[tuple[int, int, bool], ...]:
    # A full row leaves no place for the cursor behind it, so the last row is always a little shorter.
    if line.isascii() and len(line) < columns:
        return ((0, len(line), True),)
    found: list[tuple[int, int, bool]] = []
    start = at = used = resume = 0
    for cluster, size in measured(line):
        if used + size > columns and at > start:
            end = resume if resume > start else at
            found.append((start, end, False))
            used = width(line[end:at])
            start = end
        used += size
        at += len(cluster)
        if cluster == " ":
            resume = at
    if used >= columns and at > start:
        return (*found, (start, at, False), (at, at, True))
    return (*found, (start, at, True))
