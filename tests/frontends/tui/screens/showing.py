"""Shows a view in a terminal and presses keys, as the application does."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bridle.frontends.tui.keymap.keymap import USUAL, Keymap, KeyState, Waiting
from bridle.frontends.tui.screen.screen import Screen
from bridle.frontends.tui.screen.view import Closed, Frame, View
from bridle.frontends.tui.style.colors import ColorDepth
from bridle.frontends.tui.style.theme import make_theme
from bridle.frontends.tui.terminal.keys import Key
from tests.fakes.terminal import Emulator, FakeOutput
from tests.frontends.tui.render.strategies import assert_sound

SIZES = ((80, 24), (120, 40), (40, 20))
TINY = ((1, 1), (3, 2), (8, 4), (20, 6), (39, 10))
_SCREENS = Path(__file__).parent / "snapshots"


class Showing:
    """A view on a screen."""

    def __init__(self, view: View[Any], width: int = 80, height: int = 24, *, keymap: Keymap = USUAL) -> None:
        self.view = view
        self.width, self.height = width, height
        self.closed: Closed[Any] | None = None
        self._keys = KeyState(keymap)

    def press(self, *names: str) -> "Showing":
        """Press keys by their names, one after the other."""
        for name in names:
            assert self.closed is None, f"closed with {self.closed} before {name}"
            key = key_named(name)
            action = self._keys.press(key, self.view.contexts)
            if action is not Waiting.MORE:
                self.closed = self.view.press(key, action)
            self.frame()
        return self

    def type(self, text: str) -> "Showing":
        """Type text, letter by letter."""
        return self.press(*("space" if letter == " " else letter for letter in text))

    def frame(self) -> Frame:
        return self.view.render(self.width, self.height, self._keys.keymap)

    @property
    def emulator(self) -> Emulator:
        output = FakeOutput(self.width, self.height)
        screen = Screen(output, make_theme("dark", depth=ColorDepth.TRUE))
        frame = self.frame()
        assert_sound(list(frame.lines), self.width)
        assert len(frame.lines) <= self.height
        if self.view.is_full:
            screen.enter_full()
            screen.show_full(frame.lines, frame.cursor)
        else:
            screen.show(frame.lines, frame.cursor)
        return output.emulator

    @property
    def text(self) -> str:
        """What is on the screen."""
        return self.emulator.text

    @property
    def selected(self) -> str:
        """The row with the mark of the selection, without its description beside it."""
        marked = [row for row in self.text.split("\n") if row.startswith("›")]
        return " ".join(marked[0].partition("│")[0].split()[1:]) if marked else ""

    @property
    def value(self) -> Any:
        assert self.closed is not None, "the view is still open"
        return self.closed.value


def key_named(name: str) -> Key:
    """The key that a terminal would send."""
    *held, last = [name] if len(name) == 1 else name.split("+")
    if len(last) == 1 and not held:
        is_upper = last.isupper()
        return Key(last.lower(), shift=is_upper, text=last)
    text = " " if last == "space" and not held else ""
    return Key(last, ctrl="ctrl" in held, alt="alt" in held, shift="shift" in held, text=text)


def assert_screens(name: str, view: View[Any]) -> None:
    """The view looks as it is kept in `snapshots/`, in windows of every size.

    With SCREENS=write in the environment it is kept as it looks now.
    """
    for width, height in TINY:
        assert len(Showing(view, width, height).emulator.rows) == height
    _SCREENS.mkdir(exist_ok=True)
    for path, text in _rendered(name, view):
        if os.environ.get("SCREENS") == "write":
            path.write_text(text, encoding="utf-8")
        assert path.read_text(encoding="utf-8") == text, f"{path.name} has changed:\n{text}"


def _rendered(name: str, view: View[Any]) -> Iterator[tuple[Path, str]]:
    for width, height in SIZES:
        shown = Showing(view, width, height)
        yield _SCREENS / f"{name}-{width}.txt", f"{shown.text}\n"
