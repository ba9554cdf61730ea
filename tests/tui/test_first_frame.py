import subprocess
import sys

import pytest

from tests.fakes.terminal import PtyProgram

_TAKE_OVER = "tests.tui.programs:start_with_a_frame"
_FAIL = "tests.tui.programs:fail_after_a_frame"


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
    async with PtyProgram.of_function("tests.tui.programs:crash_after_a_frame") as program:
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


def test_first_frame_needs_only_a_few_modules():
    code = (
        "import sys; before = set(sys.modules); import bridle.frontends.tui.first_frame; "
        "print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) <= {
        "atexit", "termios", "bridle", "bridle.frontends", "bridle.frontends.tui",
        "bridle.frontends.tui.first_frame", "bridle.frontends.tui.raw",
    }  # fmt: skip
