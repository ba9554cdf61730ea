"""One view at a terminal, for subcommands without a session."""

import asyncio
import os
from collections.abc import Mapping
from typing import Any

from bridle.frontends.tui.app import App
from bridle.frontends.tui.keymap.user_file import KeymapFile
from bridle.frontends.tui.screen.screen import Screen
from bridle.frontends.tui.screen.view import View
from bridle.frontends.tui.style.theme import background_of_environment, detect_depth, detect_links, make_theme
from bridle.frontends.tui.terminal.terminal import Terminal
from bridle.host.paths import config_home


def show_view(view: View[Any], env: Mapping[str, str]) -> int:
    """Show a view until the reader leaves it; returns the exit code."""
    return asyncio.run(_show(view, env))


async def _show(view: View[Any], env: Mapping[str, str]) -> int:
    theme = make_theme(
        "auto", depth=detect_depth(env), links=detect_links(env), background=background_of_environment(env)
    )
    keymap = KeymapFile(os.path.join(config_home(env), "keybindings.json"))
    terminal = Terminal(env=env)
    screen = Screen(terminal, theme)
    terminal.parting = screen.parting
    with terminal:
        app = App(terminal, screen, keymap.keymap)

        async def read() -> None:
            await app.open(view)
            app.end(0)

        app.spawn(read())
        return await app.run()
