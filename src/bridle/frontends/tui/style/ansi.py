"""Reads the colors of command output, and nothing else, from its escape sequences."""

import re
from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from bridle.frontends.tui.style.cells import width
from bridle.frontends.tui.style.sanitize import BREAKS, SEQUENCE, clean, expand_row, settle
from bridle.frontends.tui.style.text import PLAIN, Line, Span, Style

_SGR = re.compile("(?:\x1b\\[|\x9b)([0-9;:]*)m")
_ATTRIBUTES: Mapping[int, Mapping[str, bool | None]] = {
    1: {"bold": True},
    2: {"dim": True},
    3: {"italic": True},
    4: {"underline": True},
    7: {"inverse": True},
    9: {"strike": True},
    21: {"underline": True},
    22: {"bold": False, "dim": False},
    23: {"italic": False},
    24: {"underline": False},
    27: {"inverse": False},
    29: {"strike": False},
    39: {"color": None},
    49: {"background": None},
}


def from_ansi(text: str) -> list[Line]:
    """The lines of a command's output in its own colors; everything else is dropped as by `clean`."""
    if "\x1b" not in text and "\x9b" not in text:
        return [(Span(row),) if row else () for row in clean(text).split("\n")]
    kept = SEQUENCE.sub(lambda match: match[0] if _SGR.fullmatch(match[0]) else "", text)
    style = PLAIN
    lines: list[Line] = []
    for row in BREAKS.sub("\n", kept).split("\n"):
        spans, style = _read_row(row.rstrip("\r"), style)
        lines.append(spans)
    return lines


def _read_row(row: str, style: Style) -> tuple[Line, Style]:
    """One line, and the style that the next one begins with."""
    spans: list[Span] = []
    column = 0
    for index, piece in enumerate(_SGR.split(row)):
        if index % 2:
            style = _apply(style, piece)
            continue
        if "\r" in piece:
            spans.clear()
            column = 0
        if shown := expand_row(settle(piece.rpartition("\r")[2]), column=column):
            spans.append(Span(shown, style))
            column += width(shown)
    return tuple(spans), style


def _apply(style: Style, parameters: str) -> Style:
    codes = _codes(parameters)
    for code in codes:
        if code == 0:
            style = PLAIN
        elif code in _ATTRIBUTES:
            style = replace(style, **_ATTRIBUTES[code])
        elif code in (38, 48):
            color = _extended(codes)
            style = replace(style, color=color) if code == 38 else replace(style, background=color)
        elif 30 <= code <= 37 or 90 <= code <= 97:
            style = replace(style, color=f"ansi.{code - 30 if code < 90 else code - 82}")
        elif 40 <= code <= 47 or 100 <= code <= 107:
            style = replace(style, background=f"ansi.{code - 40 if code < 100 else code - 92}")
    return style


def _codes(parameters: str) -> Iterator[int]:
    """The numbers of a sequence; with colons, `38:2::r:g:b` is brought into the older form."""
    for part in parameters.split(";"):
        head, *rest = part.split(":")
        code = int(head[:4] or 0)
        yield code
        if code in (38, 48) and rest:
            kind = rest[0]
            # The field before the color names a color space, which is unused.
            values = rest[-3:] if kind == "2" else rest[1:2]
            yield from (int(value[:4] or 0) for value in (kind, *values))
        elif code == 4 and rest == ["0"]:
            yield 24


def _extended(codes: Iterator[int]) -> str | None:
    match next(codes, 0):
        case 5:
            return f"ansi.{min(next(codes, 0), 255)}"
        case 2:
            red, green, blue = (min(next(codes, 0), 255) for _ in range(3))
            return f"#{red:02x}{green:02x}{blue:02x}"
        case _:
            return None
