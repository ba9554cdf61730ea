"""Content that also says what came of the last thing that was done in it."""

from collections.abc import Sequence
from typing import Any

from bridle.frontends.tui.keymap.labels import Hint
from bridle.frontends.tui.render.layout import one_line, style, wrap
from bridle.frontends.tui.screen.live_region import Cursor
from bridle.frontends.tui.screen.view import Closed
from bridle.frontends.tui.style.text import Line, Span, Style
from bridle.frontends.tui.terminal.keys import Key
from bridle.frontends.tui.widgets.pane import Pane
from bridle.types.command import Says

_MOST_ROWS = 3
_LONGEST = 500
_LEAST_BODY = 3


class MessagePane:
    """A pane with a remark below it, until the next key."""

    def __init__(self, inner: Pane) -> None:
        self._inner = inner
        self._said: Says | None = None
        self.notice = ""
        """What is said as long as it holds."""

    def tell(self, said: Says) -> None:
        """Show this until something is pressed."""
        self._said = said if said.text.strip() else None

    @property
    def contexts(self) -> tuple[str, ...]:
        return self._inner.contexts

    @property
    def is_busy(self) -> bool:
        return self._inner.is_busy

    @property
    def hints(self) -> Sequence[Hint]:
        return self._inner.hints

    def body(self, width: int, height: int) -> tuple[list[Line], Cursor | None]:
        below = self._remark(width)[: max(0, height - _LEAST_BODY)]
        rows, cursor = self._inner.body(width, height - len(below))
        if not below:
            return rows, cursor
        return [*rows, *([()] * (height - len(below) - len(rows))), *below], cursor

    def press(self, key: Key, action: str | None) -> Closed[Any] | bool:
        self._said = None
        return self._inner.press(key, action)

    def paste(self, text: str) -> None:
        self._inner.paste(text)

    def _remark(self, width: int) -> list[Line]:
        rows = _wrapped(self.notice, width, style("warning", bold=True)) if self.notice else []
        if self._said is None:
            return rows
        look = style("error" if self._said.is_error else "info")
        return [*rows, *_wrapped(self._said.text, width, look)]


def _wrapped(text: str, width: int, look: Style) -> list[Line]:
    return wrap((Span(one_line(text[:_LONGEST]), look),), max(1, width))[:_MOST_ROWS]
