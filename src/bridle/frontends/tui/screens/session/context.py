"""A picture of the context window and of what fills it."""

from collections.abc import Sequence

from msgspec import Struct

from bridle.frontends.tui.render.call import tokens
from bridle.frontends.tui.render.charts import Category, context_picture
from bridle.frontends.tui.render.layout import MUTED, paragraph
from bridle.frontends.tui.style.text import Line
from bridle.frontends.tui.widgets.list_pane import Command, ListPane
from bridle.frontends.tui.widgets.page import heading, pair
from bridle.frontends.tui.widgets.pane import Do, nothing
from bridle.frontends.tui.widgets.picker import Item
from bridle.frontends.tui.widgets.tabs import TabbedView

_NARROW = 60


class ContextItem(Struct, frozen=True, kw_only=True):
    """Something that takes space: a tool, a file, a message."""

    group: str
    name: str
    tokens: int
    note: str = ""


class ContextUse(Struct, frozen=True, kw_only=True):
    model: str
    window: int
    categories: tuple[Category, ...]
    items: tuple[ContextItem, ...] = ()
    compact_at: int | None = None
    """Tokens at which the conversation is summarised automatically."""
    note: str = ""


def context_view(
    use: ContextUse, *, do: Do = nothing, commands: Sequence[Command[ContextItem]] = ()
) -> TabbedView[ContextUse]:
    """The window as squares, and below it the largest things in each category."""
    shown = use

    def intro(width: int) -> list[Line]:
        return [*context_lines(shown, width), ()]

    pane = ListPane(
        _items(use), details=_details, do=do, intro=intro, commands=commands, empty="nothing to list"
    )
    sheet: TabbedView[ContextUse] = TabbedView("Context", [("", pane)], aside=_aside(use))

    def update(now: ContextUse) -> None:
        nonlocal shown
        shown = now
        sheet.aside = _aside(now)
        pane.replace(_items(now))

    sheet.on_update(update)
    return sheet


def context_lines(use: ContextUse, width: int) -> list[Line]:
    """The picture alone, as it is also printed."""
    rows = context_picture(use.categories, use.window, width, rows=3 if width < _NARROW else 8)
    if use.compact_at:
        rows += paragraph(f"summed up automatically at {tokens(use.compact_at)}", width, MUTED)
    return [*rows, *(paragraph(use.note, width, MUTED) if use.note else [])]


def _aside(use: ContextUse) -> str:
    used = sum(max(0, each.tokens) for each in use.categories)
    share = f" ({used / use.window:.0%})" if use.window else ""
    return f"{use.model} · {tokens(used)}{share}"


def _items(use: ContextUse) -> list[Item[ContextItem]]:
    groups = list(dict.fromkeys(each.group for each in use.items))
    ordered = sorted(use.items, key=lambda each: (groups.index(each.group), -each.tokens))
    return [
        Item(value=each, label=each.name, facts=(tokens(each.tokens),), detail=each.note, group=each.group)
        for each in ordered
    ]


def _details(item: ContextItem, width: int) -> list[Line]:
    rows = [heading(item.name), *pair("part of", item.group, width, column=10)]
    rows += pair("takes", tokens(item.tokens), width, column=10)
    return [*rows, *([(), *paragraph(item.note, width)] if item.note else [])]
