"""The list of past prompts that a search finds, with their ages and the whole of the chosen one."""

from collections.abc import Sequence

from bridle.frontends.tui.editing.history import HistoryEntry, Search
from bridle.frontends.tui.keymap.keymap import Keymap
from bridle.frontends.tui.render.layout import MUTED, count, one_line, style
from bridle.frontends.tui.screen.live_region import Cursor
from bridle.frontends.tui.screen.view import Frame
from bridle.frontends.tui.style import cells
from bridle.frontends.tui.style.text import Line, Span
from bridle.frontends.tui.widgets.relative_time import ago

_ROWS = 8
_PREVIEW_ROWS = 6
_LEAST_PREVIEW = 2


def render_search(
    search: Search, width: int, height: int, *, border: Line, now: float, keys: Sequence[tuple[str, str]]
) -> Frame:
    """The query, what holds it, the chosen prompt as it would stand in the input, and what keys do."""
    matches = search.matches
    at = min(search.at, max(len(matches) - 1, 0))
    query, cursor = _query(search, len(matches), width)
    room = max(height - 5, 1)
    rows = _list(matches, at, search.query, width, rows=min(_ROWS, room), now=now)
    preview = _preview(matches[at], width) if matches and room - len(rows) > _LEAST_PREVIEW else []
    hints = " · ".join(f"{key} {words}" for key, words in keys if key)
    foot = cells.truncate((Span(hints, MUTED),), width)
    lines = [border, query, border, *rows, *preview, foot]
    return Frame(lines[:height], cursor)


def _query(search: Search, found: int, width: int) -> tuple[Line, Cursor]:
    where = "all projects" if search.everywhere else "this project"
    label = f"search {where}: "
    tail = f"  {count(found, 'prompt')}" if found else "  nothing found"
    room = max(width - len(label) - len(tail) - 1, 1)
    query = cells.truncate_start(one_line(search.query), room)
    line = (
        Span(label, MUTED),
        Span(query, style("accent")),
        Span(tail, MUTED if found else style("warning")),
    )
    return cells.cut(line, width), (1, min(len(label) + cells.width(query), width - 1))


def _list(
    matches: Sequence[HistoryEntry], at: int, query: str, width: int, *, rows: int, now: float
) -> list[Line]:
    first = min(max(0, at - rows // 2), max(0, len(matches) - rows))
    lines: list[Line] = []
    for index, entry in enumerate(matches[first : first + rows], first):
        age = "" if entry.time is None else ago(entry.time, now)
        mark = Span("› " if index == at else "  ", style("accent", bold=True))
        text = cells.truncate(
            _marked(one_line(entry.shown[:1_000]), query, is_chosen=index == at), max(width - 16, 8)
        )
        gap = max(width - 2 - cells.line_width(text) - cells.width(age), 1)
        lines.append(cells.truncate((mark, *text, Span(" " * gap), Span(age, MUTED)), width))
    return lines


def _marked(text: str, query: str, *, is_chosen: bool) -> Line:
    """The text with what was searched for in the accent color."""
    base = style(bold=is_chosen)
    place = text.casefold().find(query.casefold()) if query and len(text.casefold()) == len(text) else -1
    if place < 0:
        return (Span(text, base),)
    end = place + len(query)
    return (
        Span(text[:place], base),
        Span(text[place:end], style("accent", bold=True)),
        Span(text[end:], base),
    )


def _preview(entry: HistoryEntry, width: int) -> list[Line]:
    """All of a prompt that has several lines, or is too long for its row."""
    lines = entry.shown[:4_000].split("\n")
    if len(lines) == 1 and cells.width(lines[0]) <= width - 16:
        return []
    rows: list[Line] = []
    for each in lines[: _PREVIEW_ROWS + 1]:
        rows += cells.wrap((Span(one_line(each), MUTED),), max(width - 4, 1)) if each.strip() else [()]
    shown = rows[:_PREVIEW_ROWS]
    if len(lines) > _PREVIEW_ROWS or len(rows) > _PREVIEW_ROWS:
        shown[-1] = (Span("…", MUTED),)
    edge = Span("  ▏ ", style("border"))
    return [(), *((edge, *each) for each in shown)]


def search_keys(keymap: Keymap) -> list[tuple[str, str]]:
    """What keys do in the list."""
    named = (
        ("historySearch:next", "next"),
        ("historySearch:accept", "edit"),
        ("historySearch:execute", "send"),
        ("historySearch:cycleScope", "all projects"),
        ("historySearch:cancel", "cancel"),
    )
    return [("↑ ↓", "choose"), *((keymap.label(action), words) for action, words in named)]
