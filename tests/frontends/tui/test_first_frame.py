import signal
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.frontends.tui.first_frame import echo_of
from tests.fakes.terminal import PtyProgram

_TAKE_OVER = "tests.frontends.tui.programs:start_with_a_frame"
_BUSY = "tests.frontends.tui.programs:be_busy_behind_a_frame"
_FAIL = "tests.frontends.tui.programs:fail_after_a_frame"


async def test_prompt_is_there_before_the_rest_and_what_is_typed_meanwhile_is_kept():
    async with PtyProgram.of_function(_TAKE_OVER, answers={}) as program:
        await program.until_written("❯".encode())
        program.type("early words")
        await program.until_text("> early words")
        assert program.emulator.rows[:3] == ["-" * 80, "> early words", "-" * 80]
        assert program.emulator.everything == program.emulator.rows[:3]


async def test_keys_pressed_before_python_runs_are_neither_lost_nor_left_on_the_screen():
    async with PtyProgram.of_function(_TAKE_OVER, answers={}) as program:
        program.type("soon")
        await program.until_text("> soon")
        assert program.emulator.everything == ["-" * 80, "> soon", "-" * 80]


async def test_a_failed_start_takes_the_prompt_away_and_restores_the_terminal():
    async with PtyProgram.of_function(_FAIL) as program:
        assert await program.ended() == 1
        await program.until_text("no luck")
        assert "❯" not in program.emulator.text
        assert program.settings() == program.before


async def test_a_crash_during_the_start_restores_the_terminal():
    async with PtyProgram.of_function("tests.frontends.tui.programs:crash_after_a_frame") as program:
        assert await program.ended() == 1
        await program.until_text("as planned")
        assert program.settings() == program.before


@pytest.mark.parametrize(
    ("env", "size"),
    [({"TERM": "dumb"}, (80, 24)), ({"CLAUDE_AX_SCREEN_READER": "1"}, (80, 24)), ({}, (2, 2))],
)
async def test_nothing_is_drawn_where_it_could_not_be_shown(env: dict[str, str], size: tuple[int, int]):
    async with PtyProgram.of_function(_FAIL, env=env, size=size) as program:
        await program.ended()
        assert "❯".encode() not in program.output


async def test_what_is_typed_is_shown_while_the_program_is_still_busy():
    async with PtyProgram.of_function(_BUSY, answers={}) as program:
        await program.until_written("❯".encode())
        program.type("naïve wrds")
        await program.until_text("❯ naïve wrds")
        program.type("\x7f\x7f\x7fords")
        await program.until(lambda screen: "❯ naïve words" in screen.rows)
        assert program.emulator.rows[:3] == ["─" * 80, "❯ naïve words", "─" * 80]
        assert program.emulator.cursor == (1, len("❯ naïve words"))


async def test_what_is_typed_reaches_the_program_whole_and_in_order_across_the_change():
    async with PtyProgram.of_function(_BUSY, answers={}) as program:
        await program.until_written("❯".encode())
        program.type("one tw")
        await program.until_text("❯ one tw")
        program.type("o.")
        program.type(" three")
        await program.until_text("> one two. three")
        assert program.emulator.everything == ["-" * 80, "> one two. three", "-" * 80]


async def test_keys_that_only_the_whole_program_knows_wait_for_it():
    async with PtyProgram.of_function(_BUSY, answers={}) as program:
        await program.until_written("❯".encode())
        program.type("go.\rmore")
        await program.until_text("> more")
        assert "said go." in program.emulator.text


async def test_a_character_that_comes_in_two_parts_is_shown_once_it_is_whole():
    async with PtyProgram.of_function(_BUSY, answers={}) as program:
        await program.until_written("❯".encode())
        first, second = "é".encode()[:1], "é".encode()[1:]
        program.type(b"caf" + first)
        await program.until_text("❯ caf")
        program.type(second)
        await program.until_text("❯ café")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
async def test_a_signal_during_the_start_ends_the_program_and_restores_the_terminal(number: signal.Signals):
    async with PtyProgram.of_function(_BUSY, answers={}) as program:
        await program.until_written("❯".encode())
        program.type("some")
        await program.until_text("❯ some")
        program.process.send_signal(number)
        assert await program.ended() == -number
        assert program.emulator.text == ""
        assert program.settings() == program.before


async def test_a_window_that_closes_during_the_start_ends_the_program():
    async with PtyProgram.of_function(_BUSY) as program:
        await program.until_written("❯".encode())
        program.hang_up()
        assert await program.ended() != 0


@given(st.text(alphabet="ab é\x7f\r\x1b世", max_size=30), st.integers(3, 20))
def test_an_echo_fits_its_row_and_stops_at_the_first_unknown_key(typed: str, columns: int):
    shown, is_all = echo_of(typed, columns)
    assert len("❯ ") + len(shown) < columns
    assert set(shown) <= set("ab é")
    assert is_all or echo_of(typed + "a\x7f\x7f", columns) == (shown, False)
    if is_all:
        assert not set(typed) & set("\r\x1b世")
        assert echo_of(f"{typed}\x7f", columns) == (shown[:-1], True)


def test_first_frame_needs_only_a_few_modules():
    code = (
        "import sys; before = set(sys.modules); import bridle.frontends.tui.first_frame; "
        "print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert {name for name in loaded if name.startswith("bridle")} == {
        "bridle", "bridle.frontends", "bridle.frontends.tui",
        "bridle.frontends.tui.first_frame", "bridle.frontends.tui.raw_mode",
    }  # fmt: skip
    # `signal` brings `enum` and what that stands on, which reading the command line has loaded already.
    assert loaded <= _SMALL | {name for name in loaded if name.startswith("bridle")}


_SMALL = {
    "atexit", "termios", "select", "signal", "enum", "types", "operator", "_operator", "functools",
    "_functools", "collections", "collections.abc", "_collections", "keyword", "reprlib", "itertools",
}  # fmt: skip
