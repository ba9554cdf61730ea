"""Measures, cuts and wraps text by the cells it takes on the screen."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate

from bridle.frontends.tui.style.text import PLAIN, Line, Span, Style

_NARROW = re.compile(
    "[\x20-\x7e\xa0-\xac\xae-\u02ff\u0370-\u0482\u048a-\u052f\u1e00-\u1fff\u2010-\u2027\u2030-\u205e"
    "\u2070-\u209f\u2100-\u2319\u232b-\u23e8\u23f4-\u25fc\u2713-\u2718\u2729-\u274b\u2758-\u2794\u27c0-\u2b1a]*"
)
"""One cell each and no part of anything longer: text of these alone needs no tables."""

_DOUBTFUL = re.compile(
    "[\u0300-\u036f\u0600-\u0605\u0900-\u0dff\u0e31-\u0e4e\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u200b-\u200f"
    "\u2060-\u206f\u20d0-\u20f0\ufe00-\ufe0f\ufeff\U0001f000-\U000fffff]"
)
_RIGHT_TO_LEFT = re.compile(
    "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]"
)
_CLOSING = frozenset("、。，．！？：；）］｝」』】〉》”’…")
_OPENING = frozenset("（［｛「『【〈《“‘")
_FIRST_STRONG_ISOLATE = "\u2068"
_POP_ISOLATE = "\u2069"


def width(text: str) -> int:
    """How many cells the text takes; it must hold no control characters."""
    if text.isascii() or _NARROW.fullmatch(text):
        return len(text)
    return sum(map(_cells, _clusters(text)))


def line_width(line: Line) -> int:
    """How many cells a line takes."""
    return sum(width(span.text) for span in line)


def graphemes(text: str) -> Iterable[str]:
    """What a reader sees as single characters, in order."""
    if text.isascii() or _NARROW.fullmatch(text):
        return text
    return _clusters(text)


def measured(text: str) -> Iterator[tuple[str, int]]:
    """Every grapheme with the cells it takes."""
    if text.isascii() or _NARROW.fullmatch(text):
        return ((character, 1) for character in text)
    return ((cluster, _cells(cluster)) for cluster in _clusters(text))


def is_doubtful(text: str) -> bool:
    """Whether terminals are known to disagree about the width of this text."""
    return not text.isascii() and _DOUBTFUL.search(text) is not None


def is_right_to_left(text: str) -> bool:
    """Whether the text holds letters that are read from right to left."""
    return not text.isascii() and _RIGHT_TO_LEFT.search(text) is not None


def isolate(text: str) -> str:
    """Keep right-to-left text from reordering what stands around it; other text is returned as it is."""
    return f"{_FIRST_STRONG_ISOLATE}{text}{_POP_ISOLATE}" if is_right_to_left(text) else text


def split(line: Line, cells: int) -> tuple[Line, Line]:
    """The part of a line that fits into so many cells, and the rest; a grapheme is never torn."""
    taken: list[Span] = []
    left = max(cells, 0)
    for index, span in enumerate(line):
        if (size := width(span.text)) <= left:
            taken.append(span)
            left -= size
            continue
        at = _offset(span.text, left)
        if at:
            taken.append(Span(span.text[:at], span.style))
        return tuple(taken), (Span(span.text[at:], span.style), *line[index + 1 :])
    return tuple(taken), ()


def cut(line: Line, cells: int) -> Line:
    """The part of a line that fits into so many cells."""
    return split(line, cells)[0]


def truncate(line: Line, cells: int, *, ellipsis: str = "…") -> Line:
    """The line if it fits, otherwise its start and an ellipsis."""
    if line_width(line) <= cells:
        return line
    room = cells - width(ellipsis)
    if room < 0:
        return cut(line, cells)
    head = cut(line, room)
    return (*head, Span(ellipsis, head[-1].style if head else PLAIN))


def truncate_text(text: str, cells: int, *, ellipsis: str = "…") -> str:
    """The text if it fits, otherwise its start and an ellipsis."""
    if width(text) <= cells:
        return text
    room = cells - width(ellipsis)
    return text[: _offset(text, cells)] if room < 0 else text[: _offset(text, room)] + ellipsis


def truncate_start(text: str, cells: int, *, ellipsis: str = "…") -> str:
    """The text if it fits, otherwise an ellipsis and its end: for paths, whose end says most."""
    if width(text) <= cells:
        return text
    room = cells - width(ellipsis)
    kept: list[str] = []
    for cluster, size in reversed(list(measured(text))):
        room -= size
        if room < 0:
            break
        kept.append(cluster)
    return truncate_text(ellipsis, cells, ellipsis="") + "".join(reversed(kept))


def truncate_path(path: str, cells: int, *, ellipsis: str = "…") -> str:
    """The path if it fits, otherwise its start, an ellipsis and the name of the file."""
    if width(path) <= cells:
        return path
    start, slash, name = path.rstrip("/").rpartition("/")
    room = cells - width(f"{ellipsis}{slash}{name}")
    if room <= 0:
        return truncate_start(path, cells, ellipsis=ellipsis)
    return f"{truncate_text(start, room, ellipsis='')}{ellipsis}{slash}{name}"


def pad(line: Line, cells: int, style: Style = PLAIN) -> Line:
    """The line filled up with spaces to so many cells; a longer line is returned as it is."""
    missing = cells - line_width(line)
    return line if missing <= 0 else (*line, Span(" " * missing, style))


def wrap(line: Line, cells: int, *, indent: Line = ()) -> list[Line]:
    """Break a line between words into rows of at most so many cells; `indent` starts every further row.

    A word that is too long is broken where the row ends. Spaces are dropped at a break and stay at the start.
    """
    if line_width(line) <= cells:
        return [line]
    margin = line_width(indent)
    # A row must have room for a wide character.
    if margin + 1 >= cells:
        indent, margin = (), 0
    text = "".join(span.text for span in line)
    if cells < 2 and not text.isascii():
        return chop(line, cells)
    rows = [slice_line(line, start, end) for start, end in _rows(text, cells, margin)]
    return [rows[0], *((*indent, *row) for row in rows[1:])] if indent else rows


def wrap_all(lines: Iterable[Line], cells: int, *, indent: Line = ()) -> list[Line]:
    """Wrap several lines one after the other."""
    return [row for each in lines for row in wrap(each, cells, indent=indent)]


def chop(line: Line, cells: int) -> list[Line]:
    """Break a line into rows exactly where they are full, the way a terminal does it."""
    rows: list[Line] = []
    rest = line
    while True:
        row, rest = split(rest, cells)
        if not row and rest:
            # Not even one grapheme fits: leave it out rather than never end.
            _, rest = _drop_first(rest)
            if not rest:
                return rows or [()]
            continue
        rows.append(row)
        if not rest:
            return rows


def slice_line(line: Line, start: int, end: int) -> Line:
    """The part of a line between two positions in its text."""
    found: list[Span] = []
    at = 0
    for span in line:
        size = len(span.text)
        low, high = max(start - at, 0), min(end - at, size)
        if low < high:
            found.append(span if high - low == size else Span(span.text[low:high], span.style))
        at += size
        if at >= end:
            break
    return tuple(found)


def _rows(text: str, cells: int, margin: int) -> list[tuple[int, int]]:
    """Where each row starts and ends in the text."""
    if cells < 1:
        return [(0, len(text))]
    if text.isascii() or _NARROW.fullmatch(text):
        return _narrow_rows(text, cells, margin)
    return _measured_rows(text, cells, margin)


def _narrow_rows(text: str, cells: int, margin: int) -> list[tuple[int, int]]:
    rows: list[tuple[int, int]] = []
    size = len(text)
    # Indentation is no place to break: the first word would stand alone below it.
    floor = size - len(text.lstrip(" "))
    start, room = 0, cells
    while size - start > room:
        limit = start + room
        at = text.rfind(" ", max(start + 1, floor), limit + 1)
        if at < 0:
            rows.append((start, limit))
            start = limit
        else:
            rows.append((start, start + len(text[start:at].rstrip(" "))))
            start = size - len(text[at:].lstrip(" "))
        room = cells - margin
    return [*rows, (start, size)] if start < size else rows


def _measured_rows(text: str, cells: int, margin: int) -> list[tuple[int, int]]:
    clusters = list(measured(text))
    offsets = [0, *accumulate(len(cluster) for cluster, _ in clusters)]
    columns = [0, *accumulate(size for _, size in clusters)]
    rows: list[tuple[int, int]] = []
    size = len(clusters)
    floor = len(text) - len(text.lstrip(" "))
    start, room = 0, cells
    while columns[size] - columns[start] > room:
        limit = max(bisect_right(columns, columns[start] + room) - 1, start + 1)
        at = next((i for i in range(limit, max(start, floor), -1) if _may_break(clusters, i)), limit)
        end = at
        while end > start and clusters[end - 1][0] == " ":
            end -= 1
        rows.append((offsets[start], offsets[end]))
        start = at
        while start < size and clusters[start][0] == " ":
            start += 1
        room = cells - margin
    return [*rows, (offsets[start], len(text))] if start < size else rows


def _may_break(clusters: Sequence[tuple[str, int]], at: int) -> bool:
    """Whether a row may end before this grapheme: at a space, and on either side of a wide character."""
    (before, size_before), (after, size_after) = clusters[at - 1], clusters[at]
    if after in _CLOSING or before in _OPENING:
        return False
    return " " in (before, after) or 2 in (size_before, size_after)


def _offset(text: str, cells: int) -> int:
    """How many characters of the text fit into so many cells."""
    if text.isascii() or _NARROW.fullmatch(text):
        return min(cells, len(text))
    at = used = 0
    for cluster, size in measured(text):
        used += size
        if used > cells:
            break
        at += len(cluster)
    return at


def _drop_first(line: Line) -> tuple[str, Line]:
    first = next(iter(graphemes(line[0].text)), "")
    rest = line[0].text[len(first) :]
    return first, (Span(rest, line[0].style), *line[1:]) if rest else line[1:]


def _clusters(text: str) -> Iterable[str]:
    # Its tables take longer to load than the first frame takes to draw.
    from wcwidth import iter_graphemes

    return iter_graphemes(text)


@lru_cache(maxsize=4096)
def _cells(cluster: str) -> int:
    from wcwidth import wcswidth

    return min(max(wcswidth(cluster), 0), 2)
