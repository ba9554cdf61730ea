"""Plays a scripted model against the real engine with the real tools, in any dialect."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from bridle.engine.runtime import Limits
from bridle.engine.server import Inbox, Server
from bridle.features.background.feature import BackgroundFeature
from bridle.permissions.rules import parse
from bridle.tools.catalog import CATALOG
from bridle.tools.toolbox import BuiltinToolbox
from bridle.transcripts.session import Session
from bridle.types.event import Noticed, ToolFinished, TurnFinished
from bridle.types.origin import TYPED
from bridle.types.permission import Effect
from bridle.types.tool import Toolbox
from bridle.types.turn import Outcome, Prompt
from bridle.types.workspace import Workspace
from tests.fakes.dialects import CASES, Bench
from tests.fakes.engine import FakeChannel, make_runtime, make_session
from tests.fakes.features import feature_context, with_feature
from tests.fakes.model_server import Line, ModelServer


class Replay(NamedTuple):
    """What came of a task."""

    outcome: Outcome
    outcomes: list[Outcome]
    """Of every turn."""
    session: Session
    results: dict[str, Any]
    """The results by the ids of their calls."""
    requests: int
    warnings: list[str]
    bodies: list[bytes]
    """The requests as they were sent."""

    def failed(self) -> list[str]:
        """The calls whose results are errors."""
        return [call for call, result in self.results.items() if result.get("is_error")]


async def replay(
    dialect: str,
    folder: Path,
    script: Sequence[Line],
    *,
    allow: Sequence[str] = (),
    limits: Limits | None = None,
    toolbox: Toolbox | None = None,
) -> Replay:
    """Let the model of a dialect give these answers to one prompt; nobody is there to approve anything."""
    channel = FakeChannel()
    async with ModelServer(CASES[dialect].api()) as server:
        server.script(*script)
        bench = Bench(dialect, server)
        inbox, workspace = Inbox(), Workspace(str(folder))
        background = BackgroundFeature(
            feature_context(
                folder,
                workspace=workspace,
                storage=str(folder / "storage"),
                wake=inbox.put,
                runtime=lambda: serving.runtime,
            )
        )
        runtime = msgspec.structs.replace(
            make_runtime(folder, bench.provider, channel=channel, limits=limits),
            workspace=workspace,
            toolbox=toolbox or BuiltinToolbox(CATALOG),
        )
        session = make_session(mode="default")
        rules = tuple(parse(rule, Effect.ALLOW, "cliArg") for rule in allow)
        session.swap(model=CASES[dialect].model, rules=rules)
        serving = Server(session, with_feature(runtime, background), inbox)
        inbox.put(Prompt(content="go", origin=TYPED))
        inbox.close()
        async with asyncio.timeout(60):
            await serving.serve(wait_for_tasks=30, say_waiting=print)
        await background.release()
        await bench.made.close()
    results = {event.result["tool_use_id"]: event.result for event in channel.of(ToolFinished)}
    warnings = [event.text for event in channel.of(Noticed) if event.level == "warning"]
    outcomes = [event.outcome for event in channel.of(TurnFinished)]
    bodies = [request.raw for request in server.requests]
    return Replay(outcomes[-1], outcomes, session, results, len(bodies), warnings, bodies)
