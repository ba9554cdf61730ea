"""The content of a view: what stands between its title and its keys."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from bridle.frontends.tui.keymap.labels import Hint
from bridle.frontends.tui.screen.live_region import Cursor
from bridle.frontends.tui.screen.view import Closed
from bridle.frontends.tui.style.text import Line
from bridle.frontends.tui.terminal.keys import Key
from bridle.frontends.tui.widgets.scroll import Scroll

Lines = Callable[[int], list[Line]]
"""Rows for a width."""
Do = Callable[[Any], None]
"""Called with what the user wants done while the screen stays open; then give it new data."""


def nothing(_: Any) -> None:
    """For views that are only looked at."""


class Pane(Protocol):
    """A part of a view that takes the keys while it is shown."""

    @property
    def contexts(self) -> tuple[str, ...]: ...
    @property
    def hints(self) -> Sequence[Hint]: ...
    @property
    def is_busy(self) -> bool:
        """Whether escape leads one step back instead of closing the view."""
        ...

    def body(self, width: int, height: int, /) -> tuple[list[Line], Cursor | None]:
        """The rows, and the place of the cursor in them."""
        ...

    def press(self, key: Key, action: str | None, /) -> Closed[Any] | bool:
        """Take a key; False when it means nothing here."""
        ...

    def paste(self, text: str, /) -> None: ...


class TextPane:
    """Rows to read."""

    def __init__(self, lines: Lines, *, hints: Sequence[Hint] = ()) -> None:
        self._lines = lines
        self._hints = hints
        self._scroll = Scroll()
        self._is_long = False

    @property
    def contexts(self) -> tuple[str, ...]:
        return ("Scroll",)

    @property
    def is_busy(self) -> bool:
        return False

    @property
    def hints(self) -> Sequence[Hint]:
        return (*self._hints, *([("↑↓", "scroll")] if self._is_long else []))

    def replace(self, lines: Lines) -> None:
        """Show something else; the place stays."""
        self._lines = lines

    def body(self, width: int, height: int) -> tuple[list[Line], Cursor | None]:
        rows = self._lines(width)
        self._is_long = len(rows) > height
        return self._scroll.show(rows, height), None

    def press(self, key: Key, action: str | None) -> Closed[Any] | bool:
        return self._scroll.press(key, action)

    def paste(self, text: str) -> None:
        del text
