"""What a program has shown, as text."""

import pyte
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.host.jobs.screen_text import REPAINT, ScreenText


def _shown_text(data: bytes, *, rows: int = 24, columns: int = 80) -> list[str]:
    screen = ScreenText(rows, columns)
    screen.feed(data)
    return screen.lines()


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (b"one\r\ntwo\r\n", ["one", "two"]),
        (b"10%\r50%\r100%\r\ndone", ["100%", "done"]),
        (b"\x1b[1;31mred\x1b[0m and plain", ["red and plain"]),
        (b"\x1b]0;a title\x07text\x1b]8;;https://x\x1b\\link\x1b]8;;\x1b\\", ["textlink"]),
        (b"first\r\nsecond\x1b[1A\r\x1b[2Kother\x1b[1B\r\n", ["other", "second"]),
        (b"gone\x1b[2J\x1b[Hhere", ["here"]),
        (b"abc\b\bX", ["aXc"]),
        (b"below\x1b[?1049h\x1b[Hcovers\x1b[?1049l!", ["below!"]),
        (b"\xe5\xb9\x85a\rX", ["X a"]),
        (b"a\tb", ["a       b"]),
        (b"\x1b[?25l\x1b[?2004h\x1b[>1uquiet", ["quiet"]),
    ],
)
def test_control_sequences_are_followed_and_not_shown(shown: bytes, text: list[str]):
    assert _shown_text(shown) == text


def test_lines_that_scroll_away_are_kept():
    shown = b"".join(b"%d\r\n" % number for number in range(100))
    assert _shown_text(shown, rows=10) == [str(number) for number in range(100)]


def test_after_a_repaint_only_the_new_picture_counts():
    assert _shown_text(b"old\r\nold\r\n" + REPAINT.encode() + b"\x1b[H\x1b[2Jnew") == ["new"]


def test_a_sequence_may_come_in_pieces():
    paper = ScreenText(24, 80)
    for byte in b"a\x1b[31mb\x1b]0;t\x07c":
        paper.feed(bytes((byte,)))
    assert paper.lines() == ["abc"]


_MOVES = st.sampled_from([
    "\r", "\n", "\r\n", "\b", "\x1b[A", "\x1b[2B", "\x1b[C", "\x1b[3D", "\x1b[K", "\x1b[1K", "\x1b[2K",
    "\x1b[J", "\x1b[H", "\x1b[3;5H", "\x1b[5G", "\x1b[0m", "\x1b[1;32m",
])  # fmt: skip


@given(st.lists(st.one_of(_MOVES, st.text("abc xyz", min_size=1, max_size=12)), max_size=40))
def test_the_window_is_what_a_terminal_would_show(pieces: list[str]):
    # Wide enough that nothing is written into the last column, where terminals differ.
    screen = pyte.Screen(600, 8)
    pyte.Stream(screen).feed("".join(pieces))
    wanted = [row.rstrip() for row in screen.display]
    paper = ScreenText(8, 600)
    paper.feed("".join(pieces).encode())
    shown = [line.rstrip() for line in paper.window()]
    assert shown == wanted
