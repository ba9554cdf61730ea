"""Lays out the blocks of Markdown: paragraphs, lists, quotes, tables, code."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from bridle.frontends.tui.render.code import code_line, highlight
from bridle.frontends.tui.render.inline import Token, inline_lines
from bridle.frontends.tui.render.layout import fit, paragraph, prefixed, row, style, wrap_all
from bridle.frontends.tui.render.tables import Align, Cell, Table, render_table
from bridle.frontends.tui.style import cells
from bridle.frontends.tui.style.text import PLAIN, Line, Span, Style

_BULLETS = ("•", "◦", "▪")
_TASK = re.compile(r"\[([ xX])\] ")
_FOOTNOTE = re.compile(r"^( {0,3})\[(\^[^\]\s]+)\]:", re.MULTILINE)
_LONGEST = 100_000
_LONGEST_LINE = 16_000
"""Marks in a longer line, or in a longer section, are not looked for: pairing them costs the square."""
_DEEPEST_INDENT = 0.5
"""Marks and indents never take more than this part of the window."""


class _Page(Struct, frozen=True, kw_only=True):
    """Where a block stands."""

    source: Sequence[str]
    width: int
    base: Style = PLAIN
    depth: int = 0
    """How many lists are around it."""
    number: int | None = None

    def inside(self, by: int) -> "_Page":
        """The page within a list or a quote whose mark takes some cells."""
        return replace(self, width=max(1, self.width - by), number=None)


def render_blocks(
    source: Sequence[str], width: int, *, references: dict[str, Any], number: int | None = None
) -> list[Line]:
    """Lay out some lines of Markdown; link definitions found in them are added to `references`."""
    text = "\n".join(source)
    if len(text) > _LONGEST or any(len(line) > _LONGEST_LINE for line in source):
        return paragraph(text, width)
    tokens: Sequence[Token] = _parser().parse(_FOOTNOTE.sub(r"\1\\[\2]:", text), {"references": references})
    page = _Page(source=source, width=max(1, width), number=number)
    return fit(_siblings(tokens, page), width)


def code_label(language: str) -> list[Line]:
    """What stands above a code block."""
    return [(Span(row(language), style("muted", italic=True)),)] if language else []


def code_rows(line: Line, width: int) -> list[Line]:
    """A line of code, broken where the window ends."""
    return cells.chop(line, max(1, width))


def _siblings(tokens: Sequence[Token], page: _Page) -> list[Line]:
    """Blocks one below the other, an empty line between them unless they belong together."""
    lines: list[Line] = []
    for token, inner in _children(tokens):
        block = _block(token, inner, page)
        if lines and block and _is_apart(token, page):
            lines.append(())
        lines += block
    return lines


def _is_apart(token: Token, page: _Page) -> bool:
    first = token.map[0] if token.map else 0
    has_gap = 0 < first <= len(page.source) and not page.source[first - 1].strip(" \t>")
    is_list = token.type in ("bullet_list_open", "ordered_list_open")
    return has_gap or not (is_list or page.depth)


def _block(token: Token, inner: Sequence[Token], page: _Page) -> list[Line]:
    match token.type:
        case "paragraph_open":
            return _inline(inner, page)
        case "heading_open":
            return _inline(inner, replace(page, base=_heading_style(token.markup)))
        case "bullet_list_open" | "ordered_list_open":
            return _list(token, inner, page)
        case "blockquote_open":
            return _quote(inner, page)
        case "fence" | "code_block":
            return _code(token, page)
        case "hr":
            return [(Span("─" * page.width, style("border")),)]
        case "table_open":
            return render_table(_table(inner, page), page.width)
        case _:
            return paragraph(token.content, page.width)


def _inline(tokens: Sequence[Token], page: _Page) -> list[Line]:
    children = tokens[0].children or [] if tokens else []
    return wrap_all(inline_lines(children, page.base), page.width)


def _heading_style(markup: str) -> Style:
    level = {"=": 1, "-": 2}.get(markup[:1], len(markup))
    return style("heading", bold=level < 4, underline=level == 1, italic=level >= 4)


def _list(token: Token, inner: Sequence[Token], page: _Page) -> list[Line]:
    start = int(token.attrGet("start") or 1) if token.type == "ordered_list_open" else None
    if start is not None and token.attrGet("start") == 0:
        start = 0
    if start is not None and page.number is not None:
        start = page.number
    lines: list[Line] = []
    for index, (item, content) in enumerate(_children(inner)):
        mark = _BULLETS[page.depth % len(_BULLETS)] if start is None else f"{start + index}."
        first = item.map[0] if item.map else 0
        if lines and first > 0 and not page.source[first - 1].strip(" \t>"):
            lines.append(())
        lines += _item(mark, content, page)
    return lines


def _item(mark: str, content: Sequence[Token], page: _Page) -> list[Line]:
    if task := _take_task(content):
        mark = "☑" if task in "xX" else "☐"
    size = cells.width(mark) + 1
    if size > page.width * _DEEPEST_INDENT:
        return _siblings(content, replace(page.inside(0), depth=page.depth + 1))
    rows = _siblings(content, replace(page.inside(size), depth=page.depth + 1)) or [()]
    color = "success" if task in ("x", "X") else "accent"
    return prefixed(rows, (Span(f"{mark} ", style(color)),), (Span(" " * size),))


def _take_task(content: Sequence[Token]) -> str | None:
    """The box of a task, taken out of its text."""
    inline = next((token for token in content[:2] if token.type == "inline"), None)
    first = inline.children[0] if inline and inline.children else None
    if first is None or first.type != "text" or not (box := _TASK.match(first.content + " ")):
        return None
    first.content = first.content[len(box[0]) :]
    return box[1]


def _quote(inner: Sequence[Token], page: _Page) -> list[Line]:
    bar = Span("▎ ", style("quote"))
    if page.width < 6:
        return _siblings(inner, page)
    base = style("quote", italic=True)
    rows = _siblings(inner, replace(page.inside(2), base=base))
    return prefixed(rows, (bar,), (bar,))


def _code(token: Token, page: _Page) -> list[Line]:
    language = token.info.strip().split()[0] if token.info.strip() else ""
    text = token.content.removesuffix("\n")
    shown = (
        highlight(text, language=language)
        if language
        else [code_line([(None, row(each))]) for each in text.split("\n")]
    )
    return [*code_label(language), *(each for line in shown for each in code_rows(line, page.width))]


def _table(inner: Sequence[Token], page: _Page) -> Table:
    rows: list[tuple[Cell, ...]] = []
    aligns: list[Align] = []
    for _, part in _children(inner):
        for _, cells_ in _children(part):
            row_cells: list[Cell] = []
            for cell, content in _children(cells_):
                children = content[0].children or [] if content else []
                row_cells.append(tuple(inline_lines(children, page.base)))
                if not rows:
                    aligns.append(_align(cell))
            rows.append(tuple(row_cells))
    return Table(header=rows[0] if rows else (), rows=tuple(rows[1:]), aligns=tuple(aligns))


def _align(cell: Token) -> Align:
    match str(cell.attrGet("style") or ""):
        case "text-align:right":
            return "right"
        case "text-align:center":
            return "center"
        case _:
            return "left"


def _children(tokens: Sequence[Token]) -> Iterator[tuple[Token, Sequence[Token]]]:
    """Each block with what it contains."""
    at = 0
    while at < len(tokens):
        token = tokens[at]
        if token.nesting != 1:
            yield token, (token,)
            at += 1
            continue
        end = next(
            i
            for i in range(at + 1, len(tokens))
            if tokens[i].nesting == -1 and tokens[i].level == token.level
        )
        yield token, tokens[at + 1 : end]
        at = end + 1


@lru_cache(maxsize=1)
def _parser() -> Any:
    from markdown_it import MarkdownIt

    options: Mapping[str, Any] = {"html": False}
    return MarkdownIt("commonmark", options).enable(["table", "strikethrough"])
