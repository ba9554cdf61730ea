"""A session with agents for tests: the real engine, a script for each conversation, a real list of jobs."""

import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from bridle.engine.loop import run_turn
from bridle.engine.runtime import Runtime
from bridle.features.agents.feature import AGENTS, AgentsFeature
from bridle.features.agents.registry import AgentRegistry, Agents, AgentSetup
from bridle.features.teams.feature import TEAM, TeamsFeature
from bridle.features.teams.feature import Team as SessionTeam
from bridle.host.background import BackgroundShells
from bridle.providers.scripted import ScriptedProvider, SeenRequest
from bridle.tools.agent import TOOL as AGENT
from bridle.transcripts.session import Session
from bridle.transcripts.store import TranscriptPath, make_session, make_writer
from bridle.types.agent import AgentDefinition
from bridle.types.event import Event, TaskEnded, TaskStarted
from bridle.types.model import ModelEvent, ModelRequest
from bridle.types.origin import TYPED
from bridle.types.services.tasks import Task
from bridle.types.tool import Tool, ToolContext, ToolOutput, tool
from bridle.types.turn import Outcome, Prompt
from bridle.types.workspace import Workspace
from tests.fakes.engine import FakeChannel, make_runtime, with_records
from tests.fakes.features import with_feature


class EchoInput(Struct):
    text: str


@tool("Echo", EchoInput, read_only=True)
async def echo(input: EchoInput, ctx: ToolContext) -> ToolOutput:
    """Say it again."""
    return ToolOutput(content=input.text, data={"text": input.text})


class TouchInput(Struct):
    path: str


@tool("Touch", TouchInput, subject=lambda input: input.path)
async def touch(input: TouchInput, ctx: ToolContext) -> ToolOutput:
    """Make an empty file."""
    Path(ctx.cwd, input.path).touch()
    return ToolOutput(content="done", data={})


class ScriptedModels:
    """Answers each conversation from its own script: the one whose key comes last in the conversation."""

    def __init__(self, scripts: Mapping[str, Sequence[Any]]) -> None:
        self.scripts = {key: ScriptedProvider(lines) for key, lines in scripts.items()}

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        text = msgspec.json.encode(
            [message for message in request.history.messages if message["role"] == "user"]
        ).decode()
        # A reviewer is shown conversations with their brackets escaped.
        text = re.sub(r"\\+u003c", "<", re.sub(r"\\+u003e", ">", text))
        found = {key: text.rfind(f"<{key}>") for key in self.scripts}
        key = max(found, key=lambda each: found[each])
        assert found[key] >= 0, f"no script is for {text[-400:]}"
        async for event in self.scripts[key].stream(request):
            yield event

    async def close(self) -> None:
        pass

    def requests(self, key: str) -> list[SeenRequest]:
        return self.scripts[key].requests


class Team:
    """A main thread with its agents and the tasks that have ended."""

    def __init__(
        self, session: Session, runtime: Runtime, channel: FakeChannel, models: ScriptedModels
    ) -> None:
        self.session = session
        self.runtime = runtime
        self.channel = channel
        self.models = models
        self.ended: list[Task] = []

    @property
    def agents(self) -> Agents:
        found = self.runtime.features.find(AGENTS)
        assert found is not None
        return found

    @property
    def session_team(self) -> SessionTeam:
        found = self.runtime.features.find(TEAM)
        assert found is not None
        return found

    async def prompt(self, text: str = "<main>") -> Outcome:
        return await run_turn(self.session, Prompt(content=text, origin=TYPED), self.runtime)

    def result(self, call_id: str) -> Any:
        """The data of a call's result."""
        (entry,) = [
            each
            for each in self.session.entries
            if each["type"] == "user"
            and not isinstance(each["message"]["content"], str)
            and any(
                block["type"] == "tool_result" and block["tool_use_id"] == call_id
                for block in each["message"]["content"]
            )
        ]
        return entry.get("toolUseResult")

    async def over(self, count: int = 1) -> list[Task]:
        """The jobs that ended, once there are so many."""
        await self.channel.seen(lambda _: len(self.ended) >= count)
        return self.ended


@asynccontextmanager
async def team(
    folder: Path,
    scripts: Mapping[str, Sequence[Any]],
    *tools: Tool,
    agents: Sequence[AgentDefinition] = (),
    channel: FakeChannel | None = None,
    env: Mapping[str, str] | None = None,
    change: Callable[[Runtime], Runtime] = lambda runtime: runtime,
    **setup: Any,
) -> AsyncGenerator[Team]:
    """A session in `folder` that allows every call and keeps transcripts."""
    channel = channel or FakeChannel()
    variables = {"HOME": str(folder / "home"), "PATH": "/usr/bin:/bin", **(env or {})}
    place = TranscriptPath(cwd=str(folder), env=variables, warn=print)
    session = make_session("s1", place, make_writer(str(folder / "s1.jsonl"), place))
    session.swap(model="model-a", mode="bypassPermissions")
    models = ScriptedModels(scripts)
    made: list[Team] = []

    def on_change(task: Task) -> None:
        if task.status != "running":
            made[0].ended.append(task)
        event: Event = TaskStarted(task) if task.status == "running" else TaskEnded(task)
        channel.emit(event)

    shells = BackgroundShells(str(folder / "storage"), on_change=on_change)
    runtime = msgspec.structs.replace(
        make_runtime(folder, models, AGENT, *tools, channel=channel),
        workspace=Workspace(str(folder), tasks=shells),
        env=variables,
    )
    runtime = with_records(runtime, transcript=str(folder / "s1.jsonl"))
    registry = AgentRegistry(AgentSetup(found=lambda: agents, **setup), variables)
    runtime = change(with_feature(runtime, TeamsFeature(), AgentsFeature(Agents(registry))))
    made.append(Team(session, runtime, channel, models))
    try:
        yield made[0]
    finally:
        await made[0].agents.close()
        await shells.close()
        session.close()
