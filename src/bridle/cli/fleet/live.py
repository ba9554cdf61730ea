"""A live view of a run, at a terminal."""

import asyncio
import os
import time
from collections.abc import Mapping

from bridle.frontends.fleet.store import RunStore
from bridle.frontends.fleet.summary import overview
from bridle.frontends.tui.app import App
from bridle.frontends.tui.keymap.keymap import Keymap
from bridle.frontends.tui.keymap.user_file import KeymapFile
from bridle.frontends.tui.render.layout import MUTED
from bridle.frontends.tui.screen.screen import Screen
from bridle.frontends.tui.screen.view import Closed, Frame
from bridle.frontends.tui.style.text import Line, Span
from bridle.frontends.tui.style.theme import background_of_environment, detect_depth, detect_links, make_theme
from bridle.frontends.tui.terminal.keys import Key
from bridle.frontends.tui.terminal.terminal import Terminal
from bridle.host.paths import config_home
from bridle.types.visible import visible_line

_HEADING_ROWS = 12
_LEAVING = frozenset({"q", "escape", "ctrl+c", "ctrl+d"})


def show_live(store: RunStore, env: Mapping[str, str]) -> int:
    """Show a run until it ends or the reader leaves it; the run itself continues."""
    return asyncio.run(_show(store, env))


async def _show(store: RunStore, env: Mapping[str, str]) -> int:
    theme = make_theme(
        "auto", depth=detect_depth(env), links=detect_links(env), background=background_of_environment(env)
    )
    keymap = KeymapFile(os.path.join(config_home(env), "keybindings.json"))
    terminal = Terminal(env=env)
    screen = Screen(terminal, theme)
    terminal.parting = screen.parting
    with terminal:
        app = App(terminal, screen, keymap.keymap)

        async def follow() -> None:
            await app.open(LiveRun(store))
            app.end(0)

        app.spawn(follow())
        return await app.run()


class LiveRun:
    """The overview of a run, drawn again every second."""

    is_full = True
    contexts = ()
    refresh = 1.0

    def __init__(self, store: RunStore) -> None:
        self._store = store

    def render(self, width: int, height: int, keys: Keymap) -> Frame:
        del keys
        rows = overview(
            self._store.row(), self._store.tasks(), now=time.time(), most=max(3, height - _HEADING_ROWS)
        )
        shown: list[Line] = [(Span(visible_line(row)[:width]),) for row in rows[: height - 1]]
        return Frame([*shown, (Span("q leaves it running"[:width], MUTED),)])

    def press(self, key: Key, action: str | None) -> Closed[None] | None:
        del action
        return Closed(None) if str(key) in _LEAVING else None

    def paste(self, text: str) -> None:
        """There is nothing to type."""
