"""Text as nobody wants it: control sequences, wide and joined characters, writing from right to left."""

from hypothesis import strategies as st

from bridle.frontends.tui.style.cells import line_width
from bridle.frontends.tui.style.text import Line

_NASTY = (
    "\x1b[31mred\x1b[0m", "\x1b]8;;http://evil\x07x\x1b]8;;\x07", "\x1b]0;title\x07", "\x9b2J",
    "\x1bP1$q\x1b\\", "\x07", "\x08\x08", "\r", "\r\n", "\n", "\n\n", "\t", "\x00", "\x7f",
    "\u202egnp.exe", "\u2066", "日本語テキスト", "👨‍👩‍👧‍👦", "🇩🇪", "é", "שלום עולם", "مرحبا", "\u200b",
    "\ud800", "word", "a" * 90, " ", "{", "**", "```", "/home/u/file.py", "| a |", "\ufeff",
    "\u2028", "\U000e0041",
)  # fmt: skip

nasty_text = st.lists(st.sampled_from(_NASTY) | st.text(max_size=8), max_size=20).map("".join)
widths = st.integers(1, 200)


def assert_sound(lines: list[Line], width: int) -> None:
    """No line is too wide, and none holds what could drive a terminal."""
    for line in lines:
        assert line_width(line) <= width, (width, line)
        for span in line:
            assert not any(_drives(c) for c in span.text), repr(span.text)
            assert span.style.link is None or not any(_drives(c) for c in span.style.link)


def _drives(character: str) -> bool:
    code = ord(character)
    return (
        code < 32 or 0x7F <= code < 0xA0 or 0xD800 <= code < 0xE000 or character in "\u202e\u202d\u2066\u2028"
    )
