"""The choices of the permission question on the real screen, and what follows from them."""

import json
from pathlib import Path

from tests.fakes.messages_server import step
from tests.frontends.tui.app.session import Terminal, bridle

_DOWN = "\x1b[B"
_TRANSCRIPT = "\x0f"


def _bash(command: str, number: int = 1) -> dict[str, object]:
    return {"type": "tool_use", "id": f"toolu_{number}", "name": "Bash", "input": {"command": command}}


async def _asked(terminal: Terminal) -> None:
    await terminal.ready()
    await terminal.say("do it")
    await terminal.until(lambda screen: "Run a command?" in screen.text and "enter to choose" in screen.text)


async def test_enter_on_edit_the_command_never_runs_the_original(tmp_path: Path):
    async with bridle(tmp_path, [step(_bash("touch original")), step("Done.")]) as terminal:
        await _asked(terminal)
        number = next(row for row in terminal.emulator.rows if "Edit the command" in row).strip()[0]
        terminal.type(_DOWN * (int(number) - 1))
        await terminal.until_text("enter to edit")
        terminal.type("\r")
        await terminal.until_text("Edit the command: touch original")
        terminal.type("\r")
        await terminal.until_text("edit the command first")
        terminal.type("\x15touch changed\r")
        await terminal.until_text("Done.")
        project = terminal.program.project
        assert (project / "changed").exists() and not (project / "original").exists()


async def test_a_changed_command_is_what_screen_transcript_and_model_see(tmp_path: Path):
    script = [step(_bash("npm run build -- --mode production")), step("I see.")]
    async with bridle(tmp_path, script, size=(100, 30)) as terminal:
        await _asked(terminal)
        number = next(row for row in terminal.emulator.rows if "Edit the command" in row).strip()[0]
        terminal.type(number)
        await terminal.until_text("Edit the command: npm run build")
        terminal.type("\x15echo replaced\r")
        await terminal.until_text("I see.")
        assert "✓ Bash echo replaced" in terminal.emulator.text
        assert "npm run build" not in terminal.emulator.text
        assert "edited-by-user" not in terminal.emulator.text
        (result,) = terminal.asked[-1]["messages"][-1]["content"]
        text = result["content"] if isinstance(result["content"], str) else result["content"][0]["text"]
        assert (
            "The user edited the command before approving it. The command that ran" in text
            and text.count("replaced") == 2
        )
        terminal.type(_TRANSCRIPT)
        await terminal.until_text("close")
        await terminal.until(lambda screen: "Bash echo replaced" in screen.text)
        assert "npm run build" not in terminal.emulator.text
        (line,) = [
            json.loads(row)
            for file in terminal.program.home.rglob("*.jsonl")
            for row in file.read_text().splitlines()
            if "ranInput" in row
        ]
        assert line["ranInput"] == {"command": "echo replaced"}


async def test_a_resumed_conversation_shows_what_ran(tmp_path: Path):
    session = "00000000-0000-4000-8000-000000000021"
    script = [step(_bash("npm run build")), step("I see.")]
    async with bridle(tmp_path, script, "--session-id", session) as terminal:
        await _asked(terminal)
        number = next(row for row in terminal.emulator.rows if "Edit the command" in row).strip()[0]
        terminal.type(f"{number}\x15false\r")
        await terminal.until_text("I see.")
        assert "✗ Bash false" in terminal.emulator.text and "exit code 1" in terminal.emulator.text
        assert "edited-by-user" not in terminal.emulator.text
    async with bridle(tmp_path, [], "--resume", session) as terminal:
        await terminal.until_text("I see.")
        assert "Bash false" in terminal.emulator.text and "npm" not in terminal.emulator.text
        assert "edited-by-user" not in terminal.emulator.text


async def test_what_is_always_allowed_is_not_asked_again(tmp_path: Path):
    command = "uname -x > out.txt; env true"
    script = [step(_bash(command)), step(_bash(command, 2)), step("Both ran.")]
    async with bridle(tmp_path, script, size=(120, 30)) as terminal:
        await _asked(terminal)
        number = next(row for row in terminal.emulator.rows if "always allow" in row).strip()[0]
        terminal.type(f"{number}")
        await terminal.until_text("save to .claude/settings.local.json · tab: change location")
        terminal.type("\r")
        await terminal.until_text("Both ran.")
        kept = json.loads((terminal.program.project / ".claude" / "settings.local.json").read_text())
        assert any(rule.startswith("Edit(") for rule in kept["permissions"]["allow"])


async def test_no_says_nothing_that_is_meant_for_the_model(tmp_path: Path):
    async with bridle(tmp_path, [step(_bash("touch x"))]) as terminal:
        await _asked(terminal)
        terminal.type("\x1b")
        await terminal.until_text("└ not run")
        await terminal.ready()
        everything = "\n".join(terminal.emulator.everything)
        assert "does not want" not in everything and "Stop here" not in everything
