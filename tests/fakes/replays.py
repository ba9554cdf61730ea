"""Plays a scripted model against the real engine with the real tools, in any dialect."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from bridle.engine.loop import run_turn
from bridle.engine.runtime import Limits
from bridle.host.background import BackgroundShells
from bridle.permissions.rules import parse
from bridle.sessions.session import Session
from bridle.tools.catalog import CATALOG
from bridle.tools.toolbox import BuiltinToolbox
from bridle.types.event import Noticed, ToolFinished
from bridle.types.origin import TYPED
from bridle.types.permission import Effect
from bridle.types.turn import Outcome, Prompt
from bridle.types.workspace import Workspace
from tests.fakes.dialects import CASES, Bench
from tests.fakes.engine import FakeChannel, make_runtime, make_session
from tests.fakes.model_server import ModelServer, Script


class Replay(NamedTuple):
    """What came of a task."""

    outcome: Outcome
    session: Session
    results: dict[str, Any]
    """The results by the ids of their calls."""
    requests: int
    warnings: list[str]

    def failed(self) -> list[str]:
        """The calls whose results are errors."""
        return [call for call, result in self.results.items() if result.get("is_error")]


async def replay(
    dialect: str,
    folder: Path,
    script: Sequence[Script],
    *,
    allow: Sequence[str] = (),
    limits: Limits | None = None,
) -> Replay:
    """Let the model of a dialect give these answers to one prompt; nobody is there to approve anything."""
    channel = FakeChannel()
    async with ModelServer(CASES[dialect].api()) as server:
        server.script(*script)
        bench = Bench(dialect, server)
        shells = BackgroundShells(str(folder / "storage"), on_change=lambda _: None)
        runtime = msgspec.structs.replace(
            make_runtime(folder, bench.provider, channel=channel, limits=limits),
            workspace=Workspace(str(folder), tasks=shells),
            toolbox=BuiltinToolbox(CATALOG),
        )
        session = make_session(mode="default")
        rules = tuple(parse(rule, Effect.ALLOW, "cliArg") for rule in allow)
        session.swap(model=CASES[dialect].model, rules=rules)
        async with asyncio.timeout(60):
            outcome = await run_turn(session, Prompt(content="go", origin=TYPED), runtime)
        await shells.close()
        await bench.made.close()
    results = {event.result["tool_use_id"]: event.result for event in channel.of(ToolFinished)}
    warnings = [event.text for event in channel.of(Noticed) if event.level == "warning"]
    return Replay(outcome, session, results, len(server.requests), warnings)
