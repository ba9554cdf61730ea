"""Search as a feature: keeps the index up to date after turns, and gives the model a tool."""

import asyncio
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bridle.engine.feature import Feature
from bridle.features.context import FeatureContext
from bridle.host.paths import bridle_dir

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridle.engine.assignment import Assignment
    from bridle.engine.turn import Turn
    from bridle.types.tool import Tool
    from bridle.types.turn import Outcome


class RecallFeature(Feature):
    name = "recall"

    def __init__(self, env: "Mapping[str, str]", project: str) -> None:
        self._env, self._project = env, project
        self._work: asyncio.Task[None] | None = None
        self._tools: tuple[Tool, ...] | None = None

    def tools(self) -> "Sequence[Tool]":
        if self._tools is None:
            from bridle.features.recall.recall_tool import recall_tool

            self._tools = (recall_tool(self._env, self._project),)
        return self._tools

    def after_turn(self, turn: "Turn", outcome: "Outcome") -> None:
        del outcome
        path = turn.runtime.records.transcript
        if path is not None and (self._work is None or self._work.done()):
            self._work = asyncio.create_task(self._update(path))

    def for_agent(self, work: "Assignment") -> None:
        return None

    async def close(self) -> None:
        if self._work is not None:
            await asyncio.gather(self._work, return_exceptions=True)

    async def _update(self, path: str) -> None:
        import sqlite3

        from bridle.features.recall.index import update

        try:
            await asyncio.to_thread(update, self._env, only=(path,))
        except (OSError, sqlite3.Error):
            pass  # The next search reads what is missing, and says what is wrong.


def open_recall(context: FeatureContext) -> RecallFeature | None:
    """In trusted folders, once the user has searched and there is an index."""
    if context.closed or not context.trusted or context.leader is not None:
        return None
    if not os.path.exists(os.path.join(bridle_dir(context.env), "search", "index.db")):
        return None
    return RecallFeature(context.env, context.project)
