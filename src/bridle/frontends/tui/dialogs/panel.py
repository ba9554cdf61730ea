"""The look that all questions share: a title, what it is about, the choices, and what the keys do."""

from collections.abc import Callable, Sequence

from bridle.frontends.tui import cells
from bridle.frontends.tui.dialogs.menu import Menu
from bridle.frontends.tui.keys import Key
from bridle.frontends.tui.render.layout import MUTED, one_line, style, wrap
from bridle.frontends.tui.text import Line, Span
from bridle.frontends.tui.view import Frame

_LEAST_BODY = 3
_LEFT_ABOVE = 4
"""Rows of the window that stay with what goes on."""
_SCROLLS = {"pageup": -1, "pagedown": 1, "shift+up": -1, "shift+down": 1}

Body = Callable[[int], Sequence[Line]]
"""What the question is about, laid out for a width."""


class Panel:
    """Draws a question; long bodies are scrolled, never cut."""

    def __init__(self, title: str, body: Body, menu: Menu, *, color: str = "permission") -> None:
        self.title = title
        self.body = body
        self.menu = menu
        self.color = color
        self.armed = False
        """Keys count; before that the choices are shown dimly."""
        self._first = 0
        self._page = _LEAST_BODY

    def arm(self) -> None:
        """Keys count from now on."""
        self.armed = True

    def scroll(self, key: Key) -> bool:
        """Move through a long body; False when the key means something else."""
        if (by := _SCROLLS.get(str(key))) is None:
            return False
        self._first = max(self._first + by * max(self._page - 1, 1), 0)
        return True

    def render(self, width: int, height: int, hints: Sequence[str]) -> Frame:
        """The rows of the question."""
        menu, cursor = self.menu.render(width, dim=not self.armed)
        foot = self._foot(width, hints)
        spare = height - 2 - len(menu) - len(foot)
        body = self._window(
            list(self.body(width)), max(spare - _LEFT_ABOVE, min(spare, _LEAST_BODY), 1), width
        )
        above = [self._rule(width), *body, ()]
        place = None if cursor is None or not self.armed else (cursor[0] + len(above), cursor[1])
        return Frame([*above, *menu, *foot], place)

    def _rule(self, width: int) -> Line:
        title = cells.truncate_text(f" {one_line(self.title)} ", max(width - 2, 1))
        look = style(self.color)
        rest = max(width - 1 - cells.width(title), 0)
        return (Span("─", look), Span(title, style(self.color, bold=True)), Span("─" * rest, look))

    def _window(self, body: list[Line], room: int, width: int) -> list[Line]:
        if len(body) <= room:
            self._first, self._page = 0, room
            return body
        self._page = max(room - 1, 1)
        self._first = min(self._first, len(body) - self._page)
        last = self._first + self._page
        where = f"lines {self._first + 1}–{last} of {len(body)} · pgup pgdn to see the rest"
        return [*body[self._first : last], cells.truncate((Span(where, style("warning")),), width)]

    def _foot(self, width: int, hints: Sequence[str]) -> list[Line]:
        text = " · ".join(hints) if self.armed else "one moment…"
        return [(), *wrap((Span(text, MUTED),), max(width, 1))]
