"""Where the cursor goes: pure functions from a text and a position in it to another position."""

from bisect import bisect_left, bisect_right
from itertools import accumulate

from bridle.frontends.tui.style.cells import graphemes


def left(text: str, at: int) -> int:
    """Before the character to the left."""
    start = _line_start(text, at)
    if at == start:
        return max(at - 1, 0)
    stops = _stops(text, at)
    return start + stops[bisect_left(stops, at - start) - 1]


def right(text: str, at: int) -> int:
    """After the character to the right."""
    if at >= len(text):
        return len(text)
    if text[at] == "\n":
        return at + 1
    start = _line_start(text, at)
    stops = _stops(text, at)
    return start + stops[min(bisect_right(stops, at - start), len(stops) - 1)]


def line_start(text: str, at: int) -> int:
    """The start of the line."""
    return _line_start(text, at)


def line_end(text: str, at: int) -> int:
    """The end of the line, before its break."""
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def first_word(text: str, at: int) -> int:
    """The first character of the line that is not a space."""
    start, end = line_start(text, at), line_end(text, at)
    while start < end and text[start].isspace():
        start += 1
    return start


def back_word(text: str, at: int) -> int:
    """The start of this word or of the one before, whatever stands between them."""
    while at > 0 and kind(text[at - 1], big=False) != 1:
        at -= 1
    while at > 0 and kind(text[at - 1], big=False) == 1:
        at -= 1
    return at


def forward_word(text: str, at: int) -> int:
    """The end of this word or of the next one, whatever stands between them."""
    while at < len(text) and kind(text[at], big=False) != 1:
        at += 1
    while at < len(text) and kind(text[at], big=False) == 1:
        at += 1
    return at


def word_left(text: str, at: int, *, big: bool = False) -> int:
    """The start of this word or of the one before; a big word ends only at spaces."""
    while at > 0 and kind(text[at - 1], big=big) == 0:
        at -= 1
    here = kind(text[at - 1], big=big) if at else 0
    while at > 0 and kind(text[at - 1], big=big) == here:
        at -= 1
    return at


def word_right(text: str, at: int, *, big: bool = False) -> int:
    """The end of this word or of the next one."""
    while at < len(text) and kind(text[at], big=big) == 0:
        at += 1
    here = kind(text[at], big=big) if at < len(text) else 0
    while at < len(text) and kind(text[at], big=big) == here:
        at += 1
    return at


def next_word(text: str, at: int, *, big: bool = False) -> int:
    """The start of the next word."""
    here = kind(text[at], big=big) if at < len(text) else 0
    while at < len(text) and here and kind(text[at], big=big) == here:
        at += 1
    while at < len(text) and kind(text[at], big=big) == 0:
        at += 1
    return at


def last_of_word(text: str, at: int, *, big: bool = False) -> int:
    """The last character of this word or, from there, of the next one."""
    return max(word_right(text, min(at + 1, len(text)), big=big) - 1, 0)


def paragraph_up(text: str, at: int) -> int:
    """The empty line above, or the start."""
    at = line_start(text, at)
    while at > 0 and text[at : at + 1] in ("\n", ""):
        at = line_start(text, at - 1)
    while at > 0 and text[at : at + 1] not in ("\n", ""):
        at = line_start(text, at - 1)
    return at


def paragraph_down(text: str, at: int) -> int:
    """The empty line below, or the end."""
    at = line_start(text, at)
    while at < len(text) and text[at] == "\n":
        at += 1
    while at < len(text) and text[at] != "\n":
        at = min(line_end(text, at) + 1, len(text))
    return at


def snap(text: str, at: int) -> int:
    """The nearest place at or before this one that does not tear a character apart."""
    at = min(max(at, 0), len(text))
    start = _line_start(text, at)
    stops = _stops(text, at)
    return start + stops[bisect_right(stops, at - start) - 1]


def kind(character: str, *, big: bool) -> int:
    """What a character belongs to: 0 for spaces, 1 for words, 2 for the rest."""
    if character.isspace():
        return 0
    return 1 if big or character.isalnum() or character == "_" or ord(character) > 0x2E7F else 2


def _line_start(text: str, at: int) -> int:
    return text.rfind("\n", 0, at) + 1


def _stops(text: str, at: int) -> list[int]:
    """Where the cursor may stand in this line, from its start."""
    row = text[_line_start(text, at) : line_end(text, at)]
    if row.isascii():
        return list(range(len(row) + 1))
    return [0, *accumulate(map(len, graphemes(row)))]
