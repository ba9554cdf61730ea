"""A question with a few answers, closed with the value of the one that was chosen."""

from collections.abc import Sequence

from msgspec import Struct

from bridle.frontends.tui.dialogs.menu import Choice, Menu
from bridle.frontends.tui.dialogs.panel import Body, Panel
from bridle.frontends.tui.keymap.keymap import USUAL, Keymap
from bridle.frontends.tui.keymap.labels import REFUSE, Hint, sentences
from bridle.frontends.tui.screen.view import Closed, Frame
from bridle.frontends.tui.terminal.keys import Key


class Picked(Struct, frozen=True):
    """An answer, with what was typed for it."""

    value: str
    text: str = ""


class Confirm:
    """Escape and ctrl+c are the answer `cancel`."""

    is_full = False
    refresh = None

    def __init__(
        self,
        title: str,
        body: Body,
        choices: Sequence[Choice],
        *,
        cancel: str,
        color: str = "permission",
        start: int = 0,
        hint: str = "to cancel",
    ) -> None:
        self.panel = Panel(title, body, Menu(choices), color=color)
        self.panel.menu.at = start
        self._cancel = cancel
        self._hint = hint

    @property
    def contexts(self) -> tuple[str, ...]:
        return () if self.panel.menu.is_typing else ("Confirmation",)

    def render(self, width: int, height: int, keys: Keymap = USUAL, /) -> Frame:
        hints: list[Hint] = [("enter", "to choose"), (REFUSE, self._hint)]
        return self.panel.render(width, height, sentences(hints, keys, self.contexts))

    def press(self, key: Key, action: str | None, /) -> Closed[Picked] | None:
        if self.panel.scroll(key):
            return None
        menu = self.panel.menu
        if action == "confirm:no" or str(key) in ("escape", "ctrl+c"):
            return Closed(Picked(self._cancel))
        chosen = menu.press(key, action)
        return None if chosen is None else Closed(Picked(chosen.value, menu.text))

    def paste(self, text: str, /) -> None:
        self.panel.menu.paste(text)
