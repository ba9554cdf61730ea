"""Shows finished lines once and a changing region below them, with as few bytes as possible."""

import time
from collections.abc import Callable, Sequence
from typing import Protocol

from bridle.frontends.tui.screen.live_region import Cursor, LiveRegion
from bridle.frontends.tui.style.cells import cut, line_width
from bridle.frontends.tui.style.paint import Painter
from bridle.frontends.tui.style.text import InlineImage, Line
from bridle.frontends.tui.style.theme import Theme
from bridle.frontends.tui.terminal.capabilities import Capabilities
from bridle.frontends.tui.terminal.terminal import ALTERNATE, KITTY_KEYS, WHEEL_REPORTS, Mode

_HIDE = "\x1b[?25l"
_SHOW = "\x1b[?25h"
_HOLD = "\x1b[?2026h"
_RELEASE = "\x1b[?2026l"
_SETTLE_SECONDS = 0.3
"""tmux breaks rows again at once and tells of it up to a quarter of a second later."""


class Size(Protocol):
    """The size of the window."""

    @property
    def columns(self) -> int: ...
    @property
    def lines(self) -> int: ...


class Output(Protocol):
    """The part of a terminal that a screen needs."""

    capabilities: Capabilities
    is_lent: bool

    @property
    def size(self) -> Size: ...
    def write(self, text: str, /) -> None: ...
    def turn_on(self, *modes: Mode) -> None: ...
    def turn_off(self, mode: Mode, /) -> None: ...
    def release(self, mode: Mode, /) -> str: ...


class Screen:
    """Native scrollback above, a live region below; `full` shows a view on the alternate screen instead."""

    def __init__(self, output: Output, theme: Theme, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._output = output
        self._clock = clock
        self._resized = float("-inf")
        self._brush = Painter(theme)
        size = output.size
        self._columns, self._height = size.columns, size.lines
        self._region = LiveRegion(self._brush, self._columns)
        self._finished: list[Line] = []
        self._rows: list[Line] = []
        self._cursor: Cursor | None = (0, 0)
        self._first = 0
        """Rows before this one have no place in the window."""
        self._is_cursor_shown = True
        self._tracks_wheel = False
        self._full: FullView | None = None
        self._alternate: Mode = ALTERNATE
        self.bytes_written = 0

    @property
    def size(self) -> Size:
        """The window as it is now: lay rows out for this before showing them."""
        return self._output.size

    @property
    def unsettled(self) -> float:
        """For how many seconds to draw nothing: the window may have another size than reported.

        What is drawn for the wrong width lands on the wrong rows, and finished lines could be lost.
        """
        size = self._output.size
        if self._full is not None or (size.columns, size.lines) != (self._columns, self._height):
            return 0.0
        return max(self._resized + _SETTLE_SECONDS - self._clock(), 0.0)

    @property
    def is_full(self) -> bool:
        """Whether a view covers everything."""
        return self._full is not None

    def write(self, lines: Sequence[Line]) -> None:
        """Add finished lines above the live region, with the next `show` or `flush`.

        A line that is too long is left to the terminal to break, so that it can be copied in one piece.
        """
        self._finished.extend(lines)

    def show(self, rows: Sequence[Line], cursor: Cursor | None = None) -> None:
        """Make these rows the live region; without a cursor it is hidden.

        When there are more rows than the window has, the last ones are shown, or those around the cursor.
        """
        self._rows, self._cursor = list(rows), cursor
        self.flush()

    def flush(self) -> None:
        """Bring the terminal up to date."""
        if self._full is not None or self._output.is_lent:
            return
        self._follow_size()
        touched = self._draw()
        self._place_cursor()
        self._send(self._region.take(), touched)

    def redraw(self) -> None:
        """Draw the region again in its place."""
        if self._full is not None:
            self._full.forget()
            return
        self._region.clear(self._output.size.columns, height=self._output.size.lines, reflows=False)
        self.flush()

    def restart(self) -> None:
        """Draw the region at the line where the cursor is now: something else has used the terminal."""
        self._columns, self._height = self._output.size.columns, self._output.size.lines
        self._region.forget(self._columns)
        self._is_cursor_shown = True
        if self._full is not None:
            self._full.forget()
        else:
            self.flush()

    def adopt(self, rows: Sequence[Line], cursor: Cursor) -> None:
        """Take over rows that are on the screen already, at the size it has now."""
        self._rows, self._cursor = list(rows), cursor
        self._region.adopt(self._rows, cursor)

    def clear_window(self) -> None:
        """Move everything out of the window, into the terminal's scrollback."""
        if self._full is not None or self._output.is_lent:
            return
        self._region.clear(self._columns, height=self._height, reflows=False)
        if self._finished:
            self._region.print(self._finished)
            self._finished = []
        self._send(self._region.take() + "\r\n" * (self._height - 1) + "\x1b[H", 0)

    def repaint(self, theme: Theme) -> None:
        """Use other colors from now on."""
        self._brush = Painter(theme)
        self._region.clear(self._columns, height=self._height, reflows=False)
        self._send(self._region.take(), 0)
        self._region = LiveRegion(self._brush, self._columns)
        if self._full is not None:
            self._full = FullView(self._brush)
        self.flush()

    def parting(self) -> str:
        """What leaves nothing but the finished lines on the screen."""
        if self._output.capabilities.is_dumb or self._output.is_lent:
            return ""
        uncover = "" if self._full is None else self._output.release(self._alternate)
        self._region.clear(self._columns, height=self._height, reflows=False)
        if self._finished:
            self._region.print(self._finished)
            self._finished = []
        return uncover + self._region.take()

    def track_wheel(self, *, on: bool) -> None:
        """Have the terminal tell how the mouse wheel turns, or no more."""
        if on != self._tracks_wheel:
            self._tracks_wheel = on
            if on:
                self._output.turn_on(WHEEL_REPORTS)
            else:
                self._output.turn_off(WHEEL_REPORTS)

    def enter_full(self) -> None:
        """Cover everything with a view; finished lines wait until it is left."""
        if self._full is None:
            self._full = FullView(self._brush)
            # The alternate screen has a keyboard mode of its own.
            keys = KITTY_KEYS if self._output.capabilities.keyboard else ("", "")
            self._alternate = (ALTERNATE[0] + keys[0], keys[1] + ALTERNATE[1])
            self._output.turn_on(self._alternate)

    def show_full(self, rows: Sequence[Line], cursor: Cursor | None = None) -> None:
        """Show the rows of the view from the top of the window."""
        if self._full is None or self._output.is_lent:
            return
        size = self._output.size
        frame, touched = self._full.become(rows, size.columns, size.lines)
        at = "" if cursor is None else self._full.place(cursor, size.columns, size.lines)
        self._send(frame + at + self._cursor_change(shown=cursor is not None), touched)

    def leave_full(self) -> None:
        """Show what was there before, and what was finished meanwhile."""
        if self._full is not None:
            self._full = None
            self._output.turn_off(self._alternate)
            self.flush()

    def _follow_size(self) -> None:
        size = self._output.size
        if (size.columns, size.lines) == (self._columns, self._height):
            return
        reflows = self._output.capabilities.reflows
        self._region.clear(size.columns, height=size.lines, reflows=reflows)
        self._columns, self._height = size.columns, size.lines
        if reflows:
            self._resized = self._clock()

    def _draw(self) -> int:
        """Draw finished lines and the region; returns how many rows were touched."""
        lines, self._finished = self._draw_images(), []
        # Rows that were shown while they were open stay where they are; with rows out of sight above them
        # it is not known where the finished ones begin.
        kept = self._region.keep(lines) if lines and not self._first else 0
        self._first = _first_visible(len(self._rows), self._height, self._cursor)
        rows = self._rows[self._first : self._first + self._height]
        if kept < len(lines):
            return kept + self._region.advance(lines[kept:], rows, self._height)
        return kept + self._region.become(rows)

    def _draw_images(self) -> list[Line]:
        """Draw finished lines up to the last image; returns those behind it."""
        lines = self._finished
        while (at := next((at for at, line in enumerate(lines) if _image_in(line)), None)) is not None:
            image = _image_in(lines[at])
            self._region.clear(self._columns, height=self._height, reflows=False)
            self._region.print(lines[:at])
            if image is not None:
                self._region.draw(image.sequence, image.rows)
            lines = lines[at + 1 :]
        return lines

    def _place_cursor(self) -> None:
        if self._cursor is not None:
            row, column = self._cursor
            self._region.place((row - self._first, column))

    def _cursor_change(self, *, shown: bool) -> str:
        if shown == self._is_cursor_shown:
            return ""
        self._is_cursor_shown = shown
        return _SHOW if shown else _HIDE

    def _send(self, frame: str, touched: int) -> None:
        was_shown = self._is_cursor_shown
        if self._full is None:
            frame += self._cursor_change(shown=self._cursor is not None)
        if touched > 1:
            if self._output.capabilities.synchronized:
                frame = f"{_HOLD}{frame}{_RELEASE}"
            elif was_shown and self._is_cursor_shown:
                frame = f"{_HIDE}{frame}{_SHOW}"
        if frame:
            self.bytes_written += len(frame.encode("utf-8", "replace"))
            self._output.write(frame)


def _image_in(line: Line) -> InlineImage | None:
    return line[0] if len(line) == 1 and isinstance(line[0], InlineImage) else None


def _first_visible(count: int, height: int, cursor: Cursor | None) -> int:
    first = max(count - height, 0)
    return first if cursor is None else max(min(first, cursor[0]), 0)


class FullView:
    """The rows on the alternate screen; only those that differ are written."""

    def __init__(self, brush: Painter) -> None:
        self._brush = brush
        self._rows: list[Line] = []
        self._size: tuple[int, int] | None = None

    def forget(self) -> None:
        """Write everything again the next time."""
        self._size = None

    def become(self, rows: Sequence[Line], columns: int, height: int) -> tuple[str, int]:
        """What changes the window into these rows, and how many of them are touched."""
        wanted = [*rows[:height], *[()] * (height - len(rows))]
        out: list[str] = []
        if self._size != (columns, height):
            self._size = (columns, height)
            self._rows = [()] * height
            out.append(f"{self._brush.plain()}\x1b[2J")
        touched = 0
        for index, (old, new) in enumerate(zip(self._rows, wanted, strict=True)):
            if old != new:
                touched += 1
                out.append(self._row(index, new, columns))
        self._rows = wanted
        out.append(self._brush.plain())
        return "".join(out), touched

    def place(self, cursor: Cursor, columns: int, height: int) -> str:
        """Move the cursor there."""
        return f"\x1b[{min(cursor[0], height - 1) + 1};{min(cursor[1], columns - 1) + 1}H"

    def _row(self, index: int, row: Line, columns: int) -> str:
        fitted = row if line_width(row) <= columns else cut(row, columns)
        # Erased before it is written: at the end that would take the last character of a full row with it.
        start = f"\x1b[{index + 1}H{self._brush.plain()}\x1b[K"
        return f"{start}\x1b[?7l{self._brush.paint(fitted)}\x1b[?7h"
