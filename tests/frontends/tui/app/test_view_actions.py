"""What is asked for in views is done: each wish from the key to its effect, in a real terminal."""

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.messages_server import step
from tests.fakes.processes import eventually
from tests.frontends.tui.app.session import Terminal, bridle

_DOWN, _UP = "\x1b[B", "\x1b[A"


async def _open(terminal: Terminal, command: str, shown: str) -> None:
    await terminal.say(command)
    await terminal.until_text(shown)


async def _closed(terminal: Terminal) -> None:
    terminal.type("\x1b")
    await terminal.ready()


async def _spoken(folder: Path, *words: str, **options: Any) -> None:
    """A conversation in which each of these words was said and answered."""
    async with bridle(folder, [step(f"Answer to {each}.") for each in words], **options) as terminal:
        await terminal.ready()
        for each in words:
            await terminal.say(each)
            await terminal.until_text(f"Answer to {each}.")
        terminal.type("\x04\x04")
        await terminal.ended()


def _settings(terminal: Terminal, *, local: bool = False) -> Any:
    home = terminal.program.project if local else terminal.program.home
    name = "settings.local.json" if local else "settings.json"
    path = home / ".claude" / name
    return json.loads(path.read_text()) if path.exists() else {}


async def test_a_conversation_is_renamed_tagged_and_deleted(tmp_path: Path):
    await _spoken(tmp_path, "apples")
    await _spoken(tmp_path, "pears")
    async with bridle(tmp_path, (), "--resume", size=(120, 30)) as terminal:
        await terminal.until_text("pears")
        terminal.type("\x12")
        await terminal.until_text("New title")
        terminal.type("fruit of the year\r")
        await terminal.until_text("fruit of the year")
        terminal.type("\x14")
        await terminal.until_text("Tag (empty to remove it)")
        terminal.type("sweet\r")
        await terminal.until_text("#sweet")
        terminal.type("\x18")
        await terminal.until_text("Delete this conversation")
        terminal.type("y")
        await terminal.until(lambda screen: "fruit of the year" not in screen.text)
        await terminal.until_text("apples")
        assert len(terminal.program.transcripts()) == 1


async def test_a_copy_of_a_conversation_is_resumed(tmp_path: Path):
    await _spoken(tmp_path, "apples")
    async with bridle(tmp_path, [step("Copied.")]) as terminal:
        await terminal.ready()
        await _open(terminal, "/resume", "ctrl+f resume a copy")
        terminal.type("\x06")
        await terminal.ready()
        await terminal.say("go on with it")
        await terminal.until_text("Copied.")
        assert "apples" in json.dumps(terminal.asked[-1])
        holding = [path for path in terminal.program.transcripts() if "apples" in path.read_text()]
        gone_on = [path for path in holding if "go on with it" in path.read_text()]
        assert len(holding) == 2 and len(gone_on) == 1


async def test_a_conversation_of_another_folder_is_gone_on_with_there(tmp_path: Path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    await _spoken(elsewhere, "pears", CLAUDE_CONFIG_DIR=str(tmp_path / "shared"))
    async with bridle(tmp_path, size=(160, 30), CLAUDE_CONFIG_DIR=str(tmp_path / "shared")) as terminal:
        await terminal.ready()
        await _open(terminal, "/resume", "ctrl+a")
        terminal.type("\x01")
        await terminal.until_text("pears")
        terminal.type("\r")
        await terminal.until_text("It belongs to another folder")
        assert f"cd {shlex.quote(str(elsewhere / 'project'))}" in "".join(terminal.emulator.rows)


@pytest.mark.parametrize("is_start", [True, False])
async def test_a_conversation_is_found_by_its_text_and_opened_in_its_own_folder(
    tmp_path: Path, is_start: bool
):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    shared = str(tmp_path / "shared")
    await _spoken(elsewhere, "pears", CLAUDE_CONFIG_DIR=shared)
    flags = ("--resume",) if is_start else ()
    async with bridle(tmp_path, (), *flags, size=(160, 30), CLAUDE_CONFIG_DIR=shared) as terminal:
        if not is_start:
            await terminal.ready()
            await terminal.say("/resume")
        await terminal.until_text("ctrl+a")
        terminal.type("\x01")
        await terminal.until_text("pears")
        terminal.type("answer to")
        await terminal.until_text("Answer to pears.")
        await terminal.until_text("ctrl+g open there")
        terminal.type("\x07")
        # It is a program of its own in that folder, which has to be trusted first.
        await terminal.until_text("Do you trust this folder?")
        assert str(elsewhere / "project") in "".join(terminal.emulator.rows)


async def test_rewinding_takes_the_conversation_back_and_gives_the_prompt_back(tmp_path: Path):
    async with bridle(tmp_path, [step("One."), step("Two."), step("Three.")]) as terminal:
        await terminal.ready()
        for words, answer in (("apples", "One."), ("pears", "Two.")):
            await terminal.say(words)
            await terminal.until_text(answer)
        await _open(terminal, "/rewind", "rewind to this prompt")
        terminal.type("\r")
        await terminal.until_text("conversation")
        terminal.type("\r")
        await terminal.until_text("Rewound the conversation.")
        await terminal.until(lambda screen: screen.text.count("❯ pears") == 2)
        terminal.type(" and plums\r")
        await terminal.until_text("Three.")
        said = json.dumps(terminal.asked[-1]["messages"])
        assert "apples" in said and "pears and plums" in said and "Two." not in said


async def test_rules_and_folders_are_added_and_removed(tmp_path: Path):
    (tmp_path / "more").mkdir()
    async with bridle(tmp_path, size=(140, 30)) as terminal:
        await terminal.ready()
        await _open(terminal, "/permissions", "These calls run without approval")
        terminal.type("a")
        await terminal.until_text("enter continue")
        terminal.type("Bash(make *)\r")
        await terminal.until_text("this session")
        terminal.type(f"{_UP}\r")
        await terminal.until_text("› Bash(make *)")
        terminal.type("\t\t\t")
        await terminal.until_text(str(terminal.program.project)[-30:])
        terminal.type("a")
        await terminal.until_text("enter continue")
        terminal.type(f"{tmp_path / 'more'}\r")
        await terminal.until_text("this session")
        terminal.type("\r")
        await terminal.until(lambda screen: "/more" in screen.text and "working directory" in screen.text)
        kept = _settings(terminal, local=True)["permissions"]["additionalDirectories"]
        assert kept == [str(tmp_path / "more")]
        terminal.type(f"{_DOWN}d")
        await terminal.until_text("Remove this folder?")
        terminal.type("y")
        await terminal.until(lambda screen: "/more" not in screen.text and "working directory" in screen.text)
        assert not _settings(terminal, local=True)["permissions"].get("additionalDirectories")


async def test_a_style_a_model_and_a_theme_are_chosen(tmp_path: Path):
    async with bridle(tmp_path) as terminal:
        await terminal.ready()
        await _open(terminal, "/output-style", "Output style")
        terminal.type(f"{_DOWN}\r")
        await eventually(lambda: "outputStyle" in _settings(terminal, local=True))
        await terminal.ready()
        await _open(terminal, "/theme", "enter")
        terminal.type(f"{_DOWN}\r")
        await eventually(lambda: "theme" in _settings(terminal))


async def test_a_setting_is_switched(tmp_path: Path):
    async with bridle(tmp_path, size=(140, 30)) as terminal:
        await terminal.ready()
        await _open(terminal, "/config", "Settings")
        terminal.type("/alwaysThinking\r")
        await terminal.until(lambda screen: any(row.startswith("› alwaysThinking") for row in screen.rows))
        terminal.type(" ")
        await eventually(lambda: "alwaysThinkingEnabled" in _settings(terminal))


async def test_keybindings_makes_a_file_with_comments_and_opens_it(tmp_path: Path):
    async with bridle(tmp_path, EDITOR=_editor(tmp_path)) as terminal:
        path = terminal.program.home / ".claude" / "keybindings.json"
        await terminal.ready()
        await terminal.say("/keybindings")
        await terminal.until_text("Keys: ~/.claude/keybindings.json")
        assert (tmp_path / "edited").read_text() == str(path)
        assert "bridle docs keybindings" in path.read_text() and path.stat().st_mode & 0o077 == 0
        path.write_text('{"bindings": []}')
        await terminal.say("/keybindings")
        await terminal.until(lambda screen: screen.text.count("Keys: ~/.claude/keybindings.json") == 2)
        assert path.read_text() == '{"bindings": []}'


async def test_a_page_of_the_documentation_is_read(tmp_path: Path):
    async with bridle(tmp_path) as terminal:
        await terminal.ready()
        await _open(terminal, "/docs keybindings", "Docs: Keys")
        terminal.type("q")
        await terminal.ready()
        await _open(terminal, "/release-notes", "Docs: Changelog")
        terminal.type("q")
        await terminal.ready()


async def test_background_work_is_stopped_and_its_output_opened(tmp_path: Path):
    waits = {"command": "echo begun; sleep 600", "run_in_background": True, "description": "long work"}
    call = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": waits}
    settings = {"permissions": {"allow": ["Bash"]}}
    async with bridle(tmp_path, settings=settings, EDITOR=_editor(tmp_path)) as terminal:
        terminal.server.script([step(call), step("It runs."), step("It was stopped.")])
        await terminal.ready()
        await terminal.say("start it")
        await terminal.until_text("It runs.")
        await terminal.ready()
        await _open(terminal, "/tasks", "long work")
        terminal.type("e")
        edited = tmp_path / "edited"
        await eventually(lambda: edited.exists() and edited.read_text() != "")
        assert edited.read_text().strip().endswith(".output")
        await terminal.until_text("Background work")
        terminal.type("s")
        await terminal.until_text("Stop it and everything it started?")
        terminal.type("y")
        await terminal.until_text("killed")


async def test_an_answer_is_copied_and_the_conversation_exported(tmp_path: Path):
    async with bridle(tmp_path, [step("Forty-two.")]) as terminal:
        await terminal.ready()
        await terminal.say("what is it?")
        await terminal.until_text("Forty-two.")
        await _open(terminal, "/copy", "enter")
        terminal.type("\r")
        await terminal.until_written(b"\x1b]52;")
        await terminal.ready()
        await _open(terminal, "/export", "enter")
        terminal.type(_DOWN)
        terminal.type("\r")
        await terminal.until(lambda screen: "file" in screen.text.lower())
        terminal.type("\r")
        await eventually(lambda: list(terminal.program.project.glob("conversation-*.txt")))


async def test_what_goes_wrong_while_a_view_is_open_is_told(tmp_path: Path):
    async with bridle(tmp_path, size=(140, 30)) as terminal:
        await terminal.ready()
        await _open(terminal, "/permissions", "These calls run without approval")
        terminal.type("\t\t\t")
        await terminal.until_text(str(terminal.program.project)[-30:])
        terminal.type("a")
        await terminal.until_text("enter continue")
        terminal.type("/no/such/folder\r")
        terminal.type("\r")
        await _closed(terminal)
        await terminal.until_text("Folder /no/such/folder does not exist.")


@pytest.mark.parametrize("command", ["/agents", "/hooks", "/mcp", "/skills", "/doctor", "/status", "/diff"])
async def test_what_is_only_looked_at_closes_with_escape(tmp_path: Path, command: str):
    async with bridle(tmp_path) as terminal:
        await terminal.ready()
        await _open(terminal, command, "esc close")
        await _closed(terminal)


def _editor(folder: Path) -> str:
    """An editor that writes down what it was asked to open."""
    code = f"import sys; open({str(folder / 'edited')!r}, 'w').write(sys.argv[-1])"
    return shlex.join([sys.executable, "-c", code])
