import json
import stat
from pathlib import Path

import pytest
from PIL import Image

from tests.fakes.messages_server import step
from tests.frontends.tui.app.session import bridle

_ARMED = "enter to choose"


def _calls(tool: str, **input: object) -> dict[str, object]:
    return {"type": "tool_use", "id": f"toolu_{tool}", "name": tool, "input": input}


async def test_bypassing_permissions_is_agreed_to_first(tmp_path: Path):
    async with bridle(tmp_path, (), "--dangerously-skip-permissions", IS_SANDBOX="1") as terminal:
        await terminal.until_text("Bypass all permissions?")
        await terminal.until_text(_ARMED)
        terminal.type("2")
        await terminal.until_text("permissions bypassed")


async def test_who_does_not_agree_to_bypassing_leaves(tmp_path: Path):
    async with bridle(tmp_path, (), "--dangerously-skip-permissions", IS_SANDBOX="1") as terminal:
        await terminal.until_text(_ARMED)
        terminal.type("\r")
        assert await terminal.ended() == 1
        assert terminal.settings() == terminal.before
        await terminal.until_written(b"Permissions were not bypassed, so bridle did not start.")


async def test_a_server_of_the_project_is_started_only_with_approval(tmp_path: Path):
    (tmp_path / "project").mkdir()
    definition = {"command": "sh", "args": ["-c", "touch started; cat"]}
    servers = {"mcpServers": {"db": definition}}
    (tmp_path / "project" / ".mcp.json").write_text(json.dumps(servers))
    async with bridle(tmp_path) as terminal:
        await terminal.until_text("Start the MCP server db?")
        await terminal.until_text(_ARMED)
        assert "touch started" in terminal.emulator.text
        terminal.type("3")
        await terminal.ready()
        assert not (terminal.program.project / "started").exists()


@pytest.mark.parametrize(("keys", "is_read"), [("1", True), ("\x1b", False)])
async def test_an_import_from_outside_the_project_is_asked_about_once(
    tmp_path: Path, keys: str, is_read: bool
):
    (tmp_path / "project").mkdir()
    (tmp_path / "shared.md").write_text("Always use tabs.\n")
    (tmp_path / "project" / "CLAUDE.md").write_text("@../shared.md\n")
    async with bridle(tmp_path, [step("Hi.")]) as terminal:
        await terminal.until_text("Allow imports from outside project")
        await terminal.until_text(_ARMED)
        assert "shared.md" in "".join(terminal.emulator.rows)
        terminal.type(keys)
        await terminal.ready()
        await terminal.say("hello there")
        await terminal.until_text("Hi.")
        assert ("Always use tabs." in json.dumps(terminal.asked[0])) is is_read
    async with bridle(tmp_path, [step("Hi again.")]) as terminal:
        await terminal.ready()
        await terminal.say("hello there")
        await terminal.until_text("Hi again.")
        assert ("Always use tabs." in json.dumps(terminal.asked[0])) is is_read


async def test_a_prompt_is_written_in_another_editor(tmp_path: Path):
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\nprintf 'from the editor' > \"$1\"\n")
    editor.chmod(editor.stat().st_mode | stat.S_IXUSR)
    async with bridle(tmp_path, VISUAL=str(editor)) as terminal:
        await terminal.ready()
        terminal.type("\x07")
        await terminal.until_text("❯ from the editor")


async def test_the_program_is_suspended_and_comes_back(tmp_path: Path):
    async with bridle(tmp_path, under_shell=True) as terminal:
        await terminal.ready()
        terminal.type("half a thought")
        await terminal.until_text("❯ half a thought")
        terminal.type("\x1a")
        await terminal.until_text("stopped")
        assert "❯ half" not in terminal.emulator.text
        terminal.type("\r")
        await terminal.until_text("❯ half a thought")
        terminal.type(" more")
        await terminal.until_text("❯ half a thought more")


async def test_a_dumb_terminal_gets_plain_lines(tmp_path: Path):
    async with bridle(tmp_path, [step("Plain words.")], TERM="dumb") as terminal:
        await terminal.ready()
        terminal.type("speak\r")
        await terminal.until_text("Plain words.")
        assert b"\x1b[" not in terminal.output.replace(b"\x1b[?2004", b"")


async def test_a_dragged_picture_is_attached(tmp_path: Path):
    async with bridle(tmp_path, [step("A dot.")]) as terminal:
        path = terminal.program.project / "dot.png"
        Image.new("RGB", (2, 2), "red").save(path)
        await terminal.ready()
        terminal.type(f"\x1b[200~{path}\x1b[201~")
        await terminal.until_text("[Image #1]")
        terminal.type("what is it?\r")
        await terminal.until_text("A dot.")
        content = terminal.asked[-1]["messages"][-1]["content"]
        assert any(block.get("type") == "image" for block in content)


async def test_leaving_while_something_runs_is_asked_about(tmp_path: Path):
    call = _calls("Bash", command="sleep 60", run_in_background=True, description="a long job")
    settings = {"permissions": {"allow": ["Bash"]}}
    async with bridle(tmp_path, [step(call), step("Started.")], settings=settings) as terminal:
        await terminal.ready()
        await terminal.say("start it")
        await terminal.until_text("Started.")
        terminal.type("\x04")
        await terminal.until_text("again to exit")
        terminal.type("\x04")
        await terminal.until_text("Exit?")
        await terminal.until_text(_ARMED)
        assert "a long job" in terminal.emulator.text
        terminal.type("2")
        assert await terminal.ended() == 0


async def test_a_question_of_the_model_is_answered(tmp_path: Path):
    options = [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}]
    question = {"question": "Which colour?", "header": "Colour", "options": options, "multiSelect": False}
    script = [step(_calls("AskUserQuestion", questions=[question])), step("Blue it is.")]
    async with bridle(tmp_path, script) as terminal:
        await terminal.ready()
        await terminal.say("ask me")
        await terminal.until_text("Which colour?")
        await terminal.until_text(_ARMED)
        terminal.type("2")
        await terminal.until_text("Blue it is.")
        assert "Blue" in json.dumps(terminal.asked[-1]["messages"][-1])


async def test_an_always_allowed_command_is_not_asked_about_again(tmp_path: Path):
    call = step(_calls("Bash", command="npm test"))
    script = [call, step("Once."), call, step("Twice.")]
    async with bridle(tmp_path, script) as terminal:
        await terminal.ready()
        await terminal.say("test")
        await terminal.until_text(_ARMED)
        terminal.type("3\r")
        await terminal.until_text("Once.")
        local = terminal.program.project / ".claude" / "settings.local.json"
        assert json.loads(local.read_text())["permissions"]["allow"]
        await terminal.say("again please")
        await terminal.until_text("Twice.")


async def test_an_error_before_the_start_is_one_line(tmp_path: Path):
    async with bridle(tmp_path, (), "--settings", "{broken") as terminal:
        assert await terminal.ended() == 1
        rows = [row for row in terminal.emulator.rows if row]
        assert rows[0].startswith("error: ")
        assert terminal.settings() == terminal.before
