"""Finds what was meant by a few letters of it."""

import re
from functools import lru_cache

from msgspec import Struct

_MATCH = 16
_GAP_START = -3
_GAP = -1
_CONSECUTIVE = 8
_AFTER_SEPARATOR = 10
_AFTER_MARK = 8
_CAMEL = 7
_FIRST = 6
_IN_NAME = 30
_SEPARATORS = "/\\:"
_MARKS = "_-. ,()[]@"


class Found(Struct, frozen=True):
    """How well a text matches, and which of its letters do."""

    score: int
    positions: tuple[int, ...]


def is_case_sensitive(query: str) -> bool:
    """A capital letter in a query is meant."""
    return query != query.lower()


def match(query: str, text: str) -> Found | None:
    """How well the letters of the query are found in the text, in order; None when they are not all there."""
    if not query:
        return Found(0, ())
    subject = text if is_case_sensitive(query) else lowered(text)
    whole = _placed(query, subject, text, 0)
    if whole is None:
        return None
    base = subject.rstrip("/").rfind("/") + 1
    in_name = _placed(query, subject, text, base) if base else whole
    # What is typed is the name of a file more often than that of a folder above it.
    if in_name is not None and in_name.score + _IN_NAME >= whole.score:
        return Found(in_name.score + _IN_NAME, in_name.positions)
    return whole


def lowered(text: str) -> str:
    """The text in small letters, with as many characters as before."""
    small = text.lower()
    return (
        small if len(small) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
    )


@lru_cache(maxsize=64)
def subsequence(query: str) -> re.Pattern[str]:
    """A pattern that says quickly whether all letters are there, in order."""
    return re.compile("".join(f"[^{re.escape(c)}]*+{re.escape(c)}" for c in query), re.DOTALL)


def _placed(query: str, subject: str, text: str, start: int) -> Found | None:
    """The best of two places: the tightest one from the left, and all letters in a row."""
    at = start - 1
    for letter in query:
        at = subject.find(letter, at + 1)
        if at < 0:
            return None
    places = [0] * len(query)
    for index in range(len(query) - 1, -1, -1):
        at = subject.rfind(query[index], start, at + 1)
        places[index] = at
        at -= 1
    best = Found(_score(places, text), tuple(places))
    row = _best_row(query, subject, text, start)
    if row >= 0:
        together = list(range(row, row + len(query)))
        if (score := _score(together, text)) > best.score:
            return Found(score, tuple(together))
    return best


def _best_row(query: str, subject: str, text: str, start: int) -> int:
    """Where the query stands as a whole, at the beginning of a word if possible."""
    first = at = subject.find(query, start)
    for _ in range(8):
        if at < 0:
            break
        if _bonus(text, at):
            return at
        at = subject.find(query, at + 1)
    return first


def _score(places: list[int], text: str) -> int:
    score, last = 0, -2
    for index, at in enumerate(places):
        score += _MATCH
        bonus = _bonus(text, at)
        if at == last + 1:
            score += max(bonus, _CONSECUTIVE)
        else:
            score += bonus * 2 if index == 0 else bonus
            if index:
                score += _GAP_START + _GAP * min(at - last - 2, 10)
        last = at
    return score


def _bonus(text: str, at: int) -> int:
    """What it is worth to match here: more at the beginning of a word."""
    if at == 0:
        return _AFTER_SEPARATOR + _FIRST
    before, here = text[at - 1], text[at]
    if before in _SEPARATORS:
        return _AFTER_SEPARATOR
    if before in _MARKS:
        return _AFTER_MARK
    if (here.isupper() and before.islower()) or (here.isdigit() and not before.isdigit()):
        return _CAMEL
    return 0
