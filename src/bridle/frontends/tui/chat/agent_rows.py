"""Rows of running agents, as a command of the user writes them."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from bridle.frontends.tui.chat.row_command import RowCommandError, ask_for_rows
from bridle.frontends.tui.render.call import AgentProgress
from bridle.frontends.tui.style.ansi import from_ansi
from bridle.frontends.tui.style.text import Line

_PAUSE_SECONDS = 1.0


class _Row(msgspec.Struct, frozen=True):
    id: str
    content: str


class AgentRows:
    """Asks the command at most once a second, and only while agents are running."""

    def __init__(
        self,
        command: str,
        *,
        running: Callable[[], Sequence[AgentProgress]],
        facts: Callable[[Sequence[AgentProgress]], Mapping[str, Any]],
        env: Callable[[], Mapping[str, str]],
        cwd: Callable[[], str],
        on_change: Callable[[], None],
    ) -> None:
        self._command = command
        self._running = running
        self._facts = facts
        self._env = env
        self._cwd = cwd
        self._on_change = on_change
        self._due = asyncio.Event()
        self.bodies: Mapping[str, Line] = {}
        """What stands in the row of an agent, by its id; an empty one hides the agent."""

    def refresh(self) -> None:
        """Something about agents has changed."""
        self._due.set()

    async def run(self) -> None:
        """Keep the rows up to date until cancelled."""
        while True:
            await self._due.wait()
            self._due.clear()
            while running := self._running():
                try:
                    said = await ask_for_rows(
                        self._command, self._facts(running), env=self._env(), cwd=self._cwd()
                    )
                except RowCommandError:
                    said = ""  # The rows are shown as they are without the command.
                self.bodies = _bodies(said)
                self._on_change()
                await asyncio.sleep(_PAUSE_SECONDS)


def _bodies(said: str) -> Mapping[str, Line]:
    """One JSON object on each line; what is none is passed over."""
    found: dict[str, Line] = {}
    for text in said.splitlines():
        try:
            row = msgspec.json.decode(text, type=_Row)
        except (msgspec.DecodeError, msgspec.ValidationError):
            continue
        lines = from_ansi(row.content)
        found[row.id] = lines[0] if lines else ()
    return found
