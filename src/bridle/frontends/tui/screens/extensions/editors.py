"""The editors that run on this machine, and the one that the session is connected to."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from bridle.commands.editors import state_text
from bridle.features.editors.choice import ConnectionState
from bridle.features.editors.connector import EditorRow
from bridle.frontends.tui.render.layout import paragraph, style
from bridle.frontends.tui.style.text import Line, Span
from bridle.frontends.tui.widgets.list_pane import Command, ListPane
from bridle.frontends.tui.widgets.page import heading, pair
from bridle.frontends.tui.widgets.pane import Do, nothing
from bridle.frontends.tui.widgets.picker import Item
from bridle.frontends.tui.widgets.tabs import TabbedView

_SIGNS: Mapping[ConnectionState, tuple[str, str]] = {
    "connected": ("✓", "success"),
    "connecting": ("○", "muted"),
    "waiting": ("!", "warning"),
    "off": ("–", "muted"),
}


class LinkEditor(Struct, frozen=True):
    port: int


class UnlinkEditor(Struct, frozen=True):
    """Disconnect from the editor."""


def editors_view(rows: Sequence[EditorRow], *, do: Do = nothing) -> TabbedView[Sequence[EditorRow]]:
    """Every editor with its folders; enter connects to one, and d disconnects."""
    pane = ListPane(
        _items(rows),
        details=_details,
        do=do,
        empty="no editor found; /docs editors lists plugins",
        accept=(
            Command(
                key="enter",
                words="connect",
                when=lambda row: row.state != "connected",
                act=lambda row, _: LinkEditor(row.editor.port) if row else None,
            ),
        ),
        commands=(
            Command(
                key="d",
                words="disconnect",
                when=lambda row: row.state != "off",
                act=lambda row, _: UnlinkEditor() if row else None,
            ),
        ),
    )
    return TabbedView("Editors", [("", pane)], update=lambda now: pane.replace(_items(now)), refresh=1.0)


def _items(rows: Sequence[EditorRow]) -> list[Item[EditorRow]]:
    return [_item(row) for row in rows]


def _item(row: EditorRow) -> Item[EditorRow]:
    sign, color = _SIGNS[row.state]
    return Item(
        value=row,
        label=row.editor.name,
        facts=("not connected" if row.problem else state_text(row),),
        detail=row.problem,
        group="With this folder open" if row.editor.fits else "In other folders",
        sign=Span(sign, style(color)),
    )


def _details(row: EditorRow, width: int) -> list[Line]:
    editor = row.editor
    rows = [heading(editor.name), *pair("state", state_text(row), width, column=10)]
    rows += pair("reached", editor.url, width, column=10)
    for folder in editor.folders:
        rows += pair("folder", folder, width, column=10)
    if row.problem:
        rows += [(), *paragraph(row.problem, width, style("error"))]
    return rows
