import pytest

from tests.fakes.terminal import PtyProgram


def _desk() -> PtyProgram:
    return PtyProgram.of_function("tests.tui.app.programs:desk", size=(60, 12))


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
