import shutil
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.fakes.messages_server import Script
from tests.frontends.tui import scenes
from tests.frontends.tui.app.session import Terminal, bridle
from tests.frontends.tui.lived_in import FORMS, SETTINGS, furnish, servers
from tests.frontends.tui.stage import FOOT, SIZES, Home, walk

_SESSION = "00000000-0000-4000-8000-000000000001"
_sized = pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")


@_sized
async def test_views(size: tuple[int, int]):
    with Home() as home:
        async with _lived_in(home, scenes.CONVERSATION, size=size) as terminal:
            await terminal.until(lambda screen: FOOT in screen.text)
            await walk(terminal, home, [*scenes.TALK, *scenes.VIEWS], size)


@_sized
async def test_dialogs(size: tuple[int, int]):
    with Home() as home:
        async with _lived_in(home, scenes.CALLS, size=size) as terminal:
            await terminal.until(lambda screen: FOOT in screen.text)
            await walk(terminal, home, scenes.DIALOGS, size)


@_sized
async def test_what_is_asked_before_the_start_and_by_servers(size: tuple[int, int]):
    with Home() as home:
        project = home.path / "project"
        project.mkdir()
        (home.path / "home" / ".claude").mkdir(parents=True)
        shutil.copy(FORMS, project / "travel.py")
        (project / ".mcp.json").write_text(servers())
        flags = ("--session-id", _SESSION, "--dangerously-skip-permissions")
        async with bridle(
            home.path, scenes.BOOKINGS, *flags, size=size, trusted=False, IS_SANDBOX="1"
        ) as terminal:
            await walk(terminal, home, scenes.START, size)


@_sized
@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
async def test_hosts_that_commands_want_to_reach(size: tuple[int, int]):
    settings = {"sandbox": {"enabled": True}, "permissions": {"allow": ["Bash"]}}
    with Home() as home:
        async with bridle(home.path, scenes.NETWORK_CALLS, size=size, settings=settings) as terminal:
            await terminal.until(lambda screen: FOOT in screen.text)
            await walk(terminal, home, scenes.NETWORK, size)


@asynccontextmanager
async def _lived_in(
    home: Home, script: Script, *flags: str, size: tuple[int, int], **options: Any
) -> AsyncGenerator[Terminal]:
    (home.path / "home" / ".claude").mkdir(parents=True)
    (home.path / "project").mkdir()
    furnish(home.path / "home", home.path / "project")
    flags = ("--session-id", _SESSION, "--mcp-config", servers(), *flags)
    async with bridle(home.path, script, *flags, size=size, settings=dict(SETTINGS), **options) as terminal:
        yield terminal
