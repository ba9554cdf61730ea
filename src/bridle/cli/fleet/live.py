"""A live view of a run, at a terminal."""

import time
from collections.abc import Mapping

from bridle.cli.terminal.single_view import show_view
from bridle.frontends.fleet.store import RunStore
from bridle.frontends.fleet.summary import overview
from bridle.frontends.tui.keymap.keymap import Keymap
from bridle.frontends.tui.render.layout import MUTED
from bridle.frontends.tui.screen.view import Closed, Frame
from bridle.frontends.tui.style.text import Line, Span
from bridle.frontends.tui.terminal.keys import Key
from bridle.types.visible import visible_line

_HEADING_ROWS = 12
_LEAVING = frozenset({"q", "escape", "ctrl+c", "ctrl+d"})


def show_live(store: RunStore, env: Mapping[str, str]) -> int:
    """Show a run until it ends or the reader leaves it; the run itself continues."""
    return show_view(LiveRun(store), env)


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
