"""Where a text is to be replaced, and the text that it becomes."""

import re
from bisect import bisect_left

from msgspec import Struct

from bridle.tools.files.text_files import TextFile
from bridle.types.errors import ToolError

_STRAIGHT = str.maketrans("‘’“”", "''\"\"")
_PAIRS = (("'", "‘", "’"), ('"', "“", "”"))
_OPENERS = " \t\n([{<—–-=/‘“"
_MOST_HINT_LINES = 2000
_LONGEST_HINT = 200


class Change(Struct, frozen=True):
    """A place in the text with plain line feeds, and what it becomes."""

    start: int
    end: int
    new: str


class Replacement(Struct, frozen=True, kw_only=True):
    changes: tuple[Change, ...]
    exact: bool
    """The text was found as given, character by character."""


class Replaced(Struct, frozen=True, kw_only=True):
    raw: str
    text: str
    start: int
    """Where the first change begins in `text`."""
    length: int


def find_replacement(file: TextFile, old: str, new: str, *, replace_all: bool) -> Replacement | None:
    """The places that `old` names, whatever the style of its quotes; None when there are none.

    Raises:
        ToolError: there are several and only one may be changed.
    """
    if file.text is not file.raw:
        old, new = old.replace("\r\n", "\n"), new.replace("\r\n", "\n")
    found = (
        _exact(file.text, old, new) or _with_other_quotes(file.text, old, new) or _at_end(file.text, old, new)
    )
    if found is not None and len(found.changes) > 1 and not replace_all:
        raise ToolError(
            f"Found {len(found.changes)} matches of old_string. Add surrounding lines until it is unique, "
            "or set replace_all to change all."
        )
    return found


def replace(file: TextFile, replacement: Replacement) -> Replaced:
    """Change the places and nothing else: every other byte, mixed line endings included, stays as it is."""
    breaks = [match.start() - index for index, match in enumerate(re.finditer("\r\n", file.raw))]
    mostly_crlf = 2 * len(breaks) > file.raw.count("\n")
    parts: list[str] = []
    at = 0
    for change in replacement.changes:
        raw_start = change.start + bisect_left(breaks, change.start)
        raw_end = change.end + bisect_left(breaks, change.end)
        place = file.raw[raw_start:raw_end]
        crlf = "\r\n" in place if "\n" in place else mostly_crlf
        parts += file.raw[at:raw_start], change.new.replace("\n", "\r\n") if crlf else change.new
        at = raw_end
    raw = "".join([*parts, file.raw[at:]])
    first = replacement.changes[0]
    return Replaced(raw=raw, text=raw.replace("\r\n", "\n"), start=first.start, length=len(first.new))


def hint(text: str, old: str) -> str:
    """A sentence that helps to find what was meant, empty when nothing is near."""
    if all(re.match(r"\s*\d+\t", line) for line in old.splitlines()):
        return " Leave out Read's line numbers."
    wanted = next((line.strip() for line in old.splitlines() if line.strip()), "")[:_LONGEST_HINT]
    if not wanted:
        return ""
    lines = text.split("\n", _MOST_HINT_LINES)[:_MOST_HINT_LINES]
    stripped = [line.strip()[:_LONGEST_HINT] for line in lines]
    if wanted in stripped:
        number = stripped.index(wanted) + 1
        return (
            f" Line {number} begins the same; compare whitespace and the rest: {_quoted(lines[number - 1])}"
        )
    from difflib import get_close_matches

    if close := get_close_matches(wanted, stripped, n=1):
        number = stripped.index(close[0]) + 1
        return f" The nearest is line {number}: {_quoted(lines[number - 1])}"
    return ""


def _exact(text: str, old: str, new: str) -> Replacement | None:
    spans = _spans(text, old)
    if not new:
        spans = [_with_line_end(text, old, span) for span in spans]
    changes = tuple(Change(start, end, new) for start, end in spans)
    return Replacement(changes=changes, exact=True) if changes else None


def _with_line_end(text: str, old: str, span: tuple[int, int]) -> tuple[int, int]:
    """Deleting all that a line holds deletes the line, so no empty one is left behind."""
    start, end = span
    whole = (start == 0 or text[start - 1] == "\n") and text[end : end + 1] == "\n"
    return (start, end + 1) if whole and not old.startswith("\n") and not old.endswith("\n") else span


def _with_other_quotes(text: str, old: str, new: str) -> Replacement | None:
    spans = _spans(text.translate(_STRAIGHT), old.translate(_STRAIGHT))
    changes = tuple(Change(start, end, _in_style_of(text[start:end], old, new)) for start, end in spans)
    return Replacement(changes=changes, exact=False) if changes else None


def _at_end(text: str, old: str, new: str) -> Replacement | None:
    """A last line without a line feed looks like any other when it is read."""
    shorter = old.removesuffix("\n")
    if shorter in ("", old) or not text.endswith(shorter):
        return None
    change = Change(len(text) - len(shorter), len(text), new.removesuffix("\n"))
    return Replacement(changes=(change,), exact=False)


def _spans(text: str, old: str) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    at = text.find(old)
    while at >= 0:
        spans.append((at, at + len(old)))
        at = text.find(old, at + len(old))
    return spans


def _in_style_of(place: str, old: str, new: str) -> str:
    """`new` with the quotes of the file: what stays is taken from it, what is added follows its style."""
    styled = new
    for straight, opening, closing in _PAIRS:
        curly = opening in place or closing in place
        if curly and straight not in place:
            styled = _curled(styled, straight, opening, closing)
        elif straight in place and not curly:
            styled = styled.replace(opening, straight).replace(closing, straight)
    head = _common(old, new)
    tail = min(_common(old[::-1], new[::-1]), len(old) - head, len(new) - head)
    return place[:head] + styled[head : len(new) - tail] + place[len(place) - tail :]


def _curled(text: str, straight: str, opening: str, closing: str) -> str:
    return "".join(
        char if char != straight else opening if index == 0 or text[index - 1] in _OPENERS else closing
        for index, char in enumerate(text)
    )


def _common(one: str, other: str) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((index for index, (a, b) in pairs if a != b), min(len(one), len(other)))


def _quoted(line: str) -> str:
    return repr(line if len(line) <= _LONGEST_HINT else f"{line[:_LONGEST_HINT]}…")
