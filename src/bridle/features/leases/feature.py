"""Leases as a feature: each thread of a session has its own, made with its first call."""

import asyncio
import os
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

import msgspec

from bridle.engine.feature import Feature, RunningCall
from bridle.features.context import FeatureContext
from bridle.host.paths import bridle_dir
from bridle.types.variables import is_on

if TYPE_CHECKING:
    from bridle.engine.assignment import Assignment
    from bridle.features.leases.leases import Leases
    from bridle.types.tool import ToolContext


class LeasesFeature(Feature):
    name = "leases"

    def __init__(self, make: "Callable[[], Leases]", *, of_agent: bool = False) -> None:
        self._make = make
        self._of_agent = of_agent
        self._made: Leases | None = None

    async def before_call(self, running: RunningCall, context: "ToolContext") -> "ToolContext":
        """Commands get ports of their thread; a file is reserved before a tool changes it."""
        if running.tool.shell:
            env = await self.leases().environment(context.env)
            return msgspec.structs.replace(context, env=env)
        changes = self.leases().changes(context.changes, context.cwd)
        return msgspec.structs.replace(context, changes=changes)

    def around_call(self, running: RunningCall) -> AbstractAsyncContextManager[None] | None:
        """Keeps other threads away from what a command changes."""
        case, runtime = running.allowed.case, running.turn.runtime
        if case.reading is None:
            return None
        from bridle.features.leases.leases import Command

        command = Command(
            reading=case.reading,
            read_only=case.read_only,
            is_awaited=running.tool.shell == "awaited"
            and not running.allowed.call.input.get("run_in_background"),
            cwd=runtime.workspace.cwd,
            env=runtime.env,
            seen=runtime.workspace.files.paths(),
        )
        return self.leases().command(command)

    def remarks(self) -> Sequence[str]:
        """What a thread learns about the files that it shares with others."""
        return () if self._made is None else self._made.remarks()

    def end_turn(self) -> Sequence[str]:
        return () if self._made is None else self._made.end_turn()

    def for_agent(self, work: "Assignment") -> Feature:
        name = work.name or work.description
        return LeasesFeature(lambda: self.leases().for_agent(work.agent_id, name), of_agent=True)

    async def close(self) -> None:
        if self._made is not None:
            await asyncio.to_thread(self._made.end if self._of_agent else self._made.close)

    def leases(self) -> "Leases":
        if self._made is None:
            self._made = self._make()
        return self._made


def open_leases(context: FeatureContext) -> LeasesFeature | None:
    """Those of the main thread; None where they are turned off."""
    if is_on(context.env, "BRIDLE_DISABLE_BROKER"):
        return None

    def make() -> "Leases":
        from bridle.features.leases.leases import Leases

        return Leases.of_session(os.path.join(bridle_dir(context.env), "broker"), context.session.id)

    return LeasesFeature(make)
