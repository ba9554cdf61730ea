"""What changed in a text: hunks for hosts, and a numbered excerpt for the model."""

from collections.abc import Sequence
from typing import Any, TypedDict

_CONTEXT = 3
_MOST_COMPARED = 4000
_LONG = 10
_EDGE = 2
_LONGEST_SNIPPET_LINE = 400
_NO_NEWLINE = "\\ No newline at end of file"
MOST_KEPT_CHARS = 1024 * 1024
"""Larger originals are not copied into results."""


class Hunk(TypedDict):
    oldStart: int
    oldLines: int
    newStart: int
    newLines: int
    lines: list[str]


def structured_patch(old: str, new: str) -> list[Hunk]:
    """The hunks that turn one text into the other, each with a few lines around it.

    Very long stretches that differ are given as one replacement: comparing them costs more than it tells.
    """
    if old == new:
        return []
    before, after = _lines(old), _lines(new)
    head = _common(before, after)
    tail = _common(before[head:][::-1], after[head:][::-1])
    middle_before = before[head : len(before) - tail]
    middle_after = after[head : len(after) - tail]
    changes = [
        (head + a1, head + a2, head + b1, head + b2)
        for a1, a2, b1, b2 in _changes(middle_before, middle_after)
    ]
    return [_hunk(before, after, group) for group in _grouped(changes)]


def snippet(text: str, *, start: int, length: int) -> str:
    """Numbered lines around a place in a text, given in characters; of a long place only its edges.

    The model that wrote it knows what stands there; it needs to see how that joins what was there before.
    """
    first = text.count("\n", 0, start)
    last = first + text.count("\n", start, start + length)
    lines = text.split("\n", last + _CONTEXT + 1)[: last + _CONTEXT + 1]
    if lines and not lines[-1]:
        lines.pop()
    begin = max(0, first - _CONTEXT)
    shown = [
        f"{number}\t{line[:_LONGEST_SNIPPET_LINE]}{'…' if len(line) > _LONGEST_SNIPPET_LINE else ''}"
        for number, line in enumerate(lines[begin:], begin + 1)
    ]
    if last - first + 1 > _LONG:
        upper, lower = first - begin + _EDGE, last - begin + 1 - _EDGE
        shown = [*shown[:upper], f"… {lower - upper} lines as given …", *shown[lower:]]
    return "\n".join(shown)


def original(text: str) -> str | None:
    """A text as results carry it: None when it is too large to be copied into transcripts."""
    return text if len(text) <= MOST_KEPT_CHARS else None


def _lines(text: str) -> list[str]:
    """Lines with their line feed, so that a missing last one counts as a difference."""
    lines = [f"{line}\n" for line in text.split("\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def _common(before: Sequence[str], after: Sequence[str]) -> int:
    shorter = min(len(before), len(after))
    return next((index for index in range(shorter) if before[index] != after[index]), shorter)


def _changes(before: Sequence[str], after: Sequence[str]) -> list[tuple[int, int, int, int]]:
    if not before or not after or max(len(before), len(after)) > _MOST_COMPARED:
        return [(0, len(before), 0, len(after))]
    from difflib import SequenceMatcher

    matcher = SequenceMatcher(None, before, after)
    return [(a1, a2, b1, b2) for tag, a1, a2, b1, b2 in matcher.get_opcodes() if tag != "equal"]


def _grouped(changes: list[tuple[int, int, int, int]]) -> list[list[tuple[int, int, int, int]]]:
    """Changes whose surrounding lines touch belong to one hunk."""
    groups: list[list[tuple[int, int, int, int]]] = []
    for change in changes:
        if groups and change[0] - groups[-1][-1][1] <= 2 * _CONTEXT:
            groups[-1].append(change)
        else:
            groups.append([change])
    return groups


def _hunk(before: list[str], after: list[str], group: list[tuple[int, int, int, int]]) -> Hunk:
    lead = min(_CONTEXT, group[0][0])
    old_start, new_start = group[0][0] - lead, group[0][2] - lead
    old_end = min(len(before), group[-1][1] + _CONTEXT)
    lines: list[str] = []
    at = old_start
    for a1, a2, b1, b2 in group:
        lines += _marked(" ", before[at:a1]) + _marked("-", before[a1:a2]) + _marked("+", after[b1:b2])
        at = a2
    lines += _marked(" ", before[at:old_end])
    new_end = group[-1][3] + old_end - group[-1][1]
    return {
        "oldStart": old_start + 1 if old_end > old_start else old_start,
        "oldLines": old_end - old_start,
        "newStart": new_start + 1 if new_end > new_start else new_start,
        "newLines": new_end - new_start,
        "lines": lines,
    }


def _marked(mark: str, lines: list[str]) -> list[str]:
    marked = [mark + line.removesuffix("\n") for line in lines]
    if lines and not lines[-1].endswith("\n"):
        marked.append(_NO_NEWLINE)
    return marked


def changed_lines(data: Any) -> tuple[int, int]:
    """How many lines a call has added and removed, by what a file tool says of itself."""
    match data:
        case {"type": "create", "content": str() as content}:
            return len(content.splitlines()), 0
        case {"structuredPatch": list() as hunks}:
            lines = [str(line) for hunk in hunks for line in hunk["lines"]]
            return sum(line.startswith("+") for line in lines), sum(line.startswith("-") for line in lines)
        case _:
            return 0, 0
