import base64

import pytest

from bridle.frontends.tui.terminal.desktop import (
    BELL,
    copy,
    no_progress,
    notify,
    pass_through,
    progress,
    title,
)


def test_titles_cannot_carry_sequences():
    assert title("my\x1b]0;evil\x07 task\n") == "\x1b]0;my ]0;evil  task\x07"


def test_text_is_copied_through_the_terminal():
    plain = f"\x1b]52;c;{base64.b64encode('é'.encode()).decode()}\x07"
    assert copy("é", {}) == plain
    assert copy("x" * 2_000_000, {}) == ""
    assert copy("é", {"TMUX": "x"}).startswith(plain + "\x1bPtmux;\x1b\x1b]52;")


@pytest.mark.parametrize(
    ("env", "start"),
    [
        ({"TERM_PROGRAM": "iTerm.app"}, "\x1b]9;done"),
        ({"TERM": "xterm-kitty"}, "\x1b]99;"),
        ({"TERM_PROGRAM": "ghostty"}, "\x1b]777;notify;bridle;done"),
        ({"VTE_VERSION": "7000"}, "\x1b]777;"),
        ({"TERM": "xterm"}, BELL),
        ({"TERM_PROGRAM": "iTerm.app", "TMUX": "x"}, "\x1bPtmux;\x1b\x1b]9;done"),
    ],
)
def test_notifications_use_what_the_terminal_knows(env: dict[str, str], start: str):
    assert notify("done", head="bridle", channel="auto", env=env).startswith(start)


def test_the_channel_can_be_chosen():
    assert notify("x", head="h", channel="notifications_disabled", env={}) == ""
    assert notify("x", head="h", channel="terminal_bell", env={"TERM": "xterm-kitty"}) == BELL
    assert notify("x\x07y", head="h", channel="iterm2_with_bell", env={}) == "\x1b]9;x y\x07\x07"


def test_progress_is_shown_and_taken_away():
    assert (progress(None), progress(140), progress(50, failed=True), no_progress()) == (
        "\x1b]9;4;3;\x07", "\x1b]9;4;1;100\x07", "\x1b]9;4;2;50\x07", "\x1b]9;4;0;\x07",
    )  # fmt: skip


def test_screen_gets_long_sequences_in_pieces():
    wrapped = pass_through("\x1b]52;c;" + "A" * 600 + "\x07", {"TERM": "screen", "STY": "1"})
    assert wrapped.count("\x1bP") == 3
