"""Source code in colors."""

from functools import lru_cache

from bridle.frontends.tui.render.layout import row, style
from bridle.frontends.tui.render.lexing import LineLexer, Piece, line_lexer
from bridle.frontends.tui.style.text import PLAIN, Line, Span

MOST_LINES = 5_000
"""Longer code is not highlighted, which would take too long."""
_MOST_REMEMBERED = 20_000
"""Larger blocks are not worth the memory."""


def highlight(text: str, *, language: str = "", path: str = "") -> tuple[Line, ...]:
    """One line per line of code, not wrapped; the language comes from its name or from a file's name."""
    if text.count("\n") >= MOST_LINES:
        return tuple(code_line([(None, each)]) for each in map(row, text.split("\n")))
    return _remembered(text, language, path) if len(text) <= _MOST_REMEMBERED else _read(text, language, path)


def code_line(pieces: list[Piece], *, known: bool = False) -> Line:
    """A line of what a lexer has found; code in no known language has a color of its own."""
    plain = PLAIN if known else style("code")
    return tuple(Span(text, style(color) if color else plain) for color, text in pieces if text)


def lexer_for(language: str = "", path: str = "") -> LineLexer:
    """What reads the lines of one block, in order."""
    return line_lexer(language, path)


@lru_cache(maxsize=16)
def _remembered(text: str, language: str, path: str) -> tuple[Line, ...]:
    return _read(text, language, path)


def _read(text: str, language: str, path: str) -> tuple[Line, ...]:
    lexer = line_lexer(language, path)
    return tuple(code_line(lexer.pieces(row(each)), known=lexer.knows) for each in text.split("\n"))
