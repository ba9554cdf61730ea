"""Text inside a block of Markdown: emphasis, links, code."""

import re
from collections.abc import Sequence
from typing import Any, Protocol

from msgspec import Struct

from bridle.frontends.tui.render.layout import MUTED, row, style
from bridle.frontends.tui.style.text import Line, Span, Style

_ADDRESS = re.compile(r"https?://[^\s<>\"'`]+[^\s<>\"'`.,;:!?)\]}*_]")
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_SCHEMES = ("http://", "https://", "mailto:", "file://")


class Token(Protocol):
    """The part of a Markdown token that is used here."""

    type: str
    content: str
    nesting: int
    level: int
    info: str
    markup: str
    hidden: bool
    map: list[int] | None
    children: "list[Any] | None"

    def attrGet(self, name: str) -> str | int | float | None: ...


class _Look(Struct):
    """What is open at one place of the text."""

    base: Style
    bold: int = 0
    italic: int = 0
    strike: int = 0
    link: str | None = None
    link_text: str = ""

    def style(self, color: str | None = None) -> Style:
        return style(
            color or self.base.color,
            bold=self.base.bold or self.bold > 0,
            italic=self.base.italic or self.italic > 0,
            underline=self.base.underline or self.link is not None,
            strike=self.strike > 0,
            link=self.link if self.link and self.link.startswith(_SCHEMES) else None,
        )


def inline_lines(tokens: Sequence[Token], base: Style) -> list[Line]:
    """The text as logical lines: line breaks of the source are kept."""
    look = _Look(base)
    lines: list[list[Span]] = [[]]
    for token in tokens:
        match token.type:
            case "softbreak" | "hardbreak":
                lines.append([])
            case "strong_open" | "strong_close":
                look.bold += token.nesting
            case "em_open" | "em_close":
                look.italic += token.nesting
            case "s_open" | "s_close":
                look.strike += token.nesting
            case "link_open":
                look.link, look.link_text = row(str(token.attrGet("href") or "")), ""
            case "link_close":
                _end_link(look, lines[-1])
            case "code_inline":
                text = row(token.content)
                look.link_text += text
                lines[-1].append(Span(text, look.style("code")))
            case "image":
                _add_image(token, look, lines[-1])
            case _:
                _add_text(token.content, look, lines)
    return [tuple(each) for each in lines]


def _end_link(look: _Look, line: list[Span]) -> None:
    address, text = look.link or "", look.link_text
    look.link = None
    bare = address.removeprefix("mailto:")
    if bare and text.strip() not in (address, bare, bare.partition("://")[2].rstrip("/")):
        line.append(Span(f" ({bare})", MUTED))


def _add_image(token: Token, look: _Look, line: list[Span]) -> None:
    address = row(str(token.attrGet("src") or ""))
    shown = f"[image: {row(token.content) or address}]"
    look.link_text += shown
    link = address if address.startswith(_SCHEMES) else None
    line.append(Span(shown, style("link", link=link)))


def _add_text(text: str, look: _Look, lines: list[list[Span]]) -> None:
    for index, part in enumerate(_BREAK.split(text) if "<" in text else (text,)):
        if index:
            lines.append([])
        shown = row(part)
        if look.link is not None:
            look.link_text += shown
            if shown:
                lines[-1].append(Span(shown, look.style("link")))
        else:
            _add_addresses(shown, look, lines[-1])


def _add_addresses(text: str, look: _Look, line: list[Span]) -> None:
    at = 0
    if "://" in text:
        for found in _ADDRESS.finditer(text):
            if found.start() > at:
                line.append(Span(text[at : found.start()], look.style()))
            line.append(Span(found[0], style("link", underline=True, link=found[0])))
            at = found.end()
    if at < len(text):
        line.append(Span(text[at:], look.style()))
