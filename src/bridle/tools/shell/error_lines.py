"""Finds the lines that look like errors in the middle of a long output."""

import re
from collections.abc import Iterator
from typing import IO

from msgspec import Struct

_WINDOW = 2 * 1024 * 1024
"""Bytes that are looked at behind the beginning and before the end: all of a huge output takes too long."""
_COUNTED = 256 * 1024 * 1024
"""Bytes between them in which lines are counted at most."""
_PIECE = 1024 * 1024
_LONGEST = 300
_ESCAPES = rb"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]"
_ERROR = (
    rb"(?i)(?:\b|_)(?:error|exception|failure)s?\b|(?-i:[a-z](?:Error|Exception|Failure))s?\b|\berr!"
    rb"|\b(?:fail(?:s|ed|ing)?|fatal|panic(?:ked)?|traceback|assert(?:ion)?|abort(?:ed|ing)?"
    rb"|undefined|unresolved|unrecognized|segmentation fault|core dumped|out of memory|killed"
    rb"|not ok|not found|no such|denied|cannot|could not|can't|unable to|expected|invalid)\b"
    rb"|^E {2,}\S|^\s*(?:\xe2\x9c\x97|\xe2\x9c\x96|\xe2\x9c\x98|\xc3\x97|\xe2\x9d\x8c)"
)
"""Words and marks of compilers, test runners and shells."""
_STEMS = (
    b"error", b"err!", b"exception", b"fail", b"fatal", b"panic", b"traceback", b"assert", b"abort",
    b"undefined", b"unresolved", b"unrecognized", b"segmentation", b"core dumped", b"out of memory",
    b"killed", b"not ok",
    b"not found", b"no such", b"denied", b"cannot", b"could not", b"can't", b"unable to", b"expected",
    b"invalid", b"\ne  ", b"\xe2\x9c\x97", b"\xe2\x9c\x96", b"\xe2\x9c\x98", b"\xc3\x97", b"\xe2\x9d\x8c",
)  # fmt: skip
"""A line without any of these matches nothing of the above."""
_MOST_OF_A_KIND = 1_000
_HARMLESS = (
    rb"(?i)\b(?:0|no|zero|without(?: any)?) (?:\w+ )?(?:errors?|failures?|failed|failing|exceptions?)\b"
    rb"|\b(?:errors?|failures?|failed)\s*[:=]\s*(?:0|none|false)\b|\bPASSED\b|^ok\b|\.\.\. ok$"
)


class ErrorLines(Struct, frozen=True):
    """What was found."""

    lines: tuple[str, ...] = ()
    """`12: text`, in their order."""
    more: int = 0
    """How many others there are."""


def find_errors(file: IO[bytes], start: int, end: int, *, first_line: int, room: int) -> ErrorLines:
    """Lines between two places of a file that look like errors, each text once, in `room` characters.

    `first_line` is the number of the line at `start`.
    """
    seen: set[str] = set()
    if end - start <= 2 * _WINDOW:
        return _fitting(_suspicious(file, start, end, first_line), room, seen)
    near = start + _WINDOW
    first = _fitting(_suspicious(file, start, near, first_line), room * 2 // 3, seen)
    far = end - _WINDOW
    if far - near > _COUNTED:
        return first
    number = first_line + _count(file, start, far)
    left = room - sum(len(line) + 1 for line in first.lines)
    last = _fitting(_suspicious(file, far, end, number), left, seen)
    return ErrorLines((*first.lines, *last.lines), first.more + last.more)


def _fitting(found: Iterator[tuple[int, str]], room: int, seen: set[str]) -> ErrorLines:
    lines: list[str] = []
    more = 0
    for number, text in found:
        if text in seen:
            continue
        line = f"{number}: {text}"
        if len(line) + 1 > room:
            more += 1
            continue
        seen.add(text)
        lines.append(line)
        room -= len(line) + 1
    return ErrorLines(tuple(lines), more)


def _suspicious(file: IO[bytes], start: int, end: int, number: int) -> Iterator[tuple[int, str]]:
    file.seek(start)
    text = file.read(end - start)
    error, harmless, escapes = re.compile(_ERROR), re.compile(_HARMLESS), re.compile(_ESCAPES)
    counted = 0
    for begin in _candidates(text):
        number += text.count(b"\n", counted, begin)
        counted = begin
        line = text[begin : _end_of_line(text, begin)][: 4 * _LONGEST]
        if b"\x1b" in line:
            line = escapes.sub(b"", line)
        # What a carriage return takes back is not seen.
        line = line.rstrip(b"\r").rpartition(b"\r")[2]
        if error.search(line) and not harmless.search(line):
            yield number, _printable(line)


def _candidates(text: bytes) -> list[int]:
    """Where lines begin that have a piece of an error in them: searching for words costs little."""
    small = text.lower()
    begins: set[int] = set()
    for stem in _STEMS:
        at = small.find(stem)
        for _ in range(_MOST_OF_A_KIND):
            if at < 0:
                break
            begins.add(small.rfind(b"\n", 0, at + 1) + 1)
            at = small.find(stem, _end_of_line(small, at + 1))
    return sorted(begins)


def _end_of_line(text: bytes, at: int) -> int:
    end = text.find(b"\n", at)
    return len(text) if end < 0 else end


def _count(file: IO[bytes], start: int, end: int) -> int:
    """How many lines end between two places."""
    file.seek(start)
    left, lines = end - start, 0
    while left > 0 and (piece := file.read(min(_PIECE, left))):
        lines += piece.count(b"\n")
        left -= len(piece)
    return lines


def _printable(line: bytes) -> str:
    text = line.decode("utf-8", "replace").rstrip().replace("\t", " ")
    shown = "".join(letter for letter in text if letter.isprintable())
    return shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}…"
