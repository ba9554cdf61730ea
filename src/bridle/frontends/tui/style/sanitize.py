"""Makes text from tools, models and files harmless before it reaches the terminal."""

import re

from bridle.frontends.tui.style.cells import measured
from bridle.types.visible import HIDDEN, visible

_SUSPECT = re.compile(f"[\t{HIDDEN}]")
SEQUENCE = re.compile(
    "(?:\x1b\\[|\x9b)[\x30-\x3f]*[\x20-\x2f]*[\x40-\x7e]?"
    "|(?:\x1b[\\]PX^_]|[\x90\x98\x9d\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x9c|\x1b\\\\|(?=\x1b)|$)"
    "|\x1b[\x20-\x2f]*[\x30-\x7e]?"
)
BREAKS = re.compile("\r+\n|[\x0b\x0c\x85\u2028\u2029]")
_OVERSTRUCK = re.compile("[^\n\x08]\x08")
_RESTARTED = re.compile("[^\n]*\r(?=[^\n])")
_SURROGATE = re.compile("[\ud800-\udfff]")
_DROPPED = re.compile(f"[{HIDDEN}]")
_TAB = 8


def clean(text: str, *, tab: int = _TAB) -> str:
    """The text without anything that could move the cursor, reorder letters or hide; line breaks stay.

    Escape sequences, control characters, direction overrides and invisible characters are dropped, tabs
    become spaces, and what a carriage return or a backspace would have overwritten is gone.
    """
    if _SUSPECT.search(text) is None:
        return text
    return expand_tabs(settle(SEQUENCE.sub("", text)), tab=tab)


def clean_line(text: str) -> str:
    """Like `clean` for text that must stay on one line: breaks become spaces."""
    return clean(text).replace("\n", " ")


def reveal(text: str) -> str:
    """The text with everything invisible made visible: for showing exactly what would run.

    Line breaks stay; tabs, which are common and harmless, become spaces.
    """
    if _SUSPECT.search(text) is None:
        return text
    return expand_tabs(visible(text))


def settle(text: str) -> str:
    """Text without escape sequences as a terminal would show it in the end; tabs stay."""
    text = BREAKS.sub("\n", text)
    while "\x08" in text:
        shorter = _OVERSTRUCK.sub("", text)
        if shorter == text:
            break
        text = shorter
    text = _RESTARTED.sub("", text) if "\r" in text else text
    return _DROPPED.sub("", _SURROGATE.sub("\ufffd", text))


def expand_tabs(text: str, *, tab: int = _TAB) -> str:
    """Replace tabs by spaces up to the next stop, counted in cells."""
    if "\t" not in text:
        return text
    if text.isascii():
        return text.expandtabs(tab)
    return "\n".join(expand_row(row, tab=tab) if "\t" in row else row for row in text.split("\n"))


def expand_row(row: str, *, column: int = 0, tab: int = _TAB) -> str:
    """Replace the tabs of a piece of a line that starts in the given column."""
    parts: list[str] = []
    for cluster, size in measured(row):
        shown = " " * (tab - column % tab) if cluster == "\t" else cluster
        parts.append(shown)
        column += len(shown) if cluster == "\t" else size
    return "".join(parts)
