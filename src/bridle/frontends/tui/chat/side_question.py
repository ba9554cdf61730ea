"""A question on the side while the model works: asked and answered in a panel of its own."""

from collections.abc import Callable

from bridle.frontends.tui.keymap.keymap import USUAL, Keymap
from bridle.frontends.tui.render.layout import MUTED, one_line, style
from bridle.frontends.tui.render.markdown import render_markdown
from bridle.frontends.tui.screen.view import Closed, Frame
from bridle.frontends.tui.style import cells
from bridle.frontends.tui.style.text import Line, Span
from bridle.frontends.tui.terminal.keys import Key

_FRAMES = "◐◓◑◒"
_FRAME_SECONDS = 0.2
_LEFT_ABOVE = 6
"""Rows of the window that stay with the running turn."""
_STEPS = {"up": -1, "down": 1, "pageup": -10, "pagedown": 10}


class SideQuestion:
    """Shows the question at once and the answer when it comes; esc closes it at any time."""

    is_full = False
    contexts = ()

    def __init__(self, question: str, *, clock: Callable[[], float]) -> None:
        self._question = one_line(question)
        self._clock = clock
        self._answer = ""
        self._is_error = False
        self._first = 0

    @property
    def refresh(self) -> float | None:
        return None if self._answer else _FRAME_SECONDS

    def show(self, answer: str, *, is_error: bool = False) -> None:
        """The answer has come."""
        self._answer, self._is_error = answer.strip() or "No answer.", is_error

    def render(self, width: int, height: int, keys: Keymap = USUAL, /) -> Frame:
        del keys
        title = cells.truncate((Span("─ /btw ", style("info", bold=True)), Span(self._question)), width - 2)
        rest = width - cells.line_width(title) - 1
        head: Line = (*title, Span(" " + "─" * max(rest, 0), style("info")))
        body = self._body(width)
        room = max(height - _LEFT_ABOVE, 1)
        self._first = max(min(self._first, len(body) - room), 0)
        shown = body[self._first : self._first + room]
        more = " · ↑ ↓ to scroll" if len(body) > len(shown) else ""
        foot: Line = (Span(f"esc to close{more}", MUTED),)
        return Frame([cells.cut(head, width), *shown, (), cells.truncate(foot, width)][:height])

    def press(self, key: Key, action: str | None, /) -> Closed[None] | None:
        del action
        name = str(key)
        if name in ("escape", "ctrl+c", "q") or (name in ("enter", "space") and self._answer):
            return Closed(None)
        self._first = max(self._first + _STEPS.get(name, 0), 0)
        return None

    def paste(self, text: str, /) -> None:
        """Nothing can be typed here."""

    def _body(self, width: int) -> list[Line]:
        if not self._answer:
            mark = _FRAMES[int(self._clock() / _FRAME_SECONDS) % len(_FRAMES)]
            return [(Span(f"{mark} Asking…", style("spinner")),)]
        if self._is_error:
            return cells.wrap((Span(one_line(self._answer), style("error")),), width)
        return render_markdown(self._answer, width)
