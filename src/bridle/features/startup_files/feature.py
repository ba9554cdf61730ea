"""Aliases, functions, options and PATH of the user's start-up files, as a feature.

They are read when a model writes its first shell command: a session that runs none starts no shell for them.
"""

import asyncio
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from bridle.engine.feature import Feature, RunningCall
from bridle.features.context import FeatureContext
from bridle.tools.catalog import traits_of
from bridle.types.services.service import Service
from bridle.types.tool import RUNS_COMMANDS
from bridle.types.variables import is_off

if TYPE_CHECKING:
    from bridle.engine.assignment import Assignment
    from bridle.engine.calls.call import Call
    from bridle.engine.turn import Turn
    from bridle.features.startup_files.session import Known
    from bridle.permissions.preparation import SessionPosition
    from bridle.types.tool import Tool, ToolContext


class StartupFilesFeature(Feature):
    name = "startup_files"

    def __init__(self, context: FeatureContext) -> None:
        self._context = context
        self._reading: asyncio.Task[Known | None] | None = None
        self._known: Known | None = None

    def expect_call(self, tool: str) -> None:
        if traits_of(tool).kind in RUNS_COMMANDS:
            self._begin()

    async def before_decision(self, tool: "Tool") -> None:
        if tool.shell:
            self._known = await asyncio.shield(self._begin())

    def standing(self, turn: "Turn", standing: "SessionPosition") -> "SessionPosition":
        known = self._known
        if known is None:
            return standing
        return replace(standing, env=known.environment(standing.env), read_command=known.read_command)

    async def before_call(self, running: RunningCall, context: "ToolContext") -> "ToolContext":
        known = self._known
        if known is None or not running.tool.shell:
            return context
        return replace(context, env=known.environment(context.env))

    def offer(self, key: Service[Any], call: "Call", turn: "Turn") -> Any:
        from bridle.types.services.startup import STARTUP

        return self._known.startup if key is STARTUP and self._known is not None else None

    def for_agent(self, work: "Assignment") -> Feature:
        return self

    async def close(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)

    def _begin(self) -> "asyncio.Task[Known | None]":
        if self._reading is None:
            from bridle.features.startup_files.session import read_startup_files

            self._reading = asyncio.create_task(read_startup_files(self._context))
        return self._reading


def open_startup_files(context: FeatureContext) -> StartupFilesFeature | None:
    """None where no file of the user extends the session, or the user wants none."""
    if context.closed or is_off(context.env, "BRIDLE_STARTUP_FILES"):
        return None
    return StartupFilesFeature(context)
