"""Plots of usage in cells: braille curves, half-block columns and sparklines, at any width."""

from collections.abc import Sequence
from itertools import groupby

from bridle.frontends.tui.render.layout import MUTED, fit, one_line, style
from bridle.frontends.tui.style import cells
from bridle.frontends.tui.style.text import PLAIN, Line, Span, Style

_SPARKS = "▁▂▃▄▅▆▇█"
_COLORS = 6
_BRAILLE = 0x2800
_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
"""The bit of each dot of a braille cell, by row and column."""
_DOT_ROWS, _DOT_COLUMNS = 4, 2


def sparkline(values: Sequence[float], width: int, *, color: str = "chart.1") -> Span:
    """One cell for each value, the highest of neighbors where there are more values than cells."""
    shown = _squeezed(values, max(1, width))
    most = max(shown, default=0.0)
    marks = (_SPARKS[min(7, round(value / most * 7))] if most > 0 else _SPARKS[0] for value in shown)
    return Span("".join(marks), style(color))


def curve(
    values: Sequence[float], width: int, *, top: float, labels: tuple[str, str], height: int = 4
) -> list[Line]:
    """A line in braille dots between 0 and `top`; the labels stand for the top and the bottom."""
    margin = max(cells.width(label) for label in labels) + 1
    columns = width - margin
    if columns < 4 or not values:
        return []
    dots = _line_dots(values, columns * _DOT_COLUMNS, height * _DOT_ROWS, top)
    rows: list[Line] = []
    for row in range(height):
        label = labels[0] if row == 0 else labels[1] if row == height - 1 else ""
        marks = "".join(chr(_BRAILLE + _cell(dots, row, column)) for column in range(columns))
        rows.append((Span(f"{label:>{margin - 1}} ", MUTED), Span(marks, style("chart.2"))))
    return fit(rows, width)


def stacked_days(
    days: Sequence[tuple[str, Sequence[float]]], width: int, *, label: str, height: int = 6
) -> list[Line]:
    """A column of half blocks for each day, one color for each series; the first and last day below."""
    step = 2 if len(days) * 2 <= width else 1
    shown = days[-max(1, width // step) :]
    most = max((sum(values) for _, values in shown), default=0.0)
    if not shown or most <= 0:
        return []
    stacks = [_stack(values, most, height * 2) for _, values in shown]
    rows: list[Line] = [(Span(one_line(label), MUTED),)]
    for level in range(height - 1, -1, -1):
        marks = [_half_blocks(stack[level * 2 + 1], stack[level * 2]) for stack in stacks]
        rows.append(_joined([span for mark in marks for span in (mark, *([Span(" ")] * (step - 1)))]))
    first, last = one_line(shown[0][0]), one_line(shown[-1][0])
    gap = max(1, len(shown) * step - cells.width(first) - cells.width(last))
    rows.append((Span(f"{first}{' ' * gap}{last}" if len(shown) > 1 else first, MUTED),))
    return fit(rows, width)


def legend(names: Sequence[str], width: int) -> list[Line]:
    """Which color is which series."""
    spans: list[Span] = []
    for index, name in enumerate(names):
        spans += [Span("■ ", series_style(index)), Span(f"{one_line(name)}  ", MUTED)]
    return fit(cells.wrap(tuple(spans), max(1, width)), width) if spans else []


def series_style(index: int) -> Style:
    return style(f"chart.{index % _COLORS + 1}")


def _squeezed(values: Sequence[float], width: int) -> list[float]:
    group = -(-len(values) // width) if values else 1
    return [max(values[at : at + group]) for at in range(0, len(values), group)]


def _line_dots(values: Sequence[float], columns: int, rows: int, top: float) -> set[tuple[int, int]]:
    """The dots (row from the top, column) of a line through the values, without gaps."""
    points = _squeezed(values, columns)
    dots: set[tuple[int, int]] = set()
    before: int | None = None
    for column in range(columns):
        place = column / max(1, columns - 1) * (len(points) - 1)
        left = int(place)
        right = min(left + 1, len(points) - 1)
        value = points[left] + (points[right] - points[left]) * (place - left)
        row = rows - 1 - min(rows - 1, max(0, round(min(value / top, 1.0) * (rows - 1)) if top > 0 else 0))
        step = 0 if before is None else (row > before) - (row < before)
        low, high = sorted((row, row if before is None else before + step))
        dots |= {(each, column) for each in range(low, high + 1)}
        before = row
    return dots


def _cell(dots: set[tuple[int, int]], row: int, column: int) -> int:
    return sum(
        _DOTS[y][x]
        for y in range(_DOT_ROWS)
        for x in range(_DOT_COLUMNS)
        if (row * _DOT_ROWS + y, column * _DOT_COLUMNS + x) in dots
    )


def _stack(values: Sequence[float], most: float, halves: int) -> list[int | None]:
    """Which series fills each half cell from the bottom; whatever is not zero has one at least."""
    total = sum(values)
    filled = max(1, round(total / most * halves)) if total > 0 else 0
    stack: list[int | None] = []
    reached = 0.0
    for index, value in enumerate(values):
        reached += value
        end = round(reached / total * filled) if total > 0 else 0
        stack += [index] * (end - len(stack))
    return [*stack, *([None] * (halves - len(stack)))]


def _half_blocks(upper: int | None, lower: int | None) -> Span:
    match upper, lower:
        case None, None:
            return Span(" ")
        case None, int():
            return Span("▄", series_style(lower))
        case int(), None:
            return Span("▀", series_style(upper))
        case _:
            if upper == lower:
                return Span("█", series_style(lower))
            both = style(f"chart.{upper % _COLORS + 1}", f"chart.{lower % _COLORS + 1}")
            return Span("▀", both)


def _joined(spans: Sequence[Span]) -> Line:
    """Neighbors of one look as one span, without blanks at the end."""
    joined = [
        Span("".join(span.text for span in group), look)
        for look, group in groupby(spans, key=lambda span: span.style)
    ]
    if joined and joined[-1].style == PLAIN:
        joined[-1] = Span(joined[-1].text.rstrip())
    return tuple(span for span in joined if span.text)
