"""The row below the input: the built-in one, or what a command of the user makes of the session."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bridle.config.schema import StatusLine
from bridle.frontends.tui.chat.row_command import RowCommandError, ask_for_rows
from bridle.frontends.tui.render.layout import MUTED
from bridle.frontends.tui.render.status import Status, status_line
from bridle.frontends.tui.style import cells
from bridle.frontends.tui.style.ansi import from_ansi
from bridle.frontends.tui.style.text import Line, Span, line

_DEBOUNCE = 0.3
_MOST_ROWS = 3


class StatusCommand:
    """Runs the user's command when something has changed, never twice at once."""

    def __init__(
        self,
        wanted: StatusLine,
        *,
        facts: Callable[[], Mapping[str, Any]],
        env: Callable[[], Mapping[str, str]],
        cwd: Callable[[], str],
        on_change: Callable[[], None],
    ) -> None:
        self._wanted = wanted
        self._facts = facts
        self._env = env
        self._cwd = cwd
        self._on_change = on_change
        self._due = asyncio.Event()
        self._rows: Sequence[Line] = ()

    @property
    def hides_vim_mode(self) -> bool:
        """Whether the user's command shows the mode of vim itself."""
        return self._wanted.hide_vim_mode_indicator is True

    def refresh(self) -> None:
        """Something that it may show has changed."""
        self._due.set()

    def rows(self, width: int) -> list[Line]:
        """What the command said last."""
        pad = " " * min(self._wanted.padding or 0, width // 2)
        return [cells.truncate((Span(pad), *row), width) for row in self._rows]

    async def run(self) -> None:
        """Keep it up to date until cancelled."""
        while True:
            try:
                async with asyncio.timeout(self._wanted.refresh_interval):
                    await self._due.wait()
            except TimeoutError:
                pass  # It shows something that changes over time.
            await asyncio.sleep(_DEBOUNCE)
            self._due.clear()
            self._rows = await self._say()
            self._on_change()

    async def _say(self) -> Sequence[Line]:
        try:
            said = await ask_for_rows(self._wanted.command, self._facts(), env=self._env(), cwd=self._cwd())
        except RowCommandError as fault:
            return [line(f"status line: {fault}", MUTED)]
        return from_ansi(said)[:_MOST_ROWS]


def footer(status: Status, width: int, *, left: Line = (), right: Line = ()) -> Line:
    """Hints on the left, how the session stands on the right; hints give way first."""
    stand = status_line(status, width)
    room = width - cells.line_width(stand) - 3
    shown = left if cells.line_width(left) <= room else ()
    last = right if right and cells.line_width(right) + cells.line_width(shown) + 2 <= room else ()
    if not shown and not last:
        return stand
    tail: Line = (*((Span("  "),) if last else ()), *last)
    gap = width - cells.line_width(stand) - cells.line_width(shown) - cells.line_width(tail)
    return (*stand, Span(" " * max(gap, 1)), *shown, *tail)
