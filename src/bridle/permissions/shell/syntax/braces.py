"""Braces in a word: `a{b,c}` and `a{1..3}`."""

import re

_LISTED = re.compile(r"(?<!\$)\{([^{}]*,[^{}]*)\}")
_RANGE = re.compile(r"(?<!\$)\{(-?\d+|[A-Za-z])\.\.(-?\d+|[A-Za-z])(?:\.\.-?\d+)?\}")
_MOST = 64
_LONGEST = 1_000


def expand_braces(text: str, *, literal: bool = False) -> list[str]:
    """The words that a word with braces comes to; what is left of too many stays as it is."""
    if literal or "{" not in text or len(text) > _LONGEST:
        return [text]
    found: list[str] = []
    waiting = [text]
    steps = 2 * _MOST
    while waiting and len(found) < _MOST:
        current = waiting.pop()
        steps -= 1
        braces = (_LISTED.search(current) or _RANGE.search(current)) if steps > 0 else None
        if braces is None:
            found.append(current)
            continue
        before, after = current[: braces.start()], current[braces.end() :]
        inner = braces[1].split(",") if braces.re is _LISTED else _between(braces[1], braces[2])
        waiting += [before + choice + after for choice in reversed(inner)]
    return found


def _between(first: str, last: str) -> list[str]:
    try:
        low, high, letters = int(first), int(last), False
    except ValueError:
        if len(first) != 1 or len(last) != 1:
            return [first, last]
        low, high, letters = ord(first), ord(last), True
    step = 1 if low <= high else -1
    numbers = range(low, high + step, step)[:_MOST]
    return [chr(number) if letters else str(number) for number in numbers]
