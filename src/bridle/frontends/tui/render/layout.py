"""Small steps that every renderer takes: clean text, prefix rows, keep inside the width."""

import os.path
import re
from collections.abc import Iterable
from functools import lru_cache

from bridle.frontends.tui.style import cells
from bridle.frontends.tui.style.sanitize import clean
from bridle.frontends.tui.style.text import PLAIN, Line, Span, Style, text_of

MUTED = Style(color="muted")
TAB = 4
_NARROW = 3


def one_line(text: str) -> str:
    """Text for a single row: every run of white space is one blank."""
    return " ".join(clean(text).split())


def homely(text: str) -> str:
    """Text with `~` for the home folder of the user."""
    home = os.path.expanduser("~")
    return text if home in ("/", "~") or home not in text else _home(home).sub("~", text)


@lru_cache(maxsize=1)
def _home(home: str) -> "re.Pattern[str]":
    return re.compile(rf"(?<![\w/.-]){re.escape(home)}(?![\w.-])")


def row(text: str) -> str:
    """One line of text as cells: tabs are filled up."""
    return clean(text, tab=TAB).replace("\n", " ")


def wrap(line: Line, width: int, *, indent: Line = ()) -> list[Line]:
    """A line broken between words, or anywhere in a window too narrow for words."""
    return cells.wrap(line, width, indent=indent) if width > _NARROW else cells.chop(line, max(1, width))


def wrap_all(lines: Iterable[Line], width: int) -> list[Line]:
    """Several lines wrapped one after the other."""
    return [each for line in lines for each in wrap(line, width)]


def fit(lines: Iterable[Line], width: int) -> list[Line]:
    """The lines, none wider than the window: the last guard for windows of a few cells."""
    return [each if cells.line_width(each) <= width else cells.cut(each, width) for each in lines]


def prefixed(lines: Iterable[Line], first: Line, rest: Line) -> list[Line]:
    """The lines behind a mark: one for the first, another for those below it."""
    empty = () if not text_of(rest).strip() else rest
    return [
        (*first, *each) if index == 0 else (*rest, *each) if each else empty
        for index, each in enumerate(lines)
    ]


def hanging(line: Line, width: int, *, first: Line, rest: Line) -> list[Line]:
    """A line wrapped behind a mark; a window too narrow for the mark does without."""
    margin = cells.line_width(first)
    if margin + 2 > width:
        return fit(wrap(line, max(width, 1)), width)
    return prefixed(wrap(line, width - margin), first, rest)


def paragraph(text: str, width: int, style: Style = PLAIN) -> list[Line]:
    """Text wrapped to the width, its own line breaks kept."""
    lines = ((Span(each, style),) if each else () for each in clean(text, tab=TAB).split("\n"))
    return fit(wrap_all(lines, max(width, 1)), width)


@lru_cache(maxsize=512)
def style(
    color: str | None = None,
    background: str | None = None,
    *,
    bold: bool = False,
    dim: bool = False,
    italic: bool = False,
    underline: bool = False,
    strike: bool = False,
    link: str | None = None,
) -> Style:
    """A style, made once."""
    return Style(
        color=color,
        background=background,
        bold=bold,
        dim=dim,
        italic=italic,
        underline=underline,
        strike=strike,
        link=link,
    )


def count(number: int, thing: str, things: str = "") -> str:
    """`1 file`, `2 files`."""
    return f"{number:,} {thing if number == 1 else things or thing + 's'}"
