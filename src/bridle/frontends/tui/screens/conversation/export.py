"""Takes text out of the conversation: to the clipboard or into a file."""

import re
from collections.abc import Sequence

from msgspec import Struct

from bridle.frontends.tui.render.layout import count, paragraph
from bridle.frontends.tui.render.markdown import render_markdown
from bridle.frontends.tui.screens.actions import CopyText, SaveText
from bridle.frontends.tui.style.text import Line
from bridle.frontends.tui.widgets.list_pane import Command, ListPane
from bridle.frontends.tui.widgets.picker import Item
from bridle.frontends.tui.widgets.tabs import TabbedView

_FENCE = re.compile(
    r"^(?P<fence>`{3,}|~{3,})(?P<name>[^\n`]*)\n(?P<code>.*?)^(?P=fence)[ \t]*$", re.MULTILINE | re.DOTALL
)
_MOST_REPLIES = 50


class _Part(Struct, frozen=True):
    text: str
    is_code: bool = False


def copy_view(replies: Sequence[str]) -> TabbedView[None]:
    """The newest reply and its pieces of code, then older replies; enter copies, `w` writes a file.

    `replies` are newest first.
    """
    pane: ListPane[_Part] = ListPane(
        [item for at, text in enumerate(replies[:_MOST_REPLIES]) for item in _items(text, at)],
        details=_details,
        empty="nothing to copy yet",
        accept=(
            Command(
                key="enter",
                words="copy",
                closes=True,
                act=lambda part, _: CopyText(part.text) if part else None,
            ),
        ),
        commands=(
            Command(
                key="w",
                words="write to a file",
                ask="File",
                initial=lambda part: "code.txt" if part.is_code else "reply.md",
                check=lambda _, text: "" if text else "type a file name",
                closes=True,
                act=lambda part, given: SaveText(part.text, given.text) if part else None,
            ),
        ),
    )
    return TabbedView("Copy", [("", pane)], full=False)


def export_view(text: str, *, file: str) -> TabbedView[None]:
    """The conversation as plain text, to the clipboard or into a file."""
    size = count(text.count("\n") + 1, "line")
    pane: ListPane[str] = ListPane(
        [
            Item(value="clipboard", label="copy to the clipboard", detail=size),
            Item(value="file", label="write to a file", detail=file),
        ],
        accept=(
            Command(
                key="enter",
                words="copy",
                closes=True,
                when=lambda where: where == "clipboard",
                act=lambda _, __: CopyText(text),
            ),
            Command(
                key="enter",
                words="file name",
                closes=True,
                ask="File",
                initial=lambda _: file,
                check=lambda _, name: "" if name else "type a file name",
                act=lambda _, given: SaveText(text, given.text),
            ),
        ),
    )
    return TabbedView("Export the conversation", [("", pane)], full=False)


def _items(reply: str, at: int) -> list[Item[_Part]]:
    words = "the last reply" if at == 0 else f"{at + 1} replies back"
    first = reply.strip().partition("\n")[0]
    items = [Item(value=_Part(reply), label=words, detail=first)]
    if at == 0:
        for found in _FENCE.finditer(reply):
            name = found["name"].strip() or "code"
            code = found["code"]
            lines = count(code.count("\n"), "line")
            detail = code.strip().partition("\n")[0]
            items.append(Item(value=_Part(code, is_code=True), label=name, facts=(lines,), detail=detail))
    return items


def _details(part: _Part, width: int) -> list[Line]:
    return paragraph(part.text, width) if part.is_code else render_markdown(part.text, width)
