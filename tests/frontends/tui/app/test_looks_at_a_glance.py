"""What the terminal shows without being asked: welcome, who speaks, colors of commands, who is read to."""

import re
from pathlib import Path
from typing import Any

from tests.fakes.messages_server import step
from tests.fakes.terminal import Emulator
from tests.frontends.tui.app.session import bridle

_ALLOWED = {"permissions": {"allow": ["Bash"]}}


def _calls(tool: str, id: str, **input: object) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": tool, "input": input}


async def test_the_welcome_names_model_key_folder_the_last_conversation_and_a_tip(tmp_path: Path):
    async with bridle(tmp_path, [step("Fixed.")]) as terminal:
        await terminal.until_text("Tip: ")
        rows = terminal.emulator.rows
        assert re.match(r"bridle \S+ · claude-sonnet-5-5 \(key from ANTHROPIC_API_KEY\)", rows[0])
        await terminal.say("fix the discount")
        await terminal.until_text("● Fixed.")
        terminal.type("\x04\x04")
        await terminal.ended()
        text = "\n".join(terminal.emulator.everything)
        assert re.search(r"● Fixed\.\n\nResume with: bridle --resume", text)
    async with bridle(tmp_path) as terminal:
        await terminal.until_text("Just now: fix the discount · /resume continues it")


async def test_a_welcome_in_a_narrow_window_is_whole(tmp_path: Path):
    async with bridle(tmp_path, size=(40, 14)) as terminal:
        await terminal.until_text("Tip: ")
        rows = terminal.emulator.rows
        assert re.fullmatch(r"bridle \S+ · claude-sonnet-5-5", rows[0])
        assert not any("…" in row for row in rows if row.startswith(("bridle", "Tip")))


async def test_prompts_and_changes_stand_on_bands_as_wide_as_the_window(tmp_path: Path):
    script = [step(_calls("Write", "toolu_w", file_path="a.py", content="x = 1\n")), step("Written.")]
    async with bridle(
        tmp_path, script, "--permission-mode", "acceptEdits", COLORTERM="truecolor"
    ) as terminal:
        await terminal.ready()
        await terminal.say("write it")
        await terminal.until_text("● Written.")
        screen = terminal.emulator
        prompt = next(at for at, row in enumerate(screen.rows) if row.startswith("❯ write it"))
        change = next(at for at, row in enumerate(screen.rows) if "1 + x = 1" in row)
        assert screen.color(prompt, 79).bg == screen.color(prompt, 3).bg != "default"
        assert screen.color(change, 79).bg == screen.color(change, 8).bg != "default"


async def test_progress_shows_its_last_state_and_commands_keep_their_colors(tmp_path: Path):
    command = r"printf 'step 1\rstep 2\rstep 3\n\033[31mred\033[0m\033]0;title\007\n'"
    script = [step(_calls("Bash", "toolu_b", command=command)), step("Printed.")]

    def is_red(screen: Emulator) -> bool:
        place = next((at for at, row in enumerate(screen.rows) if row.strip() == "red"), None)
        return place is not None and screen.color(place, 4).fg not in ("default", "white")

    def shows_last_step(screen: Emulator) -> bool:
        return [row.strip(" └") for row in screen.rows if "step" in row][1:] == ["step 3"]

    async with bridle(tmp_path, script, settings=_ALLOWED, size=(100, 30)) as terminal:
        await terminal.ready()
        await terminal.say("print it")
        await terminal.until_text("● Printed.")
        await terminal.until(lambda screen: shows_last_step(screen) and is_red(screen))
        assert b"\x1b]0;title" not in terminal.output
        result = terminal.asked[-1]["messages"][-1]["content"][0]["content"]
        assert "\x1b" not in str(result) and "step 1" not in str(result)


async def test_who_is_read_to_hears_no_prompt_between_sentences_and_no_status_row(tmp_path: Path):
    answer = "First.\n\nSecond.\n\n```\ncode\nmore\n```\n\nLast."
    async with bridle(tmp_path, [step(answer)], "--ax-screen-reader") as terminal:
        await terminal.ready()
        await terminal.say("read to me")
        await terminal.until_text("Last.")
        await terminal.until(lambda screen: screen.rows[screen.cursor[0]].startswith("❯"))
        rows = [row for row in terminal.emulator.everything if row]
        said = rows[next(at for at, row in enumerate(rows) if "First." in row) :]
        assert said == ["● First.", "Second.", "code", "more", "Last.", "❯"]
        assert not any("sonnet-5-5 ·" in row for row in rows)
        assert not any("for keys" in row for row in rows[rows.index("❯ read to me") + 1 :])


async def test_a_color_marks_the_lines_around_the_prompt(tmp_path: Path):
    async with bridle(tmp_path) as terminal:
        await terminal.ready()
        before = terminal.emulator.color(terminal.emulator.cursor[0] - 1, 0).fg
        await terminal.say("/color blue")
        await terminal.until_text("Set the session color to blue.")
        await terminal.until(lambda screen: screen.color(screen.cursor[0] - 1, 0).fg != before)


async def test_clearing_empties_the_window_and_keeps_the_past_above_it(tmp_path: Path):
    async with bridle(tmp_path, [step("Said before.")]) as terminal:
        await terminal.ready()
        await terminal.say("say it")
        await terminal.until_text("Said before.")
        await terminal.say("/clear")
        await terminal.until(lambda screen: "new conversation" in "".join(screen.rows[:2]))
        assert "/clear" not in terminal.emulator.text and "Said before." not in terminal.emulator.text
        assert any("Said before." in row for row in terminal.emulator.scrollback)


async def test_an_unknown_command_is_told_while_it_is_typed(tmp_path: Path):
    async with bridle(tmp_path) as terminal:
        await terminal.ready()
        terminal.type("/xyzzy")
        await terminal.until_text("no command matches")
        terminal.type("\x03")
        await terminal.until(lambda screen: "no command matches" not in screen.text)


async def test_past_prompts_are_searched_in_a_list_with_ages_and_keys(tmp_path: Path):
    async with bridle(tmp_path, [step("One."), step("Two.")]) as terminal:
        await terminal.ready()
        await terminal.say("alpha first")
        await terminal.until_text("One.")
        await terminal.say("alpha second")
        await terminal.until_text("Two.")
        terminal.type("\x12alph")
        await terminal.until_text("2 prompts")
        await terminal.until(lambda screen: re.search(r"› alpha second +now", screen.text))
        await terminal.until_text("enter send")
        terminal.type("\x1b[B")
        await terminal.until(lambda screen: re.search(r"› alpha first +now", screen.text))
        terminal.type("\t")
        await terminal.until(lambda screen: screen.rows[screen.cursor[0]] == "❯ alpha first")


async def test_a_folder_that_is_mentioned_lists_what_is_in_it(tmp_path: Path):
    async with bridle(tmp_path) as terminal:
        for name in ("src/one.py", "src/two.py", "deep/src/three.py"):
            path = terminal.program.project / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        (terminal.program.home / "notes.txt").touch()
        await terminal.ready()
        terminal.type("@src/")
        await terminal.until_text("› src/one.py")
        await terminal.until_text("src/two.py")
        assert "deep/" not in terminal.emulator.text
        terminal.type("\x03@~/no")
        await terminal.until_text("~/notes.txt")
