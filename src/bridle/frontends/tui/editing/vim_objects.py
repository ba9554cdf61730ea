"""Parts of a text that vim commands name: words, quotes, brackets, paragraphs."""

from bridle.frontends.tui.editing import motions

Range = tuple[int, int]
_PAIRS = {
    "(": "()",
    ")": "()",
    "b": "()",
    "[": "[]",
    "]": "[]",
    "{": "{}",
    "}": "{}",
    "B": "{}",
    "<": "<>",
    ">": "<>",
}
_QUOTES = "\"'`"


def find_object(text: str, at: int, name: str, *, around: bool) -> Range | None:
    """The object of this name around the position; `around` takes its edges with it."""
    if name in "wW":
        return _word(text, at, big=name == "W", around=around)
    if name in _QUOTES:
        return _quoted(text, at, name, around=around)
    if name == "p":
        return _paragraph(text, at, around=around)
    if (pair := _PAIRS.get(name)) is not None:
        return _bracketed(text, at, pair, around=around)
    return None


def _word(text: str, at: int, *, big: bool, around: bool) -> Range | None:
    start, end = motions.line_start(text, at), motions.line_end(text, at)
    if start == end:
        return None
    at = min(at, end - 1)
    low = high = at
    kind = motions.kind(text[at], big=big)
    while low > start and motions.kind(text[low - 1], big=big) == kind:
        low -= 1
    while high < end and motions.kind(text[high], big=big) == kind:
        high += 1
    if not around:
        return low, high
    spaces = high
    while spaces < end and text[spaces].isspace():
        spaces += 1
    if spaces == high:
        while low > start and text[low - 1].isspace():
            low -= 1
    return low, spaces


def _quoted(text: str, at: int, quote: str, *, around: bool) -> Range | None:
    start, end = motions.line_start(text, at), motions.line_end(text, at)
    places = [i for i in range(start, end) if text[i] == quote and (i == start or text[i - 1] != "\\")]
    for low, high in zip(places[::2], places[1::2], strict=False):
        if at <= high:
            return (low, high + 1) if around else (low + 1, high)
    return None


def _bracketed(text: str, at: int, pair: str, *, around: bool) -> Range | None:
    opening, closing = pair
    depth = 0
    low = at
    while low >= 0:
        if low < len(text) and text[low] == closing and low != at:
            depth += 1
        elif low < len(text) and text[low] == opening:
            if depth == 0:
                break
            depth -= 1
        low -= 1
    if low < 0:
        return None
    depth = 0
    for high in range(low + 1, len(text)):
        if text[high] == opening:
            depth += 1
        elif text[high] == closing:
            if depth == 0:
                return (low, high + 1) if around else (low + 1, high)
            depth -= 1
    return None


def _paragraph(text: str, at: int, *, around: bool) -> Range:
    start = text.rfind("\n\n", 0, at)
    end = text.find("\n\n", at)
    low = 0 if start < 0 else start + 2
    high = len(text) if end < 0 else end + 1
    return (low, min(high + 1, len(text))) if around and end >= 0 else (low, high)
