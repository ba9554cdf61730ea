"""Chooses the colors, which change as one moves."""

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from bridle.frontends.tui.keymap.keymap import USUAL, Keymap
from bridle.frontends.tui.keymap.labels import ACCEPT, CLOSE, BoundKey, Hint, spoken
from bridle.frontends.tui.render.diff import change_between, render_hunks
from bridle.frontends.tui.screen.view import Closed, Frame
from bridle.frontends.tui.style.palettes import NAMES
from bridle.frontends.tui.terminal.keys import Key
from bridle.frontends.tui.widgets.page import page, room
from bridle.frontends.tui.widgets.picker import Item, Picker
from bridle.frontends.tui.widgets.text_field import Signal

_NAMES = {
    "auto": "Auto (match the terminal)",
    "dark": "Dark",
    "light": "Light",
    "dark-daltonized": "Dark (colorblind-friendly)",
    "light-daltonized": "Light (colorblind-friendly)",
    "dark-high-contrast": "Dark (high contrast)",
    "light-high-contrast": "Light (high contrast)",
    "dark-ansi": "Dark (the terminal's 16 colors)",
    "light-ansi": "Light (the terminal's 16 colors)",
}
_SYNTAX = BoundKey(("theme:toggleSyntaxHighlighting",))
_OLD = 'def greet(name):\n    print("hi " + name)\n'
_NEW = 'def greet(name: str) -> None:\n    print(f"hello {name}")\n'


class ChooseTheme(Struct, frozen=True):
    name: str
    syntax: bool | None = None
    """Whether code is colored; None leaves that as it is."""


class ThemeView:
    """Calls `preview` with every theme that is looked at, and with the first one again when cancelled."""

    is_full = False
    refresh = None

    def __init__(
        self,
        current: str,
        *,
        preview: Callable[[str], None],
        custom: Sequence[str] = (),
        syntax: bool = True,
    ) -> None:
        self._current = current
        self._preview = preview
        self._syntax = self._had_syntax = syntax
        names = ("auto", *NAMES, *custom)
        self._list = Picker(
            [Item(value=name, label=_NAMES.get(name, name)) for name in names],
            selected=names.index(current) if current in names else 0,
        )

    @property
    def contexts(self) -> tuple[str, ...]:
        return () if self._list.is_filtering else ("ThemePicker", "Select")

    def render(self, width: int, height: int, keys: Keymap = USUAL, /) -> Frame:
        sample = render_hunks(change_between("sample.py" if self._syntax else "sample", _OLD, _NEW), width)
        space = room(height, full=False)
        rows, cursor = self._list.rows(width, max(3, space - len(sample) - 1))
        hints: list[Hint] = [
            (ACCEPT, "use"),
            (_SYNTAX, "code colors off" if self._syntax else "code colors on"),
            (CLOSE, "cancel"),
        ]
        body = [*rows, (), *sample]
        named = spoken(hints, keys, self.contexts)
        return page("Theme", body, width=width, height=height, hints=named, cursor=cursor, full=False)

    def press(self, key: Key, action: str | None) -> Closed[Any] | None:
        if action in _SYNTAX.actions or (self._list.is_filtering and str(key) == "ctrl+t"):
            self._syntax = not self._syntax
            return None
        before = self._list.current
        signal = self._list.press(key, action)
        now = self._list.current
        if signal is Signal.CANCELLED:
            self._preview(self._current)
            return Closed(None)
        if signal is Signal.ACCEPTED and now is not None:
            return Closed(ChooseTheme(now, None if self._syntax == self._had_syntax else self._syntax))
        if now is not None and now != before:
            self._preview(now)
        return None

    def paste(self, text: str) -> None:
        self._list.paste(text)
