"""A line of text that is typed inside a view."""

from enum import Enum

from bridle.frontends.tui.editing.editor import Editor
from bridle.frontends.tui.render.layout import style
from bridle.frontends.tui.style import cells
from bridle.frontends.tui.style.sanitize import clean_line
from bridle.frontends.tui.style.text import PLAIN, Line, Span
from bridle.frontends.tui.terminal.keys import Key

_MOST = 10_000
_NOT_TYPED = frozenset({"ctrl+j", "shift+enter", "alt+enter", "up", "down", "ctrl+p", "ctrl+n"})


class Signal(Enum):
    """What a key did."""

    IGNORED = "ignored"
    USED = "used"
    ACCEPTED = "accepted"
    CANCELLED = "cancelled"


class TextField:
    """One line of text with a cursor."""

    def __init__(self, text: str = "") -> None:
        self._editor = Editor()
        self._editor.set(clean_line(text)[:_MOST])

    @property
    def text(self) -> str:
        return self._editor.text

    def set(self, text: str) -> None:
        """Have another text."""
        self._editor.set(clean_line(text)[:_MOST])

    def press(self, key: Key) -> Signal:
        """Type, move, or end with enter or escape."""
        name = str(key)
        if name == "enter":
            return Signal.ACCEPTED
        if name in ("escape", "ctrl+c"):
            return Signal.CANCELLED
        if name in _NOT_TYPED or (key.text and len(self.text) >= _MOST):
            return Signal.IGNORED
        return Signal.USED if self._editor.press(key) else Signal.IGNORED

    def paste(self, text: str) -> None:
        """Put pasted text at the cursor, on one line."""
        self._editor.insert(clean_line(text[:_MOST])[: max(0, _MOST - len(self.text))])

    def line(self, label: str, width: int, *, placeholder: str = "") -> tuple[Line, int]:
        """The line behind a label and the column of the cursor; a long text shows the part at the cursor."""
        lead = Span(label, style("prompt", bold=True))
        space = max(1, width - cells.width(label) - 1)
        before = cells.truncate_start(self.text[: self._editor.cursor], space)
        rest = cells.truncate_text(self.text[self._editor.cursor :], space - cells.width(before), ellipsis="")
        hint = () if self.text else (Span(cells.truncate_text(placeholder, space), style("suggestion")),)
        line = (lead, Span(before + rest, PLAIN), *hint)
        return cells.cut(line, width), cells.width(label) + cells.width(before)
