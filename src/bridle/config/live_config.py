"""Keeps the settings of a running session up to date."""

import asyncio
from collections.abc import Awaitable, Callable

import msgspec

from bridle.config.load import Config, reload
from bridle.config.problems import Problem
from bridle.config.sources import watched
from bridle.host.file_watch import INTERVAL, next_change, stamps
from bridle.types.errors import ConfigError


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
            policy = self.current.policy
            try:
                async with asyncio.timeout(None if policy is None else policy.refresh_seconds):
                    await next_change(self._known, interval=interval, sleep=sleep)
            except TimeoutError:
                await self._ask_helper()
            before = self.current
            after = self.refresh()
            if after.raw == before.raw:
                continue
            if self._agrees is not None and not await self._agrees(before, after):
                self.current = before
                continue
            self._changed(after)

    async def _ask_helper(self) -> None:
        """Run the administrator's helper again; while it fails, what it printed before counts."""
        # Few machines have one.
        from bridle.config.policy_helper import run_helper

        current = self.current
        if current.policy is None:
            return
        try:
            policy = await asyncio.to_thread(run_helper, current.policy.helper, current.inputs.env)
        except ConfigError as error:
            self._report(Problem(file=current.policy.helper.path, message=str(error), broken=True))
            return
        self.current = msgspec.structs.replace(current, policy=policy)

    def refresh(self) -> Config:
        """Read the files now and notify no listener: for a caller that has written them itself."""
        # Before reading, so that a change in between is seen by the next look.
        self._known = stamps(watched(self.current.inputs))
        self.current = reload(self.current)
        for problem in self.current.problems:
            if str(problem) not in self._told:
                self._report(problem)
        self._told = {str(problem) for problem in self.current.problems}
        return self.current
