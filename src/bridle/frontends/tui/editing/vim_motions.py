"""Where vim's motions lead, and how an operator treats what lies on the way."""

from typing import NamedTuple

from bridle.frontends.tui.editing import motions
from bridle.frontends.tui.editing.editor import Editor

Search = tuple[str, str]
"""The letter of the command, f F t or T, and what it looks for."""

_OPPOSITE = {"f": "F", "F": "f", "t": "T", "T": "t"}


class Target(NamedTuple):
    """The end of a motion."""

    at: int
    inclusive: bool = False
    """The character there belongs to it."""
    is_lines: bool = False
    """Whole lines are meant."""
    search: Search | None = None
    """What `;` looks for from now on."""


def move_to(
    editor: Editor,
    motion: str,
    count: int,
    *,
    has_count: bool,
    search: Search | None,
    operating: bool = False,
) -> Target | None:
    """Where the motion leads from the cursor; None when it leads nowhere."""
    text, at = editor.text, editor.cursor
    match motion:
        case "h" | "l" | "w" | "W" | "b" | "B" | "e" | "E" | "{" | "}":
            return _repeated(text, at, motion, count)
        case "0":
            return Target(motions.line_start(text, at))
        case "^":
            return Target(motions.first_word(text, at))
        case "$":
            return Target(_down(text, at, count - 1, to_end=True))
        case "G" | "gg":
            first = motion == "gg"
            number = count if has_count else (1 if first else text.count("\n") + 1)
            return Target(motions.first_word(text, _line(text, number)), is_lines=operating)
        case "j":
            return Target(_down(text, at, count, to_end=False), is_lines=True) if "\n" in text[at:] else None
        case "k":
            return Target(_up(text, at, count), is_lines=True) if "\n" in text[:at] else None
        case ";" | ",":
            if search is None:
                return None
            letter, character = search
            return _find(
                text, at, letter if motion == ";" else _OPPOSITE[letter], character, count, again=True
            )
        case _:
            found = _find(text, at, motion[0], motion[1], count, again=False)
            return None if found is None else found._replace(search=(motion[0], motion[1]))


def _repeated(text: str, at: int, motion: str, count: int) -> Target:
    start, end = motions.line_start(text, at), motions.line_end(text, at)
    for _ in range(count):
        match motion:
            case "h":
                at = motions.left(text, at) if at > start else at
            case "l":
                at = motions.right(text, at) if at < end else at
            case "w" | "W":
                at = motions.next_word(text, at, big=motion == "W")
            case "b" | "B":
                at = motions.word_left(text, at, big=motion == "B")
            case "e" | "E":
                at = motions.last_of_word(text, at, big=motion == "E")
            case "{":
                at = motions.paragraph_up(text, at)
            case _:
                at = motions.paragraph_down(text, at)
    return Target(at, inclusive=motion in "eE" and at < len(text))


def _find(text: str, at: int, letter: str, character: str, count: int, *, again: bool) -> Target | None:
    """Look for a character in the line; a repeated `t` does not stop where it is."""
    start, end = motions.line_start(text, at), motions.line_end(text, at)
    found = at
    if letter in "ft":
        if letter == "t" and again and text[at + 1 : at + 2] == character:
            found += 1
        for _ in range(count):
            found = text.find(character, found + 1, end)
            if found < 0:
                return None
        return Target(found - 1 if letter == "t" else found, inclusive=True)
    if letter == "T" and again and at > start and text[at - 1] == character:
        found -= 1
    for _ in range(count):
        found = text.rfind(character, start, found)
        if found < 0:
            return None
    return Target(found + 1 if letter == "T" else found)


def _line(text: str, number: int) -> int:
    """The start of a line, counted from 1; the last one when there are not so many."""
    at = 0
    for _ in range(number - 1):
        found = text.find("\n", at)
        if found < 0:
            break
        at = found + 1
    return at


def _down(text: str, at: int, count: int, *, to_end: bool) -> int:
    column = at - motions.line_start(text, at)
    for _ in range(count):
        end = motions.line_end(text, at)
        if end == len(text):
            break
        at = end + 1
    end = motions.line_end(text, at)
    return end if to_end else min(motions.line_start(text, at) + column, end)


def _up(text: str, at: int, count: int) -> int:
    column = at - motions.line_start(text, at)
    for _ in range(count):
        at = max(motions.line_start(text, at) - 1, 0)
    start = motions.line_start(text, at)
    return min(start + column, motions.line_end(text, start))
