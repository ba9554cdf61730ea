"""The list of completions below the input."""

from collections.abc import Sequence
from itertools import groupby

from msgspec.structs import replace

from bridle.frontends.tui.completion.completion import Completion
from bridle.frontends.tui.render.layout import MUTED, fit, one_line, row, style
from bridle.frontends.tui.style import cells
from bridle.frontends.tui.style.text import Line, Span

_LABEL_SHARE = 0.5


def completion_menu(items: Sequence[Completion], selected: int, width: int, *, rows: int = 8) -> list[Line]:
    """A window of rows around the selected one, with the matched letters marked."""
    if not items:
        return []
    rows = max(1, rows)
    first = min(max(0, selected - rows // 2), max(0, len(items) - rows))
    shown = items[first : first + rows]
    column = width
    if any(each.detail for each in shown):
        most = max(10, int(width * _LABEL_SHARE))
        shown = [_shortened(each, most) for each in shown]
        column = min(max(cells.width(row(each.label)) for each in shown), most)
    return fit(
        (
            _item(each, width, column=column, is_selected=first + at == selected)
            for at, each in enumerate(shown)
        ),
        width,
    )


def _shortened(item: Completion, most: int) -> Completion:
    """What a command takes is left out where there is no room to read it."""
    if item.kind != "command" or cells.width(row(item.label)) <= most:
        return item
    return replace(item, label=item.label.partition(" ")[0])


def _item(item: Completion, width: int, *, column: int, is_selected: bool) -> Line:
    mark = Span("› " if is_selected else "  ", style("accent", bold=True))
    label = cells.truncate(_marked(item, is_selected=is_selected), max(1, min(column, width - 2)))
    if not item.detail:
        return cells.truncate((mark, *label), width)
    line = (mark, *cells.pad(label, column), Span(f"  {one_line(item.detail)}", MUTED))
    return cells.truncate(line, width)


def _marked(item: Completion, *, is_selected: bool) -> Line:
    """The label with its matched letters in the accent color."""
    text = row(item.label)
    places = set(item.positions) if len(text) == len(item.label) else set[int]()
    base, hit = style(bold=is_selected), style("accent", bold=True)
    return tuple(
        Span("".join(text[at] for at in run), hit if is_hit else base)
        for is_hit, run in groupby(range(len(text)), key=lambda at: at in places)
    )
