"""The conversation in a window of its own, instead of the terminal's scrollback."""

from pathlib import Path

import pytest

from bridle.frontends.tui.screen.scrollback import Scrollback
from bridle.frontends.tui.style.text import line, text_of
from tests.fakes.messages_server import step
from tests.frontends.tui.app.session import bridle

_PAGE_UP, _PAGE_DOWN = "\x1b[5~", "\x1b[6~"
_LONG = "\n\n".join(f"Part {number}." for number in range(1, 41))


async def test_the_setting_gives_the_conversation_a_window_and_leaves_it_in_the_scrollback(tmp_path: Path):
    settings = {"tui": "fullscreen"}
    async with bridle(tmp_path, [step(_LONG), step("Again.")], settings=settings) as terminal:
        await terminal.ready()
        assert terminal.emulator.is_alternate
        assert terminal.emulator.rows[0].startswith("bridle")
        assert terminal.emulator.rows[-1].startswith("sonnet-5-5")
        await terminal.say("tell me")
        await terminal.until_text("Part 40.")
        await terminal.ready()
        assert "Part 20." not in terminal.emulator.text
        terminal.type(_PAGE_UP)
        await terminal.until(lambda screen: "Part 30." in screen.text and "below · pgdn" in screen.text)
        terminal.type(_PAGE_UP * 9)
        await terminal.until(lambda screen: screen.rows[0].startswith("bridle"))
        terminal.type(_PAGE_DOWN)
        await terminal.until(lambda screen: not screen.rows[0].startswith("bridle"))
        await terminal.say("and again")
        await terminal.until_text("Again.")
        assert "below" not in terminal.emulator.text
        terminal.type("\x04\x04")
        await terminal.ended()
        assert not terminal.emulator.is_alternate
        everything = "\n".join(terminal.emulator.everything)
        assert [everything.count(f"Part {number}.") for number in (1, 20, 40)] == [1, 1, 1]
        assert everything.count("Again.") == 1


async def test_the_command_changes_to_the_window_and_back_without_saying_anything_twice(tmp_path: Path):
    async with bridle(tmp_path, [step("First."), step("Second."), step("Third.")]) as terminal:
        await terminal.ready()
        await terminal.say("one")
        await terminal.until_text("First.")
        await terminal.say("/tui fullscreen")
        await terminal.until(lambda screen: screen.is_alternate and "First." in screen.text)
        await terminal.say("two")
        await terminal.until_text("Second.")
        await terminal.say("/tui default")
        await terminal.until(lambda screen: not screen.is_alternate and "Second." in screen.text)
        await terminal.say("three")
        await terminal.until_text("Third.")
        everything = "\n".join(terminal.emulator.everything)
        assert [everything.count(word) for word in ("First.", "Second.", "Third.")] == [1, 1, 1]


async def test_questions_and_views_stand_in_the_window(tmp_path: Path):
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "rm -rf build"}}
    settings = {"tui": "fullscreen"}
    async with bridle(tmp_path, [step(call)], settings=settings) as terminal:
        await terminal.ready()
        await terminal.say("clean up")
        await terminal.until(lambda screen: "Run a command?" in screen.text and "to choose" in screen.text)
        assert terminal.emulator.is_alternate and terminal.emulator.rows[0].startswith("bridle")
        terminal.type("\x1b")
        await terminal.ready()
        await terminal.say("/status")
        await terminal.until_text("esc close")
        terminal.type("\x1b")
        await terminal.ready()
        assert terminal.emulator.is_alternate and "❯ clean up" in terminal.emulator.text
        terminal.resize(50, 12)
        await terminal.until(
            lambda screen: screen.rows[-1].startswith("sonnet-5-5") and len(screen.rows) == 12
        )


@pytest.mark.parametrize(("classic", "covers"), [("0", True), ("1", False)])
async def test_the_environment_decides_too(tmp_path: Path, classic: str, covers: bool):
    asked = {"CLAUDE_CODE_NO_FLICKER": "1", "CLAUDE_CODE_DISABLE_ALTERNATE_SCREEN": classic}
    async with bridle(tmp_path, settings={"env": asked}) as terminal:
        await terminal.ready()
        assert terminal.emulator.is_alternate is covers


def test_who_has_scrolled_up_stays_there_while_more_is_finished():
    backlog = Scrollback()
    backlog.add([line(f"row {number}") for number in range(100)])
    assert _shown(backlog) == ["row 95", "row 96", "row 97", "row 98", "row 99"]
    backlog.scroll("scroll:pageUp")
    before = _shown(backlog)
    backlog.add([line("new")])
    after = _shown(backlog)
    assert before[:4] == after[:4] == ["row 92", "row 93", "row 94", "row 95"]
    assert (before[4], after[4]) == ("↓ 3 rows below · pg…", "↓ 4 rows below · pg…")
    backlog.follow()
    assert _shown(backlog)[-1] == "new"


def test_long_lines_are_broken_and_short_conversations_begin_at_the_top():
    backlog = Scrollback([line("past")])
    backlog.add([line("a" * 25)])
    assert _shown(backlog) == ["past", "a" * 20, "a" * 5, "", ""]
    assert backlog.lines == (line("a" * 25),)


def test_what_is_kept_has_an_end():
    backlog = Scrollback()
    for number in range(30):
        backlog.add([line(f"row {number} {index}") for index in range(1000)])
    assert len(backlog.lines) == 10_000


def _shown(backlog: Scrollback) -> list[str]:
    return [text_of(row) for row in backlog.rows(20, 5, (), key="pgdn")]
