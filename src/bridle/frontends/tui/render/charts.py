"""Pictures of numbers: the context window as a grid, costs as bars."""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from bridle.frontends.tui.render.call import tokens
from bridle.frontends.tui.render.layout import MUTED, fit, one_line, style
from bridle.frontends.tui.style import cells
from bridle.frontends.tui.style.text import Line, Span

_EIGHTHS = " ▏▎▍▌▋▊▉"
_CHARTS = 6


class WindowPart(Protocol):
    """A part of the context window."""

    @property
    def name(self) -> str: ...
    @property
    def tokens(self) -> int: ...


class Bar(Struct, frozen=True, kw_only=True):
    """A value with its name."""

    name: str
    value: float
    label: str = ""
    """How the value is said."""


def context_picture(
    categories: Sequence[WindowPart], window: int, width: int, *, rows: int = 8
) -> list[Line]:
    """The window as a grid of squares, one color for each category, with a legend beside or below it."""
    window = max(window, sum(max(0, each.tokens) for each in categories), 1)
    legend = _legend(categories, window)
    legend_width = max((cells.line_width(each) for each in legend), default=0)
    beside = width >= legend_width + 3 + 20
    columns = max(1, min(20, (width - legend_width - 3 if beside else width) // 2))
    grid = _grid(categories, window, columns, max(1, rows))
    if not beside:
        return fit([*grid, (), *legend], width)
    height = max(len(grid), len(legend))
    return fit(
        [
            (
                *(cells.pad(grid[at], columns * 2) if at < len(grid) else (Span(" " * (columns * 2)),)),
                Span("   "),
                *(legend[at] if at < len(legend) else ()),
            )
            for at in range(height)
        ],
        width,
    )


def bars(values: Sequence[Bar], width: int, *, color: str = "chart.1") -> list[Line]:
    """Horizontal bars, the longest as wide as there is room."""
    if not values:
        return []
    names = [one_line(each.name) for each in values]
    labels = [one_line(each.label or f"{each.value:g}") for each in values]
    name_width = min(max(map(cells.width, names)), max(4, width // 3))
    room = width - name_width - max(map(cells.width, labels)) - 2
    if room < 4:
        return fit([(Span(f"{n} "), Span(v, MUTED)) for n, v in zip(names, labels, strict=True)], width)
    most = max((each.value for each in values), default=0)
    rows: list[Line] = []
    for each, name, label in zip(values, names, labels, strict=True):
        shown = cells.pad((Span(cells.truncate_text(name, name_width)),), name_width)
        rows.append(
            (*shown, Span(f" {_bar(each.value, most, room)}", style(color)), Span(f" {label}", MUTED))
        )
    return fit(rows, width)


def _grid(categories: Sequence[WindowPart], window: int, columns: int, rows: int) -> list[Line]:
    total = columns * rows
    squares: list[Span] = []
    for index, each in enumerate(categories):
        # Every category that is not empty gets a square.
        number = max(1, round(each.tokens / window * total)) if each.tokens > 0 else 0
        squares += [Span("■ ", style(_color(index)))] * number
    squares = squares[:total]
    squares += [Span("□ ", style("chart.free"))] * (total - len(squares))
    return [tuple(_joined(squares[at : at + columns])) for at in range(0, total, columns)]


def _joined(spans: Sequence[Span]) -> list[Span]:
    joined: list[Span] = []
    for span in spans:
        if joined and joined[-1].style == span.style:
            joined[-1] = Span(joined[-1].text + span.text, span.style)
        else:
            joined.append(span)
    return joined


def _legend(categories: Sequence[WindowPart], window: int) -> list[Line]:
    lines: list[Line] = []
    for index, each in enumerate(categories):
        share = f"{max(0, each.tokens) / window:.1%}"
        lines.append(
            (
                Span("■ ", style(_color(index))),
                Span(one_line(each.name)),
                Span(f" {tokens(each.tokens)} ({share})", MUTED),
            )
        )
    free = window - sum(max(0, each.tokens) for each in categories)
    lines.append(
        (Span("□ ", style("chart.free")), Span("free"), Span(f" {tokens(free)} ({free / window:.1%})", MUTED))
    )
    return lines


def _color(index: int) -> str:
    return f"chart.{index % _CHARTS + 1}"


def _bar(value: float, most: float, room: int) -> str:
    eighths = round(max(0.0, value) / most * room * 8) if most > 0 else 0
    full, rest = divmod(eighths, 8)
    return ("█" * full + (_EIGHTHS[rest] if rest else "")) or ("▏" if value > 0 else "")
