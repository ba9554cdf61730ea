"""The frame around every view: a title, tabs, the content, and the keys at the bottom."""

from collections.abc import Sequence

from bridle.frontends.tui.render.layout import MUTED, fit, homely, one_line, style
from bridle.frontends.tui.screen.live_region import Cursor
from bridle.frontends.tui.screen.view import Frame
from bridle.frontends.tui.style import cells
from bridle.frontends.tui.style.text import Line, Span

Named = tuple[str, str]
"""A key and what it does."""

_LOW = 12
"""Windows with fewer rows than this do without blank ones."""
_HIGH = 20
"""Full windows with so many rows give the keys two of them."""
_LEAST = 4
"""Windows with fewer rows than this show the content alone."""
_INLINE_SHARE = 0.7


def room(height: int, *, tabs: bool = False, full: bool = True) -> int:
    """How many rows the content may have."""
    if not full:
        height = max(min(height, _LOW), round(height * _INLINE_SHARE))
    if height < _LEAST + tabs:
        return max(1, height)
    around = 2 if height < _LOW else 3 + (2 if full and height >= _HIGH else 1)
    return max(1, height - around - tabs)


def page(
    title: str,
    body: Sequence[Line],
    *,
    width: int,
    height: int,
    hints: Sequence[Named],
    aside: str = "",
    tabs: Line | None = None,
    full: bool = True,
    cursor: Cursor | None = None,
) -> Frame:
    """The content between a title and the keys; a full page puts the keys on the last row of the window."""
    space = room(height, tabs=tabs is not None, full=full)
    if height < _LEAST + (tabs is not None):
        return Frame(fit(body[:space], width), None if cursor is None or cursor[0] >= space else cursor)
    is_low = height < _LOW
    above: list[Line] = [_title(title, aside, width), *([tabs] if tabs is not None else [])]
    above += [] if is_low else [() if _has_room(title, aside, width) else (Span(one_line(aside), MUTED),)]
    shown = list(body[:space])
    shown += [()] * (space - len(shown)) if full else []
    keys = help_lines(hints, width, most=2 if full and height >= _HIGH else 1)
    below: list[Line] = [()] * (height - len(above) - len(shown) - len(keys)) if full else [()] * (not is_low)
    rows = [*above, *shown, *below, *keys]
    place = None if cursor is None or cursor[0] >= space else (cursor[0] + len(above), cursor[1])
    return Frame(fit(rows, width), place)


def help_lines(hints: Sequence[Named], width: int, *, most: int = 1) -> list[Line]:
    """The keys and what they do on a few rows; what does not fit is left out, the last one never."""
    kept = list(hints)
    while len(kept) > 1 and len(_hint_rows(kept, width)) > most:
        del kept[-2]
    return [cells.truncate(row, width) for row in _hint_rows(kept, width)]


def tab_line(names: Sequence[str], selected: int, width: int) -> Line:
    """The names of the tabs; in a narrow window only those around the selected one."""
    labels = [f" {one_line(name)} " for name in names]
    first = 0
    while first < selected and sum(map(cells.width, labels[first : selected + 1])) > width:
        first += 1
    spans: list[Span] = []
    used = 0
    for index, label in enumerate(labels[first:], first):
        used += cells.width(label)
        if used + (index + 1 < len(labels)) > width and index > selected:
            spans.append(Span("…", MUTED))
            break
        look = style("inverse", "border.focus", bold=True) if index == selected else MUTED
        spans.append(Span(label, look))
    return cells.cut(tuple(spans), width)


def heading(text: str) -> Line:
    """A line above some others."""
    return (Span(one_line(text), style("heading", bold=True)),)


def pair(name: str, value: str, width: int, *, column: int = 16) -> list[Line]:
    """A name and its value, wrapped below each other where they do not fit."""
    label = Span(f"{one_line(name)}", MUTED)
    value = homely(value)
    if width < column * 2:
        return [*cells.wrap((label,), width), *cells.wrap((Span("  "), Span(one_line(value))), width)]
    first = cells.pad(cells.truncate((label,), column - 1), column)
    rows = cells.wrap((Span(one_line(value)),), width - column)
    return [(*(first if at == 0 else (Span(" " * column),)), *each) for at, each in enumerate(rows)]


def _title(title: str, aside: str, width: int) -> Line:
    """The title with the state beside it, or below it where it does not fit."""
    name = Span(cells.truncate_text(one_line(title), width), style("accent", bold=True))
    if not aside or not _has_room(title, aside, width):
        return (name,)
    gap = width - cells.width(name.text) - cells.width(aside)
    return (name, Span(" " * gap), Span(one_line(aside), MUTED))


def _has_room(title: str, aside: str, width: int) -> bool:
    return cells.width(one_line(title)) + cells.width(one_line(aside)) + 2 <= width


def _hint_rows(hints: Sequence[Named], width: int) -> list[Line]:
    rows: list[list[Span]] = [[]]
    used = 0
    for key, words in hints:
        size = cells.width(key) + cells.width(words) + 1
        if rows[-1] and used + size + 3 > width:
            rows.append([])
        used = size if not rows[-1] else used + size + 3
        rows[-1] += [Span(" · ", MUTED)] if rows[-1] else []
        rows[-1] += [Span(key, style("info")), Span(f" {words}", MUTED)]
    return [tuple(row) for row in rows]
