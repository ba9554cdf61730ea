"""`bridle docs` at a terminal: the pages in a view."""

import asyncio
import os
from collections.abc import Mapping, Sequence

from bridle.commands.queries.documentation import Page
from bridle.frontends.tui.app import App
from bridle.frontends.tui.keymap.user_file import KeymapFile
from bridle.frontends.tui.screen.screen import Screen
from bridle.frontends.tui.screens.docs.browser import docs_view
from bridle.frontends.tui.style.theme import background_of_environment, detect_depth, detect_links, make_theme
from bridle.frontends.tui.terminal.terminal import Terminal
from bridle.host.paths import config_home
from bridle.version import __version__


def show_docs(known: Sequence[Page], env: Mapping[str, str], *, topic: str) -> int:
    """Show the pages until the reader leaves them; returns the exit code."""
    return asyncio.run(_show(known, env, topic))


async def _show(known: Sequence[Page], env: Mapping[str, str], topic: str) -> int:
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
            await app.open(docs_view(known, topic=topic, version=__version__))
            app.end(0)

        app.spawn(read())
        return await app.run()
