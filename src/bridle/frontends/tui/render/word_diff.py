"""Finds what differs between two lines."""

import re

_WORD = re.compile(r"\w+|\s+|[^\w\s]")
_LONGEST = 500
_ALIKE = 0.4
"""Lines with less in common are better shown as wholly different."""

Ranges = list[tuple[int, int]]
"""Parts of a line, from and to."""


def changed_words(old: str, new: str) -> tuple[Ranges, Ranges]:
    """Where the old line lost and the new one gained something; nothing when they have little in common."""
    if max(len(old), len(new)) > _LONGEST or not old.strip() or not new.strip():
        return [], []
    from difflib import SequenceMatcher

    before, after = _WORD.findall(old), _WORD.findall(new)
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    if matcher.ratio() < _ALIKE:
        return [], []
    removed: Ranges = []
    added: Ranges = []
    for tag, a1, a2, b1, b2 in matcher.get_opcodes():
        if tag != "equal":
            _add(removed, before, a1, a2)
            _add(added, after, b1, b2)
    return removed, added


def _add(ranges: Ranges, words: list[str], first: int, last: int) -> None:
    if first == last:
        return
    start = sum(map(len, words[:first]))
    end = start + sum(map(len, words[first:last]))
    # One blank between two changed words belongs to both.
    if ranges and start - ranges[-1][1] <= 1:
        ranges[-1] = (ranges[-1][0], end)
    else:
        ranges.append((start, end))
