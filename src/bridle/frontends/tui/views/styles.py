"""Chooses how the model answers."""

from collections.abc import Sequence

from msgspec import Struct

from bridle.frontends.tui.render.layout import paragraph, style
from bridle.frontends.tui.text import Line, Span
from bridle.frontends.tui.views.list_pane import Command, ListPane
from bridle.frontends.tui.views.page import heading
from bridle.frontends.tui.views.picker import Item
from bridle.frontends.tui.views.sheet import Sheet


class StyleRow(Struct, frozen=True, kw_only=True):
    """An output style."""

    name: str
    description: str = ""
    source: str = ""
    text: str = ""


class ChooseStyle(Struct, frozen=True):
    name: str


def styles_view(styles: Sequence[StyleRow], *, current: str) -> Sheet[None]:
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
    return Sheet("Output style", [("", pane)], full=False)


def _details(row: StyleRow, width: int) -> list[Line]:
    return [heading(row.name), *paragraph(row.description, width), (), *paragraph(row.text, width)]
