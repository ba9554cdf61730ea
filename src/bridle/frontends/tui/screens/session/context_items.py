"""Single things in the conversation: what each costs, and keys to take them out or to hold them."""

from collections.abc import Callable, Sequence

from msgspec import Struct

from bridle.context.context_items import Item as ContextItem
from bridle.frontends.tui.render.call import tokens
from bridle.frontends.tui.render.layout import MUTED, count, paragraph, style
from bridle.frontends.tui.style.text import Line, Span
from bridle.frontends.tui.widgets.list_pane import Command, ListPane
from bridle.frontends.tui.widgets.page import heading, pair
from bridle.frontends.tui.widgets.pane import Do, nothing
from bridle.frontends.tui.widgets.picker import Item
from bridle.frontends.tui.widgets.tabs import TabbedView

_HELD = Span("●", style("accent"))
_FREE = Span(" ", MUTED)


class StubItem(Struct, frozen=True):
    """Leave only a note of a result."""

    id: str


class DropItem(Struct, frozen=True):
    """Take something out altogether."""

    id: str


class HoldItem(Struct, frozen=True):
    """Never clear this, or let it be cleared again."""

    id: str
    on: bool


Items = Sequence[ContextItem]


def items_view(items: Items, *, read: Callable[[ContextItem], str], do: Do = nothing) -> TabbedView[Items]:
    """Everything that the next request carries, the costliest first; `read` gives the words of one."""
    pane: ListPane[ContextItem] = ListPane(
        _items(items),
        details=lambda item, width: _details(item, read(item), width),
        do=do,
        empty="the conversation is empty",
        commands=(
            Command(
                key="s",
                words="stub",
                when=lambda item: item.kind == "result" and not item.pinned,
                act=lambda item, _: StubItem(item.id) if item else None,
            ),
            Command(
                key="d",
                words="drop",
                confirm="Remove this from the context? A call is removed with its result.",
                when=lambda item: not item.pinned,
                act=lambda item, _: DropItem(item.id) if item else None,
            ),
            Command(
                key="p",
                words="pin or unpin",
                act=lambda item, _: HoldItem(item.id, not item.pinned) if item else None,
            ),
        ),
    )
    sheet: TabbedView[Items] = TabbedView("Items", [("", pane)], aside=_aside(items))

    def update(now: Items) -> None:
        sheet.aside = _aside(now)
        pane.replace(_items(now))

    sheet.on_update(update)
    return sheet


def _aside(items: Items) -> str:
    return f"{count(len(items), 'item')} · {tokens(sum(item.tokens for item in items))}"


def _items(items: Items) -> list[Item[ContextItem]]:
    return [
        Item(
            value=item,
            label=item.title or item.kind,
            facts=(item.kind, tokens(item.tokens)),
            words=item.id,
            sign=_HELD if item.pinned else _FREE,
        )
        for item in sorted(items, key=lambda each: -each.tokens)
    ]


def _details(item: ContextItem, words: str, width: int) -> list[Line]:
    rows = [heading(item.title or item.kind), *pair("kind", item.kind, width, column=8)]
    rows += pair("takes", tokens(item.tokens), width, column=8)
    rows += pair("id", item.id, width, column=8)
    rows += pair("pinned", "yes, never cleared", width, column=8) if item.pinned else []
    return [*rows, *([(), *paragraph(words, width)] if words else [])]
