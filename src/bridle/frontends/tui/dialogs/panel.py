"""The look that all questions share: a title, what it is about, the choices, and what the keys do."""

from collections.abc import Callable, Sequence

from bridle.frontends.tui.dialogs.menu import Menu
from bridle.frontends.tui.render.layout import MUTED, one_line, paragraph, style, wrap
from bridle.frontends.tui.screen.live_region import Cursor
from bridle.frontends.tui.screen.view import Frame
from bridle.frontends.tui.style import cells
from bridle.frontends.tui.style.text import Line, Span
from bridle.frontends.tui.terminal.keys import Key

_LEAST_BODY = 3
_LEFT_ABOVE = 4
"""Rows of the window that stay with the running turn."""
_TALL = 30
"""Windows with fewer rows are left to the question."""
_MARK = "❯"
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

    def render(self, width: int, height: int, hints: Sequence[str], notes: Sequence[Line] = ()) -> Frame:
        """The rows of the question; notes belong to the current choice and are never scrolled away."""
        menu, cursor = self.menu.render(width, dim=not self.armed)
        foot = [*notes, *self._foot(width, hints)]
        title = heading(self.title, width, self.color)
        spare = height - 1 - len(title) - len(menu) - len(foot)
        left = _LEFT_ABOVE if height >= _TALL else 0
        body = self._window(list(self.body(width)), max(spare - left, min(spare, _LEAST_BODY), 1), width)
        above = [*title, *body, ()]
        place = None if cursor is None or not self.armed else (cursor[0] + len(above), cursor[1])
        rows = [*above, *menu, *foot]
        if len(rows) <= height:
            return Frame(rows, place)
        return _around(rows, place, height, current=len(above) + _current_row(menu))

    def _window(self, body: list[Line], room: int, width: int) -> list[Line]:
        if len(body) <= room:
            self._first, self._page = 0, room
            return body
        self._page = max(room - 1, 1)
        self._first = min(self._first, len(body) - self._page)
        last = self._first + self._page
        where = f"lines {self._first + 1}–{last} of {len(body)} · pgup pgdn for more"
        return [*body[self._first : last], cells.truncate((Span(where, style("warning")),), width)]

    def _foot(self, width: int, hints: Sequence[str]) -> list[Line]:
        return [(), *_packed(hints if self.armed else ("just a moment…",), width)]


def _current_row(menu: Sequence[Line]) -> int:
    return next((at for at, row in enumerate(menu) if row and row[0].text.startswith(_MARK)), 0)


def _around(rows: Sequence[Line], place: Cursor | None, height: int, *, current: int) -> Frame:
    """The rows around the current choice, in a window that is too low for all of them."""
    first = max(min(current - height // 2, len(rows) - height), 0)
    shown = None if place is None else (place[0] - first, place[1])
    return Frame(rows[first : first + height], shown)


def _packed(hints: Sequence[str], width: int) -> list[Line]:
    """Hints on as few rows as hold them; none is torn apart unless it is longer than a row."""
    rows: list[str] = []
    for hint in hints:
        if rows and cells.width(f"{rows[-1]} · {hint}") <= width:
            rows[-1] += f" · {hint}"
        else:
            rows.append(hint)
    return [piece for text in rows for piece in wrap((Span(text, MUTED),), max(width, 1))]


def heading(title: str, width: int, color: str = "permission") -> list[Line]:
    """How a question begins: a line with the title in it, or below it where it would be cut."""
    look, shown = style(color), f" {one_line(title)} "
    rest = width - 1 - cells.width(shown)
    if rest >= 1:
        return [(Span("─", look), Span(shown, style(color, bold=True)), Span("─" * rest, look))]
    return [(Span("─" * width, look),), *paragraph(title, width, style(color, bold=True))]
