"""How a session at a terminal is listed: as a session, or as a background job."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bridle.cli.background.holder_connection import HolderConnection
from bridle.cli.background.launch_settings import refusal
from bridle.cli.background.session_files import SessionFile
from bridle.cli.background.state_reports import Reporter
from bridle.frontends.tui.app import App
from bridle.frontends.tui.render.layout import MUTED
from bridle.frontends.tui.style.text import Line, Span
from bridle.host.jobs.screen_text import REPAINT
from bridle.session.setup import Setup

_HINT: Line = (Span("ctrl+z leaves it running, /stop ends it", MUTED),)
_CLEAR = f"{REPAINT}\x1b[0m\x1b[H\x1b[2J"


class ListedSession:
    """Made when the program starts, closed when it ends."""

    def __init__(self, reporter: Reporter, holder: HolderConnection | None, file: SessionFile | None) -> None:
        self.reporter = reporter
        self.holder = holder
        self._file = file
        self._listening: asyncio.Task[None] | None = None

    @classmethod
    async def open(cls, job: str | None, setup: Setup) -> "ListedSession":
        """Connect to what holds the terminal, where this is a job."""
        if job is not None and (holder := await HolderConnection.open(job)) is not None:
            return cls(Reporter(holder.tell), holder, None)
        if refusal(setup.config, setup.env) is not None:
            return cls(Reporter(_report_nothing), None, None)
        file = SessionFile(setup.env, setup.cwd)
        return cls(Reporter(file.tell), None, file)

    @property
    def has_agreed(self) -> bool:
        """Whether the user who moved the session here agreed to bypass permissions."""
        return self.holder is not None and self.holder.has_agreed

    def attend(self, app: App) -> None:
        """Let the terminal come and go, and tell what holds the session up before it begins."""
        if (holder := self.holder) is None:
            return
        app.detach = holder.detach
        app.on_view = self.reporter.held_up
        holder.on_paint = lambda: app.show_anew((), first=_CLEAR)
        self._listening = app.spawn(holder.listen())

    def begin(
        self, app: App, session_id: str, cwd: str, *, recent: Callable[[], Sequence[Line]], has_prompt: bool
    ) -> None:
        """The session is ready; `recent` is shown to terminals that attach later."""
        app.on_view = _ignore_views
        if self.holder is not None:
            self.holder.on_paint = lambda: app.show_anew((*recent(), (), _HINT), first=_CLEAR)
        self.reporter.opened(session_id, cwd, has_prompt=has_prompt)

    async def close(self) -> None:
        if self._listening is not None:
            self._listening.cancel()
        if self.holder is not None:
            await self.holder.close()
        if self._file is not None:
            self._file.close()


def _report_nothing(_: Mapping[str, Any]) -> None:
    """For sessions that are not listed."""


def _ignore_views(_: bool) -> None:
    """Views that the user opens do not block the session."""
