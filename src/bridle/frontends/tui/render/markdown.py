"""Markdown as it arrives: what is certain is laid out once, only the rest again."""

from collections.abc import Iterable, Sequence
from typing import Any

from bridle.frontends.tui.render.blocks import code_label, code_rows, render_blocks
from bridle.frontends.tui.render.code import MOST_LINES, code_line, lexer_for
from bridle.frontends.tui.render.layout import TAB, fit, paragraph
from bridle.frontends.tui.render.lexing import LineLexer, Piece
from bridle.frontends.tui.render.sections import (
    FenceClosed,
    FenceLine,
    FenceOpened,
    Kind,
    Part,
    Section,
    Sections,
)
from bridle.frontends.tui.style.sanitize import clean
from bridle.frontends.tui.style.text import Line

_MOST_OPEN = 16_000
"""More than this is not laid out again with every piece that arrives."""
_UNDECIDED = frozenset("-=*_#`~+>|.)0123456789 \t")


def render_markdown(text: str, width: int) -> list[Line]:
    """A whole text; the same lines as when it had come in pieces."""
    stream = MarkdownStream(width)
    return [*stream.feed(text), *stream.finish()]


class MarkdownStream:
    """Takes text in pieces of any size and gives the lines that no later piece can change."""

    def __init__(self, width: int, *, whole_code: bool = False) -> None:
        """`whole_code` leaves long lines of code to the terminal to break, so that they are copied whole."""
        self._width = max(1, width)
        self._whole_code = whole_code
        self._sections = Sections()
        self._rest: list[str] = []
        """Pieces of the line that has not ended yet."""
        self._references: dict[str, Any] = {}
        self._last: Kind | None = None
        """What the last finished lines are; None before there are any."""
        self._lexer: LineLexer | None = None
        self._fenced = 0
        self._open: tuple[tuple[int, int], list[Line]] | None = None
        self._fed = 0

    def feed(self, text: str) -> list[Line]:
        """Take a piece; returns the lines that are final now and were not before."""
        self._fed += 1
        if "\n" not in text:
            self._rest += (text,) if text else ()
            return []
        first, *others = text.split("\n")
        ended = ["".join((*self._rest, first)), *others[:-1]]
        self._rest = [others[-1]] if others[-1] else []
        return self._take(ended)

    def resize(self, width: int) -> None:
        """Lay out what follows for another width."""
        self._width = max(1, width)

    def finish(self) -> list[Line]:
        """The lines that were still open; nothing follows them."""
        rest, self._rest = "".join(self._rest), []
        lines = self._take([rest]) if rest else []
        return [*lines, *self._lay_out(self._sections.finish())]

    def open_lines(self) -> list[Line]:
        """The lines that may still change, as they would look if nothing followed."""
        if self._open is None or self._open[0] != (self._fed, self._width):
            self._open = ((self._fed, self._width), self._open_lines())
        return self._open[1]

    def _take(self, ended: Iterable[str]) -> list[Line]:
        lines: list[Line] = []
        for raw in ended:
            for each in clean(raw, tab=TAB).split("\n"):
                lines += self._lay_out(self._sections.take(each))
        return lines

    def _lay_out(self, parts: Iterable[Part]) -> list[Line]:
        lines: list[Line] = []
        for part in parts:
            match part:
                case Section():
                    lines += fit(self._section(part), self._width)
                case FenceOpened():
                    label = fit(code_label(part.language), self._width)
                    lines += [*self._gap("code", spaced=True), *label]
                    self._lexer, self._fenced, self._last = lexer_for(part.language), 0, "code"
                case FenceLine():
                    lines += self._code_line(part.text)
                case FenceClosed():
                    self._lexer = None
        return lines

    def _section(self, section: Section) -> list[Line]:
        rows = render_blocks(section.lines, self._width, references=self._references, number=section.number)
        if not rows:
            return []
        gap = self._gap(section.kind, spaced=section.spaced)
        self._last = section.kind
        return [*gap, *rows]

    def _gap(self, kind: Kind, *, spaced: bool) -> list[Line]:
        """Items stay together, and with the text that announces them, when they do in the source."""
        if self._last is None:
            return []
        is_close = kind == "item" and self._last in ("item", "text") and not spaced
        return [] if is_close else [()]

    def _code_line(self, text: str) -> list[Line]:
        assert self._lexer is not None
        self._fenced += 1
        is_plain = self._fenced > MOST_LINES
        pieces: list[Piece] = [(None, text)] if is_plain else self._lexer.pieces(text)
        line = code_line(pieces, known=self._lexer.knows and not is_plain)
        return [line] if self._whole_code else code_rows(line, self._width)

    def _open_lines(self) -> list[Line]:
        rest = clean("".join(_last_of(self._rest, gap=0))[-_MOST_OPEN - 1 :], tab=TAB)
        if self._sections.fence_open:
            if self._lexer is None or not rest or not rest.strip(" `~"):
                return []
            return code_rows(
                code_line(self._lexer.peek(rest.replace("\n", " ")), known=self._lexer.knows), self._width
            )
        shown = [] if _UNDECIDED.issuperset(rest) else [_mended(rest)]
        has_open = bool(self._sections.open_lines)
        source = [*_last_of(self._sections.open_lines, gap=1), *shown]
        if not source:
            return []
        if sum(map(len, source)) > _MOST_OPEN or len(source) - len(shown) < len(self._sections.open_lines):
            return paragraph("\n".join(source)[-_MOST_OPEN // 4 :], self._width)
        rows = render_blocks(
            source,
            self._width,
            references=dict(self._references),
            number=self._sections.open_number if has_open else None,
        )
        if not rows:
            return []
        kind = self._sections.kind if has_open else "text"
        spaced = self._sections.spaced if has_open else self._sections.blank
        return fit([*self._gap(kind, spaced=spaced), *rows], self._width)


def _last_of(texts: Sequence[str], *, gap: int) -> list[str]:
    """The last texts of a list, as many as are looked at; `gap` is what stands between them."""
    size, first = 0, len(texts)
    while first and size <= _MOST_OPEN:
        first -= 1
        size += len(texts[first]) + gap
    return list(texts[first:])


def _mended(line: str) -> str:
    """A line that is cut off, with what it opened closed, so that marks do not flash up."""
    if line.count("`") % 2:
        return line + "`"
    if line.count("**") % 2:
        return line.rstrip("* ") + "**" if line.rstrip("* ") else line
    return line
