"""What extends a session, changed in views: each wish from the key to its effect, in a real terminal."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.messages_server import step
from tests.fakes.oauth_server import FakeBrowser, FakeHouse
from tests.fakes.plugins import FIXTURE
from tests.fakes.processes import eventually
from tests.frontends.tui.app.session import Terminal, bridle

_DOWN, _UP, _TAB = "\x1b[B", "\x1b[A", "\t"


async def _open(terminal: Terminal, command: str, shown: str) -> None:
    await terminal.say(command)
    await terminal.until_text(shown)


async def _find(terminal: Terminal, word: str, row: str) -> None:
    """Search for something, and leave the search at it."""

    def is_there() -> bool:
        return any(each.startswith(row) for each in terminal.emulator.rows)

    terminal.type(f"/{word}")
    await terminal.until(lambda screen: f"/ {word}" in screen.text and is_there())
    terminal.type("\x1b")
    await terminal.until(lambda screen: f"/ {word}" not in screen.text and is_there())


def _read(path: Path) -> Any:
    return json.loads(path.read_text()) if path.exists() else {}


def _user(terminal: Terminal) -> Any:
    return _read(terminal.program.home / ".claude" / "settings.json")


def _local(terminal: Terminal) -> Any:
    return _read(terminal.program.project / ".claude" / "settings.local.json")


async def test_a_server_is_logged_in_to_and_out_of(tmp_path: Path):
    async with FakeHouse() as house:
        servers = {"mcpServers": {"house": {"type": "http", "url": house.url}}}
        config = tmp_path / "home" / ".claude" / ".claude.json"
        config.parent.mkdir(parents=True)
        config.write_text(json.dumps(servers))
        async with bridle(
            tmp_path, size=(100, 30), BRIDLE_CREDENTIALS="file", PATH="/usr/bin:/bin"
        ) as terminal:
            await terminal.ready()
            await _open(terminal, "/mcp", "l log in")
            terminal.type("l")
            await terminal.until_written(b"/authorize?")
            address = re.compile(rb"https?://127\.0\.0\.1:\d+/authorize\?[^\s\x1b]+")
            await eventually(lambda: address.search(terminal.output))
            found = address.search(terminal.output)
            assert found is not None
            ended_at = await FakeBrowser().follow(found[0].decode())
            terminal.type(f"{ended_at}\n")
            await terminal.until(lambda screen: "✓ house" in screen.text and "o log out" in screen.text)
            assert house.access
            terminal.type("o")
            await terminal.until_text("Log out of this server?")
            terminal.type("y")
            await terminal.until_text("l log in")
            assert not house.access


async def test_plugins_and_marketplaces_are_added_switched_and_removed(tmp_path: Path):
    market = tmp_path / "market"
    shutil.copytree(FIXTURE, market)
    async with bridle(tmp_path, size=(110, 30)) as terminal:
        await terminal.ready()
        known = terminal.program.home / ".claude" / "plugins" / "known_marketplaces.json"
        await _open(terminal, "/plugin", "no plugins are installed")
        terminal.type(_TAB * 2)
        await terminal.until_text("no marketplaces")
        terminal.type("a")
        await terminal.until_text("owner/repository")
        terminal.type(f"{market}\r")
        await terminal.until_text("3 plugins")
        assert "village" in _read(known)
        terminal.type("u")
        await eventually(lambda: _read(known).get("village"))
        terminal.type("\x1b[D")
        await terminal.until(lambda screen: "Counts words" in screen.text and "i install" in screen.text)
        await _find(terminal, "words", "› words")
        terminal.type("i")
        await terminal.until_text("for all your projects")
        terminal.type("\r")
        await eventually(lambda: _user(terminal).get("enabledPlugins") == {"words@village": True})
        await terminal.until(lambda screen: "installed" in "".join(screen.rows[3:]))
        terminal.type("\x1b[D")
        await terminal.until_text("✓ words")
        terminal.type(" ")
        await eventually(lambda: _user(terminal)["enabledPlugins"] == {"words@village": False})
        await terminal.until_text("– words")
        terminal.type("f")
        await terminal.until_text("★ words")
        terminal.type(" ")
        await eventually(lambda: _user(terminal)["enabledPlugins"] == {"words@village": True})
        await terminal.until_text("✓ ★ words")
        terminal.type("d")
        await terminal.until_text("Remove this plugin?")
        terminal.type("y")
        await terminal.until_text("no plugins are installed")
        terminal.type(_TAB * 2)
        await terminal.until_text("3 plugins")
        terminal.type("d")
        await terminal.until_text("Remove this marketplace and its plugins?")
        terminal.type("y")
        await terminal.until_text("no marketplaces")
        assert "village" not in _read(known)


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
async def test_the_sandbox_is_turned_on_changed_and_turned_off(tmp_path: Path):
    async with bridle(tmp_path, size=(100, 30)) as terminal:
        await terminal.ready()
        await _open(terminal, "/sandbox", "› ✓ off")
        terminal.type(f"{_UP}\r")
        await terminal.until_text("› ✓ on, with approvals")
        assert _local(terminal)["sandbox"] == {"enabled": True, "autoAllowBashIfSandboxed": False}
        terminal.type(f"{_UP}\r")
        await terminal.until_text("› ✓ on, auto-allow")
        assert _local(terminal)["sandbox"] == {"enabled": True, "autoAllowBashIfSandboxed": True}
        terminal.type(_TAB)
        await terminal.until_text("never run outside")
        terminal.type(f"{_DOWN}\r")
        await terminal.until_text("› ✓ never run outside")
        assert _local(terminal)["sandbox"]["allowUnsandboxedCommands"] is False
        terminal.type("\x1b[Z")
        await terminal.until_text("on, auto-allow")
        terminal.type(f"{_UP}\r")
        await terminal.until_text("› ✓ off")
        assert _local(terminal)["sandbox"]["enabled"] is False


async def test_a_goal_is_set_changed_and_ended(tmp_path: Path):
    async with bridle(tmp_path, [step("They do."), step("I cannot tell.")], size=(100, 30)) as terminal:
        await terminal.ready()
        await _open(terminal, "/goal", "set a condition")
        terminal.type("\r")
        await terminal.until_text("Work until…")
        terminal.type("the tests pass\r")
        await terminal.until_text("They do.")
        assert "the tests pass" in json.dumps(terminal.asked[0]["messages"])
        await _open(terminal, "/goal", "change the condition")
        assert "the tests pass" in terminal.emulator.text
        terminal.type(f"{_DOWN}\r")
        await terminal.until_text("End this goal?")
        terminal.type("y")
        await terminal.until_text("set a condition")


async def test_who_may_use_a_skill_is_chosen(tmp_path: Path):
    skill = tmp_path / "project" / ".claude" / "skills" / "release"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: release\ndescription: Make a release.\n---\nWrite notes.\n")
    async with bridle(tmp_path, size=(100, 30)) as terminal:
        await terminal.ready()
        await _open(terminal, "/skills", "change who can use it")
        await _find(terminal, "release", "› ✓ release")
        terminal.type(" ")
        await terminal.until_text("off")
        terminal.type(f"{_DOWN * 3}\r")
        await terminal.until(lambda screen: any(row.startswith("› – release") for row in screen.rows))
        assert _user(terminal)["skillOverrides"] == {"release": "off"}


async def test_an_agent_is_turned_off_and_on(tmp_path: Path):
    agents = tmp_path / "project" / ".claude" / "agents"
    agents.mkdir(parents=True)
    (agents / "reviewer.md").write_text(
        "---\nname: reviewer\ndescription: Reads changes.\n---\nRead closely.\n"
    )
    async with bridle(tmp_path, size=(100, 30)) as terminal:
        await terminal.ready()
        await _open(terminal, "/agents", "› ● reviewer")
        terminal.type(" ")
        await terminal.until_text("› – reviewer")
        assert _local(terminal)["permissions"]["deny"] == ["Agent(reviewer)"]
        terminal.type(" ")
        await terminal.until_text("› ● reviewer")
        assert not _local(terminal).get("permissions", {}).get("deny")


async def test_a_model_is_chosen_for_good_or_for_the_session(tmp_path: Path):
    async with bridle(tmp_path, [step("Hi."), step("Hello.")], size=(100, 30)) as terminal:
        await terminal.ready()
        await _open(terminal, "/model", "use and save")
        terminal.type("/haiku")
        await terminal.until(lambda screen: any(row.startswith("›") and "aiku" in row for row in screen.rows))
        terminal.type("\r")
        await eventually(lambda: "haiku" in _user(terminal).get("model", ""))
        await terminal.until(lambda screen: "\nhaiku" in screen.text)
        await _open(terminal, "/model", "use and save")
        await _find(terminal, "opus", "›   opus")
        terminal.type("s")
        await terminal.until(lambda screen: "\nopus" in screen.text)
        assert "haiku" in _user(terminal)["model"]
        await terminal.say("hello")
        await terminal.until_text("Hi.")
        assert "opus" in terminal.asked[-1]["model"]
