"""How a session at a terminal is listed: as a session, or as a background job."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bridle.cli.background.inside import Inside
from bridle.cli.background.permission import refusal
from bridle.cli.background.presence import Presence
from bridle.cli.background.reporting import Reporter
from bridle.frontends.tui.app import App
from bridle.frontends.tui.render.layout import MUTED
from bridle.frontends.tui.style.text import Line, Span
from bridle.host.jobs.screen_text import REPAINT
from bridle.session.setup import Setup

_HINT: Line = (Span("ctrl+z leaves it running, /stop ends it", MUTED),)
_CLEAR = f"{REPAINT}\x1b[0m\x1b[H\x1b[2J"


class Standing:
    """Made when the program starts, closed when it ends."""

    def __init__(self, reporter: Reporter, inside: Inside | None, presence: Presence | None) -> None:
        self.reporter = reporter
        self.inside = inside
        self._presence = presence
        self._listening: asyncio.Task[None] | None = None

    @classmethod
    async def open(cls, job: str | None, setup: Setup) -> "Standing":
        """Connect to what holds the terminal, where this is a job."""
        if job is not None and (inside := await Inside.open(job)) is not None:
            return cls(Reporter(inside.tell), inside, None)
        if refusal(setup.config, setup.env) is not None:
            return cls(Reporter(_report_nothing), None, None)
        presence = Presence(setup.env, setup.cwd)
        return cls(Reporter(presence.tell), None, presence)

    @property
    def has_agreed(self) -> bool:
        """Whether the user who moved the session here agreed to bypass permissions."""
        return self.inside is not None and self.inside.has_agreed

    def attend(self, app: App) -> None:
        """Let the terminal come and go, and tell what holds the session up before it begins."""
        if (inside := self.inside) is None:
            return
        app.detach = inside.detach
        app.on_view = self.reporter.held_up
        inside.on_paint = lambda: app.show_anew((), first=_CLEAR)
        self._listening = app.spawn(inside.listen())

    def begin(
        self, app: App, session_id: str, cwd: str, *, recent: Callable[[], Sequence[Line]], has_prompt: bool
    ) -> None:
        """The session is ready; `recent` is shown to terminals that attach later."""
        app.on_view = _ignore_views
        if self.inside is not None:
            self.inside.on_paint = lambda: app.show_anew((*recent(), (), _HINT), first=_CLEAR)
        self.reporter.opened(session_id, cwd, has_prompt=has_prompt)

    async def close(self) -> None:
        if self._listening is not None:
            self._listening.cancel()
        if self.inside is not None:
            await self.inside.close()
        if self._presence is not None:
            self._presence.close()


def _report_nothing(_: Mapping[str, Any]) -> None:
    """For sessions that are not listed."""


def _ignore_views(_: bool) -> None:
    """Views that the user opens do not block the session."""
