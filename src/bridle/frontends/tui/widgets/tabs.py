"""A view made of panes: one, or several behind tabs."""

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from bridle.frontends.tui.keymap.keymap import USUAL, Keymap
from bridle.frontends.tui.keymap.labels import CLOSE, CLOSING, BoundKey, Hint, spoken
from bridle.frontends.tui.screen.view import Closed, Frame
from bridle.frontends.tui.terminal.keys import Key
from bridle.frontends.tui.widgets.page import page, room, tab_line
from bridle.frontends.tui.widgets.pane import Pane

D = TypeVar("D")

_CLOSING = frozenset({"escape", "ctrl+c", *CLOSING})
_NEXT = frozenset({"tab", "right", "tabs:next", "diff:nextSource"})
_NEXT_TAB = BoundKey(("tabs:next", "diff:nextSource"), always="tab")
_PREVIOUS = frozenset({"shift+tab", "left", "tabs:previous", "diff:previousSource"})


def _keep(_: Any) -> None:
    """For views whose data does not change while they are open."""


class TabbedView(Generic[D]):
    """Shows a pane under a title; tab and the arrows change between panes, escape closes with None."""

    def __init__(
        self,
        title: str,
        panes: Sequence[tuple[str, Pane]],
        *,
        aside: str = "",
        full: bool = True,
        selected: int = 0,
        refresh: float | None = None,
        update: Callable[[D], None] = _keep,
    ) -> None:
        self.title = title
        self.aside = aside
        self._panes = panes
        self._full = full
        self._refresh = refresh
        self._update = update
        self.selected = selected

    def on_update(self, update: Callable[[D], None]) -> None:
        """Say later what new data means, where that concerns the sheet itself."""
        self._update = update

    def show(self, data: D) -> None:
        """Have new data; what is selected stays selected where it can."""
        self._update(data)

    @property
    def is_full(self) -> bool:
        return self._full

    @property
    def pane(self) -> Pane:
        """The pane that is shown."""
        return self._panes[self.selected][1]

    @property
    def contexts(self) -> tuple[str, ...]:
        inner = self.pane.contexts
        return (*inner, "Tabs") if inner and self._has_tabs else inner

    @property
    def refresh(self) -> float | None:
        return self._refresh

    def render(self, width: int, height: int, keys: Keymap = USUAL, /) -> Frame:
        space = room(height, tabs=self._has_tabs, full=self._full)
        body, cursor = self.pane.body(width, space)
        names = [name for name, _ in self._panes]
        return page(
            self.title,
            body,
            width=width,
            height=height,
            hints=spoken(self._hints(), keys, self.contexts),
            aside=self.aside,
            tabs=tab_line(names, self.selected, width) if self._has_tabs else None,
            full=self._full,
            cursor=cursor,
        )

    def press(self, key: Key, action: str | None) -> Closed[Any] | None:
        match self.pane.press(key, action):
            case Closed() as closed:
                return closed
            case True:
                return None
            case _:
                return self._press_around(key, action)

    def paste(self, text: str) -> None:
        self.pane.paste(text)

    @property
    def _has_tabs(self) -> bool:
        return len(self._panes) > 1

    def _press_around(self, key: Key, action: str | None) -> Closed[Any] | None:
        name = str(key)
        if self._has_tabs and (name in _NEXT or action in _NEXT):
            self.selected = (self.selected + 1) % len(self._panes)
        elif self._has_tabs and (name in _PREVIOUS or action in _PREVIOUS):
            self.selected = (self.selected - 1) % len(self._panes)
        elif name in _CLOSING or action in _CLOSING or (name == "q" and self.pane.contexts):
            return Closed(None)
        return None

    def _hints(self) -> Sequence[Hint]:
        tabs: list[Hint] = [(_NEXT_TAB, "next tab")] if self._has_tabs else []
        return (*self.pane.hints, *tabs, (CLOSE, "back" if self.pane.is_busy else "close"))
