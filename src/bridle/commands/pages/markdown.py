"""Markdown as HTML: what is HTML in it stays text, and images of other places are links."""

from typing import Any

from bridle.commands.pages.code import code_block
from bridle.commands.pages.html import Html, el, shown, text


def markdown_html(markdown: str) -> Html:
    """A text in Markdown, rendered."""
    return Html(_renderer().render(shown(markdown)))


def _renderer() -> Any:
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark", {"html": False, "linkify": False, "typographer": False})
    reader.enable(["table", "strikethrough"])
    renderer: Any = reader.renderer
    rules: dict[str, Any] = {
        "fence": _fence,
        "code_block": _fence,
        "image": _image,
        "link_open": _link,
        "table_open": _table_open,
        "table_close": _table_close,
    }
    renderer.rules.update(rules)
    return reader


def _fence(tokens: Any, at: int, *_: Any) -> str:
    language = tokens[at].info.split()
    return code_block(tokens[at].content, language[0] if language else "")


def _image(tokens: Any, at: int, *_: Any) -> str:
    """Nothing is fetched when a page is opened: an image elsewhere is a link to it."""
    address = str(tokens[at].attrs.get("src", ""))
    return el("a", tokens[at].content or address, href=address, rel="noreferrer noopener")


def _link(tokens: Any, at: int, *_: Any) -> str:
    address = str(tokens[at].attrs.get("href", ""))
    return f'<a href="{text(address)}" rel="noreferrer noopener">'


def _table_open(*_: Any) -> str:
    return '<div class="scroll"><table>'


def _table_close(*_: Any) -> str:
    return "</table></div>"
