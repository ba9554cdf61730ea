"""A picture of the context window and of what fills it."""

from collections.abc import Sequence

from bridle.commands.queries.context_window import Breakdown, Category
from bridle.commands.queries.context_window import Item as Part
from bridle.frontends.tui.render.call import tokens
from bridle.frontends.tui.render.charts import context_picture
from bridle.frontends.tui.render.layout import MUTED, paragraph
from bridle.frontends.tui.style.text import Line
from bridle.frontends.tui.widgets.list_pane import Command, ListPane
from bridle.frontends.tui.widgets.page import heading, pair
from bridle.frontends.tui.widgets.pane import Do, nothing
from bridle.frontends.tui.widgets.picker import Item
from bridle.frontends.tui.widgets.tabs import TabbedView

_NARROW = 60
_ESTIMATED = "These numbers are estimates until the first answer."

Row = tuple[Category, Part]
"""Something that takes space, with what it is a part of."""


def context_view(
    use: Breakdown, *, do: Do = nothing, commands: Sequence[Command[Row]] = ()
) -> TabbedView[Breakdown]:
    """The window as squares, and below it the largest things in each category."""
    shown = use

    def intro(width: int) -> list[Line]:
        return [*context_lines(shown, width), ()]

    pane = ListPane(
        _items(use), details=_details, do=do, intro=intro, commands=commands, empty="nothing to list"
    )
    sheet: TabbedView[Breakdown] = TabbedView("Context", [("", pane)], aside=_aside(use))

    def update(now: Breakdown) -> None:
        nonlocal shown
        shown = now
        sheet.aside = _aside(now)
        pane.replace(_items(now))

    sheet.on_update(update)
    return sheet


def context_lines(use: Breakdown, width: int) -> list[Line]:
    """The picture alone, as it is also printed."""
    rows = context_picture(use.categories, use.size, width, rows=3 if width < _NARROW else 8)
    if use.automatic and use.compact_at:
        rows += paragraph(f"auto-compacts at {tokens(use.compact_at)}", width, MUTED)
    return rows if use.counted else [*rows, *paragraph(_ESTIMATED, width, MUTED)]


def _aside(use: Breakdown) -> str:
    used = sum(max(0, each.tokens) for each in use.categories)
    share = f" ({used / use.size:.0%})" if use.size else ""
    return f"{use.model} · {tokens(used)}{share}"


def _items(use: Breakdown) -> list[Item[Row]]:
    return [
        Item(
            value=(category, part),
            label=part.name,
            facts=(tokens(part.tokens),),
            detail=part.note,
            group=category.name,
        )
        for category in use.categories
        for part in sorted(category.items, key=lambda each: -each.tokens)
    ]


def _details(row: Row, width: int) -> list[Line]:
    category, part = row
    rows = [heading(part.name), *pair("part of", category.name, width, column=10)]
    rows += pair("takes", tokens(part.tokens), width, column=10)
    return [*rows, *([(), *paragraph(part.note, width)] if part.note else [])]
