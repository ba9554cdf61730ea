"""Lists that lead into each other."""

from collections.abc import Sequence
from typing import Any

from bridle.frontends.tui.keymap.labels import CLOSING, Hint
from bridle.frontends.tui.render.layout import MUTED, one_line
from bridle.frontends.tui.screen.live_region import Cursor
from bridle.frontends.tui.screen.view import Closed
from bridle.frontends.tui.style import cells
from bridle.frontends.tui.style.text import Line, Span
from bridle.frontends.tui.terminal.keys import Key
from bridle.frontends.tui.widgets.pane import Pane

_BACK = frozenset({"escape", "left", "backspace", "diff:back", *CLOSING})


class NestedLists:
    """A stack of panes: the last one is shown, and escape leads to the one before it."""

    def __init__(self) -> None:
        self._panes: list[tuple[str, Pane]] = []

    def push(self, name: str, pane: Pane) -> None:
        """Go one level deeper; the first pane has no name."""
        self._panes.append((name, pane))

    @property
    def contexts(self) -> tuple[str, ...]:
        return self._top.contexts

    @property
    def is_busy(self) -> bool:
        return len(self._panes) > 1 or self._top.is_busy

    @property
    def hints(self) -> Sequence[Hint]:
        return self._top.hints

    def body(self, width: int, height: int) -> tuple[list[Line], Cursor | None]:
        names = [one_line(name) for name, _ in self._panes if name]
        if not names:
            return self._top.body(width, height)
        rows, cursor = self._top.body(width, max(1, height - 2))
        path: Line = cells.truncate((Span(" › ".join(names), MUTED),), width)
        return [path, (), *rows], None if cursor is None else (cursor[0] + 2, cursor[1])

    def press(self, key: Key, action: str | None) -> Closed[Any] | bool:
        done = self._top.press(key, action)
        if done is False and len(self._panes) > 1 and (str(key) in _BACK or action in _BACK):
            self._panes.pop()
            return True
        return done

    def paste(self, text: str) -> None:
        self._top.paste(text)

    @property
    def _top(self) -> Pane:
        return self._panes[-1][1]
