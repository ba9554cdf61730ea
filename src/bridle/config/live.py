"""Keeps the settings of a running session up to date."""

import asyncio
from collections.abc import Awaitable, Callable

from bridle.config.load import Config, reload
from bridle.config.problem import Problem
from bridle.config.sources import watched
from bridle.host.watch import INTERVAL, next_change, stamps


class LiveConfig:
    """The settings as they stand; `run` follows the files until it is cancelled."""

    def __init__(
        self,
        config: Config,
        changed: Callable[[Config], None],
        report: Callable[[Problem], None],
        *,
        agrees: Callable[[Config, Config], Awaitable[bool]] | None = None,
    ) -> None:
        self.current = config
        self._changed = changed
        self._report = report
        self._agrees = agrees
        """Asked with the settings before and after a change; one that is refused does not count."""
        self._told = {str(problem) for problem in config.problems}
        self._known = stamps(watched(config.inputs))

    async def run(
        self,
        *,
        interval: float = INTERVAL,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Call `changed` with the new settings whenever the files say something else."""
        while True:
            await next_change(self._known, interval=interval, sleep=sleep)
            before = self.current
            after = self.refresh()
            if after.raw == before.raw:
                continue
            if self._agrees is not None and not await self._agrees(before, after):
                self.current = before
                continue
            self._changed(after)

    def refresh(self) -> Config:
        """Read the files now and tell nobody: for a caller that has written them itself."""
        # Before reading, so that a change in between is seen by the next look.
        self._known = stamps(watched(self.current.inputs))
        self.current = reload(self.current)
        for problem in self.current.problems:
            if str(problem) not in self._told:
                self._report(problem)
        self._told = {str(problem) for problem in self.current.problems}
        return self.current
