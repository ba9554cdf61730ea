"""Words that every summary of the conversation keeps."""

from msgspec import Struct

from bridle.frontends.tui.render.layout import paragraph, style
from bridle.frontends.tui.style.text import Line, Span
from bridle.frontends.tui.widgets.list_pane import Command, ListPane
from bridle.frontends.tui.widgets.page import heading
from bridle.frontends.tui.widgets.pane import Do, nothing
from bridle.frontends.tui.widgets.picker import Item
from bridle.frontends.tui.widgets.tabs import TabbedView
from bridle.types.ledger import Ledger, Pin

_GROUPS = {"user": "Pinned by you", "found": "Found in your prompts"}


class AddPin(Struct, frozen=True):
    text: str


class RemovePin(Struct, frozen=True):
    id: str


def pins_view(ledger: Ledger, *, do: Do = nothing) -> TabbedView[Ledger]:
    """Every pin; new ones are typed, old ones removed."""
    pane: ListPane[Pin] = ListPane(
        _items(ledger),
        details=_details,
        do=do,
        intro=lambda width: [*paragraph("Every summary of the conversation keeps these words.", width), ()],
        empty="nothing is pinned; press a to pin text",
        commands=(
            Command(
                key="a",
                words="add a pin",
                ask="Text to keep",
                check=lambda _, text: "" if text else "type the text to keep",
                act=lambda _, given: AddPin(given.text),
                alone=True,
            ),
            Command(
                key="d",
                words="remove",
                confirm="Unpin this?",
                act=lambda pin, _: RemovePin(pin.id) if pin else None,
            ),
        ),
    )
    return TabbedView("Pins", [("", pane)], update=lambda now: pane.replace(_items(now)))


def _items(ledger: Ledger) -> list[Item[Pin]]:
    return [
        Item(value=pin, label=pin.text, group=_GROUPS[pin.origin], sign=Span("●", style("accent")))
        for pin in sorted(ledger.pins, key=lambda each: each.origin == "found")
    ]


def _details(pin: Pin, width: int) -> list[Line]:
    return [heading(_GROUPS[pin.origin]), (), *paragraph(pin.text, width)]
