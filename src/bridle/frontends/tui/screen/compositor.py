"""What is on the screen: the conversation with a view in it, or a view that covers everything."""

from collections.abc import Sequence
from typing import Any

from bridle.frontends.tui.keymap.keymap import Keymap
from bridle.frontends.tui.keymap.labels import BoundKey
from bridle.frontends.tui.screen.plain_screen import PlainScreen
from bridle.frontends.tui.screen.screen import Screen
from bridle.frontends.tui.screen.scrollback import Scrollback
from bridle.frontends.tui.screen.view import BaseView, Frame, View
from bridle.frontends.tui.style.cells import cut, line_width
from bridle.frontends.tui.style.text import Line

_LEAST_ABOVE = 3
"""Rows of the running turn that stay visible above a view, where they fit."""
_DOWN = BoundKey(("scroll:pageDown",))


class Compositor:
    """Draws at the size that the window has."""

    def __init__(self, screen: Screen | PlainScreen) -> None:
        self._screen = screen
        self.tracks_wheel = False
        """Whether a window of its own asks the terminal for the mouse wheel."""
        self.follows = True
        """Whether a window of its own shows what is new at once (`autoScrollEnabled`)."""
        self.backlog: Scrollback | None = None
        """What is finished, while the conversation has a window to itself."""

    def cover(self, lines: Sequence[Line]) -> None:
        """Give the conversation a full window."""
        if self.backlog is None and isinstance(self._screen, Screen):
            self.backlog = Scrollback(lines, follows=self.follows)
            if self.tracks_wheel:
                self._screen.track_wheel(on=True)

    def uncover(self) -> None:
        """Give the window back; what was finished meanwhile goes to the terminal's own scrollback."""
        if self.backlog is not None:
            lines, self.backlog = self.backlog.lines, None
            if isinstance(self._screen, Screen):
                self._screen.track_wheel(on=False)
            self._screen.write(lines)

    def write(self, lines: Sequence[Line]) -> None:
        """Add finished lines."""
        if self.backlog is not None:
            self.backlog.add(lines)
        else:
            self._screen.write(lines)

    def draw(self, view: View[Any] | None, base: BaseView | None, early: Frame | None, keys: Keymap) -> None:
        """Show a view, or where the user types; what was typed early where there is neither."""
        screen = self._screen
        width, height = max(screen.size.columns, 1), max(screen.size.lines, 1)
        if view is not None and view.is_full and isinstance(screen, Screen):
            frame = view.render(width, height, keys)
            screen.enter_full()
            screen.show_full(_fitted(frame.lines, width), frame.cursor)
            return
        if isinstance(screen, Screen) and self.backlog is None:
            screen.leave_full()
        if view is not None:
            frame = view.render(width, height, keys)
        elif base is not None:
            frame = base.below(width, height)
        elif early is not None:
            frame = early
        else:
            return
        lines = _fitted(frame.lines, width)
        room = height - len(lines)
        above: list[Line] = []
        if base is not None and room >= min(_LEAST_ABOVE, height):
            shown = _fitted(base.above(width, room), width)
            above = shown[max(len(shown) - room, 0) :]
        if self.backlog is not None and isinstance(screen, Screen) and base is not None:
            above = self._covering(self.backlog, above, width, room, keys)
            screen.enter_full()
            screen.show_full([*above, *lines], _below(frame, len(above)))
        else:
            screen.show([*above, *lines], _below(frame, len(above)))

    def _covering(
        self, backlog: Scrollback, above: Sequence[Line], width: int, room: int, keys: Keymap
    ) -> list[Line]:
        if room <= 0:
            return []
        gap: list[Line] = [()] if above else []
        return backlog.rows(width, room, [*gap, *above], key=_DOWN.name(keys, ("Scroll",)))


def _below(frame: Frame, rows: int) -> tuple[int, int] | None:
    return None if frame.cursor is None else (frame.cursor[0] + rows, frame.cursor[1])


def _fitted(lines: Sequence[Line], width: int) -> list[Line]:
    """Rows that fit, whatever a view made of the width."""
    return [each if line_width(each) <= width else cut(each, width) for each in lines]
