"""Links as pictures that a phone can read."""

import os

from bridle.cli.say import say

_QUIET_ZONE = 2


def show_link(link: str) -> None:
    """Print a link, at a terminal as a QR code too."""
    show_code(link)
    say(f"{link}\n")


def show_code(link: str) -> None:
    """Print a link as a QR code, where there is a terminal."""
    if os.isatty(1) and (code := qr_code(link)):
        say(code)


def qr_code(text: str) -> str:
    """A QR code of half blocks; empty where the package for it is missing."""
    try:
        import segno
    except ImportError:
        return ""
    rows = [list(row) for row in segno.make(text, error="l", micro=False).matrix_iter(border=_QUIET_ZONE)]
    if len(rows) % 2:
        rows.append([0] * len(rows[0]))
    lines = list[str]()
    for upper, lower in zip(rows[::2], rows[1::2], strict=True):
        # Dark on light, whatever the colors of the terminal are.
        cells = ("█▀▄ "[2 * bool(a) + bool(b)] for a, b in zip(upper, lower, strict=True))
        lines.append(f"\x1b[38;5;231;48;5;16m{''.join(cells)}\x1b[0m\n")
    return "".join(lines)
