"""Tables that fit the window."""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from bridle.frontends.tui.render.layout import fit, hanging, style, wrap, wrap_all
from bridle.frontends.tui.style import cells
from bridle.frontends.tui.style.text import Line, Span, text_of

Align = Literal["left", "right", "center"]
Cell = tuple[Line, ...]
"""One or more logical lines."""

_GAP = 3
_WORD = 12
"""Longer words may be broken to make a table fit."""
_LABEL = style(bold=True)
_BORDER = style("border")


class Table(Struct, frozen=True, kw_only=True):
    """Rows of cells, the first row being the header."""

    header: tuple[Cell, ...]
    rows: tuple[tuple[Cell, ...], ...]
    aligns: tuple[Align, ...]


def render_table(table: Table, width: int) -> list[Line]:
    """Columns side by side, or one pair of name and value under the other where they do not fit."""
    if not table.header:
        return []
    columns = _column_widths(table, width - _GAP * (len(table.header) - 1))
    if columns is None:
        return _stacked(table, width)
    rows = _row([_bold(cell) for cell in table.header], columns, table.aligns)
    rows.append((Span("─┼─".join("─" * size for size in columns), _BORDER),))
    is_wrapped = any(
        _natural(cell) > size for cells_ in table.rows for cell, size in zip(cells_, columns, strict=False)
    )
    for index, each in enumerate(table.rows):
        if index and is_wrapped:
            rows.append((Span("─┼─".join("─" * size for size in columns), style("border", dim=True)),))
        rows += _row(each, columns, table.aligns)
    return fit(rows, width)


def _column_widths(table: Table, room: int) -> list[int] | None:
    """How wide each column is; None when not even broken words fit."""
    everything = [table.header, *table.rows]
    count = len(table.header)
    natural = [
        max((_natural(each[at]) for each in everything if at < len(each)), default=1) for at in range(count)
    ]
    natural = [max(size, 1) for size in natural]
    if sum(natural) <= room:
        return natural
    least = [
        max((_longest_word(each[at]) for each in everything if at < len(each)), default=1)
        for at in range(count)
    ]
    least = [max(1, min(size, _WORD)) for size in least]
    spare = room - sum(least)
    if spare < 0:
        return None
    return _shared(least, natural, spare)


def _shared(least: list[int], natural: list[int], spare: int) -> list[int]:
    """Give what is left to the columns that want it, the smallest first."""
    widths = list(least)
    waiting = sorted(range(len(least)), key=lambda at: natural[at] - least[at])
    for left, at in zip(range(len(waiting), 0, -1), waiting, strict=True):
        given = min(natural[at] - least[at], spare // left)
        widths[at] += given
        spare -= given
    return widths


def _row(row: Sequence[Cell], columns: list[int], aligns: Sequence[Align]) -> list[Line]:
    filled = [row[at] if at < len(row) else () for at in range(len(columns))]
    wrapped = [wrap_all(cell, size) or [()] for cell, size in zip(filled, columns, strict=True)]
    height = max(map(len, wrapped))
    separator = Span(" │ ", _BORDER)
    rows: list[Line] = []
    for at in range(height):
        line: list[Span] = []
        for index, (part, size) in enumerate(zip(wrapped, columns, strict=True)):
            if index:
                line.append(separator)
            align = aligns[index] if index < len(aligns) else "left"
            line += _aligned(part[at] if at < len(part) else (), size, align)
        rows.append(_without_tail(line))
    return rows


def _aligned(line: Line, size: int, align: Align) -> Line:
    missing = max(0, size - cells.line_width(line))
    before = {"left": 0, "right": missing, "center": missing // 2}[align]
    lead = (Span(" " * before),) if before else ()
    tail = (Span(" " * (missing - before)),) if missing > before else ()
    return (*lead, *line, *tail)


def _without_tail(line: list[Span]) -> Line:
    """Trailing blanks get in the way when the table is copied."""
    while line and not line[-1].text.strip(" ") and line[-1].style.background is None:
        line.pop()
    return tuple(line)


def _stacked(table: Table, width: int) -> list[Line]:
    lines: list[Line] = []
    for index, each in enumerate(table.rows):
        if index:
            lines.append((Span("─" * min(width, 20), style("border", dim=True)),))
        for name, cell in zip(table.header, each, strict=False):
            label = " ".join(text_of(part) for part in name)
            first = (Span(f"{label}: ", _LABEL),) if label else ()
            for at, part in enumerate(cell or ((),)):
                lines += hanging((*first, *part) if at == 0 else part, width, first=(), rest=())
    if not table.rows:
        for name in table.header:
            lines += [row for part in _bold(name) for row in wrap(part, max(width, 1))]
    return fit(lines, width)


def _bold(cell: Cell) -> Cell:
    return tuple(tuple(Span(span.text, replace(span.style, bold=True)) for span in each) for each in cell)


def _natural(cell: Cell) -> int:
    return max((cells.line_width(each) for each in cell), default=0)


def _longest_word(cell: Cell) -> int:
    words = (word for each in cell for word in text_of(each).split(" "))
    return max((cells.width(word) for word in words), default=0)
