import os
import signal

import pytest

from tests.fakes.terminal import PtyProgram


def _desk() -> PtyProgram:
    return PtyProgram.of_function("tests.frontends.tui.app.programs:desk", size=(60, 12))


@pytest.mark.parametrize("key", ["\x18", "\x14"])
async def test_a_defect_leaves_the_terminal_in_order(key: str):
    async with _desk() as terminal:
        await terminal.until_text("going on")
        terminal.type(key)
        assert await terminal.ended() == 1
        assert terminal.settings() == terminal.before
        assert "RuntimeError" in terminal.emulator.text


async def test_one_question_is_open_at_a_time_and_urgent_ones_come_next():
    async with _desk() as terminal:
        await terminal.until_text("going on")
        terminal.type("\x0f")
        await terminal.until_text("─ usual ")
        assert "urgent" not in terminal.emulator.text
        terminal.type("1")
        await terminal.until_text("─ urgent ")
        terminal.type("2")
        await terminal.until_text("─ later ")
        terminal.type("\x1b")
        await terminal.until_text("later no")
        rows = [row for row in terminal.emulator.rows if row]
        assert rows[:3] == ["usual yes", "urgent no", "later no"]
        terminal.type("\x04")
        assert await terminal.ended() == 0


async def test_letters_reach_the_input_when_no_question_is_open():
    async with _desk() as terminal:
        await terminal.until_text("going on")
        terminal.type("hello")
        await terminal.until_text("> hello")
        terminal.type(b"\x1b[200~ world\x1b[201~")
        await terminal.until_text("> hello world")


async def test_what_is_typed_before_there_is_anybody_to_take_it_is_shown_and_then_taken():
    async with PtyProgram.of_function(
        "tests.frontends.tui.app.programs:desk_later", size=(60, 12)
    ) as terminal:
        await terminal.until_written(b"\x1b[?2004h")
        terminal.type("early wrds")
        await terminal.until_text("❯ early wrds")
        terminal.type("\x7f\x7f\x7fords")
        await terminal.until(lambda screen: "❯ early words" in screen.rows)
        assert terminal.emulator.rows[:3] == ["─" * 60, "❯ early words", "─" * 60]
        os.kill(terminal.process.pid, signal.SIGUSR1)
        # The desk does not know the key that erases.
        await terminal.until_text("> early wrdsords")
        assert "❯" not in terminal.emulator.text
