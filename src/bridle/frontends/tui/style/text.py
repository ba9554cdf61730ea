"""Text with a look: what every renderer returns and the screen writes."""

from msgspec import Struct


class Style(Struct, frozen=True, kw_only=True):
    """How a piece of text looks.

    Colors are names of the theme (`accent`, `code.keyword`); where they come from outside, as in the output
    of a command, also `ansi.0` to `ansi.255` and `#rrggbb`.
    """

    color: str | None = None
    background: str | None = None
    bold: bool = False
    dim: bool = False
    italic: bool = False
    underline: bool = False
    strike: bool = False
    inverse: bool = False
    link: str | None = None
    """Where a click leads, in terminals that know links."""


PLAIN = Style()


class Span(Struct, frozen=True):
    """A run of text in one style; it holds no control characters."""

    text: str
    style: Style = PLAIN


class InlineImage(Span, frozen=True):
    """An image, alone in its line; where it cannot be drawn, its text stands for it."""

    sequence: str = ""
    """What draws it from the cursor on, of which nothing came from outside unfiltered."""
    rows: int = 1


Line = tuple[Span, ...]
"""One row of the screen or, before wrapping, one logical line."""


def line(text: str, style: Style = PLAIN) -> Line:
    """A line of one span."""
    return (Span(text, style),)


def text_of(line: Line) -> str:
    """What a line says, without its look."""
    return "".join(span.text for span in line)
