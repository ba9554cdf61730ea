"""Lays out the rows of a list in columns."""

from collections.abc import Sequence
from itertools import groupby

from msgspec import Struct

from bridle.frontends.tui.render.layout import MUTED, one_line, style
from bridle.frontends.tui.style import cells
from bridle.frontends.tui.style.text import Line, Span

_WIDEST_FACT = 28
_LEAST_LABEL = 16
_NARROW = 56
"""Below this a label takes what it needs, and its description the rest."""
_GAP = 2


class Column(Struct, frozen=True, kw_only=True):
    """What a row has to say, in the order in which it matters."""

    label: str
    facts: tuple[str, ...]
    detail: str
    is_path: bool
    """The description is a path, whose end says most."""
    sign: Span | None


def columns_of(rows: Sequence[Column], width: int, *, margin: int) -> list[int]:
    """How wide the label and each fact are; facts that find no room are not in the list."""
    label = max((cells.width(each.label) + (2 if each.sign else 0) for each in rows), default=0)
    count = max((len(each.facts) for each in rows), default=0)
    facts = [
        min(max((cells.width(one_line(each.facts[at])) for each in rows if at < len(each.facts)), default=0),
            _WIDEST_FACT)
        for at in range(count)
    ]  # fmt: skip
    space = width - margin
    while facts and space - sum(size + _GAP for size in facts if size) < min(label, _LEAST_LABEL):
        facts.pop()
    left = space - sum(size + _GAP for size in facts if size)
    if space >= _NARROW and any(each.detail for each in rows):
        left = min(left, max(_LEAST_LABEL, space // 2))
    return [max(1, min(label, left)), *facts]


def item_row(
    row: Column,
    columns: Sequence[int],
    width: int,
    *,
    is_selected: bool,
    is_marked: bool | None = None,
    positions: tuple[int, ...] = (),
) -> Line:
    """One row: the mark of the selection, the label with its matched letters, facts, the description."""
    spans: list[Span] = [Span("› " if is_selected else "  ", style("accent", bold=True))]
    if is_marked is not None:
        spans.append(Span("[x] " if is_marked else "[ ] ", style("success" if is_marked else "muted")))
    label: Line = _label(row.label, positions, is_selected=is_selected)
    if row.sign is not None:
        label = (Span(f"{row.sign.text} ", row.sign.style), *label)
    spans += cells.pad(cells.truncate(label, columns[0]), columns[0])
    for at, size in enumerate(columns[1:]):
        if size:
            fact = one_line(row.facts[at]) if at < len(row.facts) else ""
            shown = (Span(cells.truncate_text(fact, size), MUTED),)
            spans += (Span(" " * _GAP), *cells.pad(shown, size))
    left = width - cells.line_width(tuple(spans)) - _GAP
    if row.detail and left >= 8:
        cut = cells.truncate_path if row.is_path else cells.truncate_text
        spans.append(Span(" " * _GAP + cut(one_line(row.detail[:500]), left), MUTED))
    return _trimmed(cells.cut(tuple(spans), width))


def group_row(name: str, width: int) -> Line:
    """The name of a group above its items."""
    return cells.truncate((Span(one_line(name), style("heading", bold=True)),), width)


def _label(text: str, positions: tuple[int, ...], *, is_selected: bool) -> Line:
    places = set(positions)
    base, hit = style(bold=is_selected), style("accent", bold=True)
    return tuple(
        Span("".join(text[at] for at in run), hit if is_hit else base)
        for is_hit, run in groupby(range(len(text)), key=lambda at: at in places)
    )


def _trimmed(row: Line) -> Line:
    """Trailing blanks are of no use."""
    spans = list(row)
    while spans and not spans[-1].text.strip(" "):
        spans.pop()
    if spans and spans[-1].text.endswith(" "):
        spans[-1] = Span(spans[-1].text.rstrip(" "), spans[-1].style)
    return tuple(spans)
