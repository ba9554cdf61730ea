"""Notices when the user has not answered for a while."""

import asyncio
from collections.abc import Callable

_SECONDS = 60.0


class IdleTimer:
    """Calls `tell` once, a minute after `begin`, unless `stop` comes first."""

    def __init__(self, tell: Callable[[], None]) -> None:
        self._tell = tell
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """Start waiting for the user."""
        self.stop()
        self._timer = asyncio.get_running_loop().call_later(_SECONDS, self._end)

    def stop(self) -> None:
        """The user is active."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _end(self) -> None:
        self._timer = None
        self._tell()
