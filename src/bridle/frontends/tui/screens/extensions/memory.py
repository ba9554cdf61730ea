"""The memory screen: instruction files and automatic notes."""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from bridle.commands.queries.memory_files import MemoryFile
from bridle.frontends.tui.render.call import tokens
from bridle.frontends.tui.render.layout import homely, paragraph, style
from bridle.frontends.tui.screens.actions import EditFile
from bridle.frontends.tui.style.text import Line, Span
from bridle.frontends.tui.widgets.list_pane import Command, ListPane
from bridle.frontends.tui.widgets.page import heading, pair
from bridle.frontends.tui.widgets.pane import Do, nothing
from bridle.frontends.tui.widgets.picker import Item
from bridle.frontends.tui.widgets.tabs import TabbedView

_MOST_SHOWN = 8_000


class Memory(Struct, frozen=True, kw_only=True):
    files: tuple[MemoryFile, ...] = ()
    automatic: bool | None = None
    """Whether notes are taken automatically; None where that is not available."""
    folder: str = ""
    """Where those notes are."""


class SetAutoMemory(Struct, frozen=True):
    on: bool


class _Switch(Struct, frozen=True):
    on: bool


_Row = MemoryFile | _Switch


def memory_view(data: Memory, *, do: Do = nothing) -> TabbedView[Memory]:
    """The files, opened in the editor with enter, and the switch for automatic notes."""
    pane: ListPane[_Row] = ListPane(
        _items(data),
        details=_details,
        do=do,
        empty="no memory files",
        accept=(Command(key="enter", words="open or switch", act=lambda row, _: _wanted(row)),),
    )
    return TabbedView("Memory", [("", pane)], update=lambda now: pane.replace(_items(now)))


def _wanted(row: _Row | None) -> Any:
    match row:
        case _Switch(on):
            return SetAutoMemory(not on)
        case MemoryFile():
            return EditFile(row.path)
        case None:
            return None


def _items(data: Memory) -> Sequence[Item[_Row]]:
    items: list[Item[_Row]] = [
        Item(
            value=row,
            label=row.name,
            facts=(tokens(row.tokens) if row.exists else "not created yet",),
            detail=homely(row.path),
            is_path=True,
            group=row.group,
        )
        for row in data.files
    ]
    if data.automatic is not None:
        sign = Span("✓" if data.automatic else "–", style("success" if data.automatic else "muted"))
        items.append(
            Item(
                value=_Switch(data.automatic),
                label="automatic notes",
                facts=("on" if data.automatic else "off",),
                detail=homely(data.folder),
                is_path=True,
                group="Automatic memory",
                sign=sign,
            )
        )
    return items


def _details(row: _Row, width: int) -> list[Line]:
    if isinstance(row, _Switch):
        return paragraph("Saves facts for later sessions.", width)
    rows = [heading(row.name), *pair("file", row.path, width, column=8)]
    if not row.exists:
        return [*rows, (), *paragraph("Created when you open it.", width)]
    return [*rows, (), *paragraph(row.text[:_MOST_SHOWN], width)]
