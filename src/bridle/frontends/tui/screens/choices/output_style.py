"""Chooses how the model answers."""

from collections.abc import Sequence

from msgspec import Struct

from bridle.frontends.tui.render.layout import paragraph, style
from bridle.frontends.tui.style.text import Line, Span
from bridle.frontends.tui.widgets.list_pane import Command, ListPane
from bridle.frontends.tui.widgets.page import heading
from bridle.frontends.tui.widgets.picker import Item
from bridle.frontends.tui.widgets.tabs import TabbedView


class StyleRow(Struct, frozen=True, kw_only=True):
    """An output style."""

    name: str
    description: str = ""
    source: str = ""
    text: str = ""


class ChooseStyle(Struct, frozen=True):
    name: str


def styles_view(styles: Sequence[StyleRow], *, current: str) -> TabbedView[None]:
    """The output styles; enter takes one for this project."""
    use: Command[StyleRow] = Command(
        key="enter", words="use", closes=True, act=lambda row, _: ChooseStyle(row.name) if row else None
    )
    at = next((index for index, row in enumerate(styles) if row.name == current), 0)
    items = [
        Item(
            value=row,
            label=row.name,
            facts=(row.source,),
            detail=row.description,
            sign=Span("✓" if row.name == current else " ", style("success")),
        )
        for row in styles
    ]
    pane = ListPane(items, details=_details, accept=(use,), selected=at)
    return TabbedView("Output style", [("", pane)], full=False)


def _details(row: StyleRow, width: int) -> list[Line]:
    return [heading(row.name), *paragraph(row.description, width), (), *paragraph(row.text, width)]
