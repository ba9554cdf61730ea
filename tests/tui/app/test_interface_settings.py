"""Settings of the interface, seen on a real screen."""

import json
from pathlib import Path

from tests.fakes.messages_server import step
from tests.tui.app.session import bridle


async def test_own_tips_and_verbs_stand_below_a_running_turn(tmp_path: Path):
    settings = {
        "spinnerVerbs": {"verbs": ["Brewing"], "mode": "replace"},
        "spinnerTipsOverride": {"tips": ["Read the \x1b[31mcontributing\n guide."]},
    }
    async with bridle(tmp_path, [step("Hi.", delay=30)], settings=settings) as terminal:
        await terminal.ready()
        await terminal.say("hello")
        await terminal.until_text("Brewing…")
        await terminal.until_text("Tip: Read the")
        assert "\x1b[31mcontributing" not in terminal.output.decode(errors="replace")


async def test_a_status_line_that_shows_the_mode_of_vim_itself_hides_the_other(tmp_path: Path):
    status = {"type": "command", "command": "echo own line"}
    for hides in (False, True):
        folder = tmp_path / str(hides)
        folder.mkdir()
        settings = {"editorMode": "vim", "statusLine": {**status, "hideVimModeIndicator": hides}}
        async with bridle(folder, settings=settings) as terminal:
            await terminal.until_text("own line")
            await terminal.ready()
            assert ("-- INSERT --" in terminal.emulator.text) is not hides


async def test_the_title_stays_when_a_session_is_named_if_the_user_wants_that(tmp_path: Path):
    settings = {"terminalTitleFromRename": False}
    async with bridle(tmp_path, [step("Hi.")], settings=settings) as terminal:
        await terminal.ready()
        await terminal.say("fix the login")
        await terminal.until_written(b"\x1b]0;fix the login")
        await terminal.say("/rename somewhere else")
        await terminal.until_text("somewhere else")
        await terminal.ready()
        assert b"\x1b]0;somewhere else" not in terminal.output


async def test_powershell_gets_shell_commands_where_it_is_the_default(tmp_path: Path):
    tools = tmp_path / "tools"
    tools.mkdir()
    program = tools / "pwsh"
    program.write_text('#!/bin/sh\nprintf "%s|" "$@"\n')
    program.chmod(0o755)
    settings = {"defaultShell": "powershell", "respondToBashCommands": False}
    async with bridle(tmp_path, settings=settings, PATH=f"{tools}:/usr/bin:/bin") as terminal:
        await terminal.ready()
        await terminal.say("!Get-Item 'a b'")
        await terminal.until_text("-NoProfile|-NonInteractive|-Command|Get-Item 'a b'|")


async def test_a_missing_powershell_is_named(tmp_path: Path):
    settings = {"defaultShell": "powershell"}
    async with bridle(tmp_path, settings=settings, PATH="/usr/bin:/bin") as terminal:
        await terminal.ready()
        await terminal.say("!Get-Item")
        await terminal.until_text("PowerShell was not found.")


async def test_a_command_of_the_user_suggests_files(tmp_path: Path):
    said = tmp_path / "said"
    command = f'cat > {said}; printf "kept/by-command.txt\\nbad\\033[31mname\\n"'
    settings = {"fileSuggestion": {"type": "command", "command": command}}
    async with bridle(tmp_path, settings=settings) as terminal:
        await terminal.ready()
        terminal.type("look at @ke")
        await terminal.until_text("kept/by-command.txt")
        assert "name" not in terminal.emulator.text
        await terminal.until(lambda _: json.loads(said.read_text() or "{}") == {"query": "ke"})
        terminal.type("\t")
        await terminal.until_text("look at @kept/by-command.txt")


async def test_a_command_of_the_user_suggests_nothing_where_hooks_are_off(tmp_path: Path):
    settings = {
        "disableAllHooks": True,
        "fileSuggestion": {"type": "command", "command": f"touch {tmp_path / 'ran'}; echo from-command"},
    }
    async with bridle(tmp_path, settings=settings) as terminal:
        (terminal.program.project / "from-index.txt").touch()
        await terminal.ready()
        terminal.type("@from")
        await terminal.until_text("from-index.txt")
        assert not (tmp_path / "ran").exists()
