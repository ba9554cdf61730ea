"""Shell commands that the user types: one at a time, beside the turns of the model."""

import asyncio

from bridle.frontends.tui.app import App
from bridle.frontends.tui.chat.submission import SessionLink, run_shell
from bridle.frontends.tui.chat.turn import TurnView


class UserShell:
    """Runs a command of the user and shows it like a call of the model."""

    def __init__(self, app: App, talk: SessionLink, live: TurnView, own_calls: set[str]) -> None:
        self._app = app
        self._talk = talk
        self._live = live
        self._own_calls = own_calls
        self._running: asyncio.Task[None] | None = None

    @property
    def is_running(self) -> bool:
        return self._running is not None

    def start(self, command: str) -> bool:
        """Run a command; False while another one runs."""
        if self._running is not None:
            return False
        self._running = self._app.spawn(self._run(command))
        return True

    def cancel(self) -> None:
        """Interrupt what runs."""
        if self._running is not None:
            self._running.cancel()

    async def _run(self, command: str) -> None:
        try:
            await run_shell(command, self._talk, self._live, self._own_calls)
        finally:
            self._running = None
            self._app.redraw()
