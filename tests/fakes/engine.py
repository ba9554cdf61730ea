"""An engine for tests: the real loop, dispatch and policy, a script for the model, a list for the channel."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from bridle.engine.runtime import Asking, Gate, Limits, ModelFacts, Records, Runtime
from bridle.permissions.policy import decide
from bridle.permissions.rules import parse
from bridle.providers.scripted import ScriptedProvider
from bridle.transcripts.session import Session
from bridle.types.block import TextBlock
from bridle.types.event import Event
from bridle.types.hooks.outcome import Hooks, NoHooks
from bridle.types.model import Provider, ToolDefinition
from bridle.types.permission import Effect, Mode
from bridle.types.question import Answer, Question, Refused
from bridle.types.tool import Tool
from bridle.types.usage import Usage
from bridle.types.workspace import Workspace
from tests.fakes.features import usual_features
from tests.fakes.tool_context import FakeTasks

_Kind = TypeVar("_Kind")
_NOBODY = Refused(message="nobody is there", by_person=False)


class FakeChannel:
    """Keeps every event and gives every question the same answer."""

    def __init__(self, answer: Answer = _NOBODY) -> None:
        self.events: list[Event] = []
        self.questions: list[Question] = []
        self._answer = answer
        self._waiters: list[tuple[Callable[[Event], bool], asyncio.Event]] = []

    def emit(self, event: Event) -> None:
        self.events.append(event)
        for wanted, seen in self._waiters:
            if wanted(event):
                seen.set()

    async def ask(self, question: Question) -> Answer:
        self.questions.append(question)
        return self._answer

    @property
    def kinds(self) -> list[str]:
        """The tags of the events, without the raw stream."""
        tags = [str(type(event).__struct_config__.tag) for event in self.events]
        return [tag for tag in tags if tag != "streamed"]

    def of(self, kind: type[_Kind]) -> list[_Kind]:
        return [event for event in self.events if isinstance(event, kind)]

    async def seen(self, wanted: Callable[[Event], bool]) -> None:
        """Wait for an event."""
        happened = asyncio.Event()
        self._waiters.append((wanted, happened))
        if any(map(wanted, self.events)):
            return
        async with asyncio.timeout(50):
            await happened.wait()


class FakeBriefing:
    def __init__(
        self, reminders: Sequence[str] = (), beside: str | None = None, *, system: str = "You are a test."
    ) -> None:
        self._system = system
        self._reminders: list[TextBlock] = [{"type": "text", "text": text} for text in reminders]
        self._beside = beside

    def system(self, model: str) -> tuple[TextBlock, ...]:
        return ({"type": "text", "text": self._system},)

    def anew(self) -> list[TextBlock]:
        return self.opening()

    def opening(self) -> list[TextBlock]:
        return list(self._reminders)

    def beside(self, paths: Sequence[str]) -> str | None:
        said, self._beside = (self._beside, None) if paths else (None, self._beside)
        return said

    def for_agent(
        self,
        prompt: str,
        *,
        cwd: str,
        model: str,
        instructions: bool,
        listings: Sequence[Callable[[], str | None]] = (),
    ) -> "FakeBriefing":
        del model, listings
        return FakeBriefing([f"cwd {cwd}"] if instructions else (), system=prompt)


class FakeToolbox:
    def __init__(self, *tools: Tool) -> None:
        self._tools = {tool.name: tool for tool in tools}

    def definitions(self) -> tuple[ToolDefinition, ...]:
        return tuple({"name": name, "description": "", "input_schema": {}} for name in self._tools)

    def names(self) -> tuple[str, ...]:
        return tuple(self._tools)

    def find(self, name: str) -> Tool | None:
        return self._tools.get(name)


def facts(model: str) -> ModelFacts:
    """Ten dollars for a million tokens of any kind."""
    del model
    return ModelFacts(
        context_window=200_000,
        max_output=64_000,
        max_tokens=32_000,
        cost=lambda usage: (usage.context + usage.output) / 100_000,
    )


def make_runtime(
    folder: Path,
    script: Sequence[Any] | Provider,
    *tools: Tool,
    channel: FakeChannel | None = None,
    briefing: FakeBriefing | None = None,
    limits: Limits | None = None,
    hooks: Hooks | None = None,
    asking: Asking | None = None,
) -> Runtime:
    provider = ScriptedProvider(script) if isinstance(script, Sequence) else script
    return Runtime(
        provider=provider,
        channel=channel or FakeChannel(),
        workspace=Workspace(str(folder), tasks=FakeTasks()),
        toolbox=FakeToolbox(*tools),
        gate=Gate(decide=decide),
        briefing=briefing or FakeBriefing(),
        facts=facts,
        asking=asking or Asking(small_model="small"),
        records=Records(storage=str(folder / "storage")),
        limits=limits or Limits(),
        hooks=hooks or NoHooks(),
        features=usual_features(folder),
    )


def with_gate(runtime: Runtime, **changes: Any) -> Runtime:
    """A runtime with another gate."""
    return runtime.replaced(gate=msgspec.structs.replace(runtime.gate, **changes))


def with_records(runtime: Runtime, **changes: Any) -> Runtime:
    """A runtime that keeps its conversation elsewhere."""
    return runtime.replaced(records=msgspec.structs.replace(runtime.records, **changes))


def make_session(*, mode: Mode = "bypassPermissions", allow: Sequence[str] = ()) -> Session:
    session = Session("s1")
    rules = tuple(parse(text, Effect.ALLOW, "cliArg") for text in allow)
    session.swap(model="model-a", mode=mode, rules=rules)
    return session


def requests(runtime: Runtime) -> list[Any]:
    """What the scripted model was asked."""
    assert isinstance(runtime.provider, ScriptedProvider)
    return runtime.provider.requests


USAGE = Usage(input=10, output=5)
"""What a scripted answer uses unless it says otherwise."""
