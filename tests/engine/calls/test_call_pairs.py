"""Whatever becomes of the calls of an answer, the next request holds one result for each, in their order."""

import asyncio
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace

from bridle.engine.loop import run_turn
from bridle.engine.runtime import Limits
from bridle.permissions.rules import parse
from bridle.providers.connect import Providers
from bridle.transcripts.conversation import fold
from bridle.types.errors import ToolError
from bridle.types.event import Event, Noticed, ToolFinished, ToolStarted
from bridle.types.hooks.calls import PreToolUse
from bridle.types.hooks.events import HookEvent
from bridle.types.hooks.outcome import NOTHING_SAID, HookOutcome, NoHooks
from bridle.types.origin import TYPED
from bridle.types.permission import Deny, Effect
from bridle.types.tool import Tool, ToolContext, ToolOutput, tool
from bridle.types.turn import Prompt
from tests.fakes.engine import FakeChannel, make_runtime, make_session
from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.pairing import flaw_of

_KINDS = ("works", "fails", "defect", "slow", "denied", "wrong", "hooked", "changed", "noted", "stops")


class _Call(NamedTuple):
    tool: str
    kind: str
    id: str

    def block(self) -> dict[str, Any]:
        input: dict[str, Any] = {"command": self.kind}
        if self.kind == "wrong":
            input["nonsense"] = 1
        return {"type": "tool_use", "id": self.id, "name": self.tool, "input": input}


class _Story(NamedTuple):
    answers: list[list[_Call]]
    write: int
    """Bytes of each piece of an answer, 0 for all at once."""
    budget: float | None
    parallel: int
    interrupt: int | None
    """After how many events the user interrupts."""
    one_id: bool
    """Every answer has the same id."""


_calls = st.builds(
    _Call,
    tool=st.sampled_from(["Read", "Bash", "Bash", "Edit", "Missing"]),
    kind=st.sampled_from(_KINDS),
    id=st.sampled_from([f"call_{n}" for n in range(200)] + ["call:1", "call.1", "call_1"]),
)
_stories = st.builds(
    _Story,
    answers=st.lists(st.lists(_calls, min_size=1, max_size=30), min_size=1, max_size=3),
    write=st.sampled_from([0, 0, 1, 17]),
    budget=st.sampled_from([None, None, 5.0, 0.0001]),
    parallel=st.sampled_from([1, 2, 10]),
    interrupt=st.one_of(st.none(), st.integers(1, 120)),
    one_id=st.booleans(),
)


class _Input(Struct, frozen=True, forbid_unknown_fields=True):
    command: str


def _tool(name: str, *, reads: bool) -> Tool:
    shell = "awaited" if name == "Bash" else ""

    @tool(name, _Input, subject=lambda input: input.command, read_only=reads, shell=shell)
    async def work(input: _Input, ctx: ToolContext) -> ToolOutput:
        """Do what the command says."""
        match input.command:
            case "fails":
                raise ToolError("it failed")
            case "defect":
                raise ZeroDivisionError
            case "slow":
                for _ in range(3):
                    await asyncio.sleep(0)
            case _:
                pass
        return ToolOutput(content=f"{input.command} {ctx.call_id}", data=None)

    return work


class _Hooks(NoHooks):
    def listens_to(self, event: str) -> bool:
        return event in ("PreToolUse", "PostToolUse")

    async def fire(self, event: HookEvent) -> HookOutcome:
        if not isinstance(event, PreToolUse):
            return NOTHING_SAID
        match event.input.get("command"):
            case "hooked":
                return HookOutcome(decision=Deny("the hook says no", "hook"))
            case "changed":
                return HookOutcome(updated_input={"command": "works"})
            case "noted":
                return HookOutcome(context=("a word of the hook",))
            case "stops":
                return HookOutcome(decision=Deny("enough", "hook"), stop="enough")
            case _:
                return NOTHING_SAID


class _Interrupting(FakeChannel):
    """Cancels the turn when so many events have come."""

    def __init__(self, after: int | None) -> None:
        super().__init__()
        self._left = after
        self.turn: asyncio.Task[Any] | None = None

    def emit(self, event: Event) -> None:
        super().emit(event)
        if self._left is not None:
            self._left -= 1
            if self._left == 0 and self.turn is not None:
                self.turn.cancel()


@settings(max_examples=40, deadline=None)
@given(_stories)
def test_every_call_is_settled_once_and_every_request_is_in_order(story: _Story):
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_play(story, Path(folder)))


async def _play(story: _Story, folder: Path) -> None:
    named = {"message": {"id": "msg_always"}} if story.one_id else {}
    script = [step(*(call.block() for call in calls), write=story.write, **named) for calls in story.answers]
    async with MessagesServer([*script, *[step("ok", repeat=True)]]) as server:
        channel = _Interrupting(story.interrupt)
        provider = Providers({"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "k"}, {})
        limits = Limits(max_budget_usd=story.budget, parallel_calls=story.parallel)
        tools = (_tool("Read", reads=True), _tool("Bash", reads=False), _tool("Edit", reads=False))
        runtime = make_runtime(folder, provider, *tools, channel=channel, limits=limits, hooks=_Hooks())
        session = make_session()
        denied = parse("Bash(denied)", Effect.DENY, "cliArg")
        session.swap(model="claude-sonnet-4-5", rules=(denied,))
        async with asyncio.timeout(60):
            channel.turn = asyncio.create_task(run_turn(session, Prompt(content="go", origin=TYPED), runtime))
            await asyncio.gather(channel.turn, return_exceptions=True)
            channel.turn = None
            generous = replace(runtime, limits=Limits())
            outcome = await run_turn(session, Prompt(content="and now?", origin=TYPED), generous)
        await provider.close()
    assert outcome.subtype == "success" and not outcome.is_error, outcome
    assert not [event for event in channel.of(Noticed) if event.level == "warning"]
    assert all(request.method == "POST" and flaw_of(request.body["messages"]) is None
               for request in server.requests)  # fmt: skip
    assert flaw_of([*fold(session.entries).messages]) is None
    finished = Counter(event.result["tool_use_id"] for event in channel.of(ToolFinished))
    started = Counter(event.call_id for event in channel.of(ToolStarted))
    assert max(finished.values(), default=1) == max(started.values(), default=1) == 1
    assert started.keys() <= finished.keys()
