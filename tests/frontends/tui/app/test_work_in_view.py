"""What is being done is on the screen: tasks, commands and agents in the background, and what goes on."""

import re
import time
from pathlib import Path
from typing import Any

from tests.fakes.messages_server import step
from tests.fakes.terminal import Emulator
from tests.frontends.tui.app.session import bridle

_ALLOWED = {"permissions": {"allow": ["Bash"]}}
_DOWN = "\x1b[B"
_CTRL_T = "\x14"


def _calls(tool: str, id: str, **input: object) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": tool, "input": input}


def _task(number: int, subject: str, active: str) -> dict[str, Any]:
    return _calls("TaskCreate", f"toolu_c{number}", subject=subject, description=subject, activeForm=active)


def _update(number: int, status: str) -> dict[str, Any]:
    return _calls("TaskUpdate", f"toolu_u{number}{status}", taskId=str(number), status=status)


_WAIT = "until [ -e go ]; do sleep 0.05; done"


async def test_the_task_list_lives_below_the_spinner_and_leaves_one_row_behind(tmp_path: Path):
    script = [
        step(_task(1, "Read the sums", "Reading the sums"), _task(2, "Fix the sums", "Fixing the sums")),
        step(_update(1, "completed"), _update(2, "in_progress")),
        step(_calls("Bash", "toolu_wait", command=_WAIT)),
        step("All fixed."),
    ]
    async with bridle(tmp_path, script, settings=_ALLOWED, size=(100, 30)) as terminal:
        await terminal.ready()
        await terminal.say("work through it")
        await terminal.until_text("Fixing the sums…")
        await terminal.until_text("▸ Fixing the sums")
        await terminal.until_text("✓ Read the sums")
        await terminal.until_text("1 of 2 tasks")
        await terminal.until_written(b"(1 of 2) work through it")
        rows = terminal.emulator.rows
        spinner = next(at for at, row in enumerate(rows) if "Fixing the sums…" in row)
        assert rows[spinner + 1].startswith("✓ Read the sums")
        assert "✓ Tasks · 2 added" in "\n".join(rows)
        assert not re.search(r"TaskUpdate|TaskCreate|pending", terminal.emulator.text)
        terminal.type(_CTRL_T)
        await terminal.until(lambda screen: "✓ Read the sums" not in screen.text)
        terminal.type(_CTRL_T)
        await terminal.until_text("✓ Read the sums")
        (terminal.program.project / "go").touch()
        await terminal.until_text("All fixed.")
        await terminal.until(lambda screen: "▸ Fixing the sums" in screen.text)


async def test_a_list_written_as_a_whole_is_one_row_in_the_scrollback(tmp_path: Path):
    todos = [
        {"content": "Read", "status": "completed", "activeForm": "Reading"},
        {"content": "Write", "status": "in_progress", "activeForm": "Writing"},
    ]
    script = [step(_calls("TodoWrite", "toolu_t", todos=todos)), step("Listed.")]
    async with bridle(tmp_path, script, CLAUDE_CODE_ENABLE_TASKS="0") as terminal:
        await terminal.ready()
        await terminal.say("list it")
        await terminal.until_text("Listed.")
        await terminal.until_text("✓ Tasks · 1 of 2 done · Writing")
        await terminal.until(lambda screen: screen.text.count("▸ Writing") == 1)


async def test_a_resumed_conversation_shows_the_tasks_that_were_kept(tmp_path: Path):
    session = "00000000-0000-4000-8000-000000000007"
    script = [step(_task(1, "Fix the sums", "Fixing the sums")), step("Noted.")]
    async with bridle(tmp_path, script, "--session-id", session) as terminal:
        await terminal.ready()
        await terminal.say("note it")
        await terminal.until_text("Noted.")
        terminal.type("\x04\x04")
        await terminal.ended()
    async with bridle(tmp_path, [], "--resume", session) as terminal:
        await terminal.until_text("○ Fix the sums")
        await terminal.until_text("0 of 1 tasks")


async def test_commands_in_the_background_are_counted_and_arrow_down_opens_them(tmp_path: Path):
    background = _calls("Bash", "toolu_b", command=_WAIT, run_in_background=True, description="Wait for it")
    async with bridle(tmp_path, [step(background), step("It runs.")], settings=_ALLOWED) as terminal:
        await terminal.ready()
        await terminal.say("start it")
        await terminal.until_text("It runs.")
        await terminal.until_text("1 shell (↓ to open)")
        terminal.type(_DOWN)
        await terminal.until_text("Background work")
        await terminal.until_text("Wait for it")
        terminal.type("\x1b")
        await terminal.until(lambda screen: not screen.is_alternate)
        assert not any("/tasks" in row for row in terminal.emulator.everything)
        assert b"/tasks" not in b"".join(re.findall(rb"\x1b\][02];([^\x07\x1b]*)", terminal.output))
        (terminal.program.project / "go").touch()
        await terminal.until(lambda screen: "1 shell" not in screen.text)
        await terminal.until_text("✓ Wait for it · completed")


async def test_a_command_that_takes_long_says_how_to_move_it_to_the_background(tmp_path: Path):
    script = [step(_calls("Bash", "toolu_b", command=_WAIT)), step("Moved on.")]
    async with bridle(tmp_path, script, settings=_ALLOWED) as terminal:
        await terminal.ready()
        await terminal.say("start it")
        await terminal.until_text("ctrl+b to run in the background")
        terminal.type("\x02")
        await terminal.until_text("Moved on.")
        await terminal.until_text("1 shell (↓ to open)")
        (terminal.program.project / "go").touch()


async def test_a_call_that_waits_for_a_person_has_no_time_and_the_title_says_who_is_waited_for(
    tmp_path: Path,
):
    script = [step(_calls("Bash", "toolu_b", command="touch made")), step("Ran.")]

    def waits(screen: Emulator) -> bool:
        return any(re.match(r"○ Bash touch made$", row) for row in screen.rows)

    async with bridle(tmp_path, script, TERM_PROGRAM="iTerm.app") as terminal:
        await terminal.ready()
        await terminal.say("run it")
        await terminal.until_text("enter to choose")
        await terminal.until(waits)
        await terminal.until_written("\x1b]0;◐ run it".encode())
        await terminal.until_written("\x1b]0;● run it".encode())
        assert b"\x1b]9;Your" not in terminal.output
        terminal.type("\x1b[O")
        await terminal.until_written(b"\x1b]9;Bash needs your approval")
        terminal.type("\x1b[I1")
        await terminal.until_text("Ran.")
        await terminal.until_written("\x1b]0;run it · bridle".encode())


async def test_the_time_of_a_turn_is_counted_without_the_time_at_its_questions(tmp_path: Path):
    script = [step(_calls("Bash", "toolu_b", command="touch made"))]
    async with bridle(tmp_path, script, "--max-turns", "1") as terminal:
        await terminal.ready()
        sent = time.monotonic()
        await terminal.say("run it")
        await terminal.until_text("enter to choose")
        asked = time.monotonic()
        await terminal.until(lambda _: time.monotonic() - asked > 1)
        answered = time.monotonic()
        terminal.type("1")
        await terminal.until_text("stopped at the turn limit")
        await terminal.until(lambda screen: _seconds(screen) is not None)
        # What was seen of the question is a part of its time: the rest cannot be longer than this.
        most = time.monotonic() - sent - (answered - asked)
        assert (_seconds(terminal.emulator) or 0.0) <= most + 0.05


def _seconds(screen: Emulator) -> float | None:
    """The time in the row at the end of a turn."""
    found = re.search(r"^· ([\d.]+) s\b", screen.text, re.MULTILINE)
    return None if found is None else float(found[1])


async def test_a_prompt_that_waits_names_the_key_that_takes_it_back(tmp_path: Path):
    script = [step(_calls("Bash", "toolu_b", command=_WAIT)), step("Gone through."), step("Later.")]
    async with bridle(tmp_path, script, settings=_ALLOWED) as terminal:
        await terminal.ready()
        await terminal.say("wait for it")
        await terminal.until_text("esc to interrupt")
        await terminal.say("and then this")
        await terminal.until_text("⧗ and then this (↑ to edit)")
        terminal.type("\x1b[A")
        await terminal.until_text("❯ and then this")
        (terminal.program.project / "go").touch()
        await terminal.until_text("Gone through.")


async def test_what_a_key_did_is_told_below_the_input_and_not_in_the_conversation(tmp_path: Path):
    async with bridle(tmp_path, size=(100, 20)) as terminal:
        await terminal.ready()
        terminal.type("\x14")
        await terminal.until(
            lambda screen: screen.rows[-1].endswith("no open tasks") or "no open tasks" in screen.text
        )
        terminal.type("\x1bt")
        await terminal.until_text("thinking is off from the next prompt")
        await terminal.until(lambda screen: "no open tasks" not in screen.text)
        row = next(row for row in terminal.emulator.rows if "thinking is off" in row)
        assert row.startswith("sonnet-5-5")


async def test_the_spinner_says_what_goes_on(tmp_path: Path):
    script = [step(_calls("Bash", "toolu_b", command=f"{_WAIT} # pytest")), step("Tested.")]
    async with bridle(tmp_path, script, settings=_ALLOWED) as terminal:
        await terminal.ready()
        await terminal.say("test it")
        await terminal.until_text("Running tests…")
        (terminal.program.project / "go").touch()
        await terminal.until_text("Tested.")
