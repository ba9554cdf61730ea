"""A session of thousands of steps: what it costs stays flat, and what it sends stays cached and valid."""

import gc
import sys
from collections.abc import AsyncIterator
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import msgspec

from bridle.engine.compaction.compact import compact
from bridle.engine.compaction.pins import pin
from bridle.engine.loop import run_turn
from bridle.engine.runtime import ModelFacts
from bridle.engine.turn import Turn
from bridle.transcripts.session import Session
from bridle.types.block import AssistantMessage
from bridle.types.event import CompactionFinished, Event
from bridle.types.history import History
from bridle.types.model import BlockClosed, Completed, ModelEvent, ModelRequest, Started
from bridle.types.origin import TYPED
from bridle.types.question import Answer, Question, Refused
from bridle.types.tool import ToolContext, ToolOutput, tool
from bridle.types.turn import Prompt
from tests.fakes.engine import make_runtime
from tests.permissions.counted import counted

WINDOW = 400_000
STEPS = 5_000
PINS = [f"Rule {number}: never rename «module {number}»." for number in range(20)]
_TEXT = "the quick brown fox jumps over the lazy dog, and then some more words follow it; "


class LookInput(msgspec.Struct, frozen=True):
    number: int


@tool("Look", LookInput, read_only=True)
async def look(input: LookInput, ctx: ToolContext) -> ToolOutput:
    """Look at something."""
    del ctx
    return ToolOutput(content=f"{input.number}: {_TEXT * 60}", data={})


class QuietChannel:
    def __init__(self) -> None:
        self.compactions: list[CompactionFinished] = []

    def emit(self, event: Event) -> None:
        if isinstance(event, CompactionFinished):
            self.compactions.append(event)

    async def ask(self, question: Question) -> Answer:
        return Refused(message="nobody", by_person=False)


class CountingProvider:
    """Calls a tool again and again, counts tokens like a service, and checks every request."""

    def __init__(self) -> None:
        self.asked = 0
        self.sent = self.cached = 0
        self.memory: list[int] = []
        self._last: list[bytes] = []
        self.work: dict[int, int] = {}
        """How many functions are called in every tenth step."""
        self._counting = ExitStack()
        self.breaks = 0

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        self._counting.close()
        messages = request.history.messages
        form = [
            *request.history.encoded("test", lambda message, _: msgspec.json.encode(message)),
            msgspec.json.encode(messages[-1]),
        ]
        summary = "Stop the work here" in str(messages[-1]["content"])
        self._weigh(form, request.history, summary=summary)
        block: dict[str, Any] = {"type": "text", "text": "<summary>We looked.</summary>"}
        if not summary:
            self.asked += 1
            block = {
                "type": "tool_use",
                "id": f"c{self.asked}",
                "name": "Look",
                "input": {"number": self.asked},
            }
            if self.asked % 500 == 0:
                block = {"type": "text", "text": "That was that."}
        content: list[Any] = [{"type": "thinking", "thinking": "hm " * 20, "signature": "s"}, block]
        size = sum(map(len, form))
        message: AssistantMessage = {
            "id": f"m{self.asked}{summary}",
            "type": "message",
            "role": "assistant",
            "model": request.model,
            "content": [],
            "stop_reason": "tool_use" if block["type"] == "tool_use" else "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 500 + size * 27 // 100, "output_tokens": 80},
        }
        yield Started({**message, "stop_reason": None}, b"")
        if self.asked % 10 == 5:
            self._count_step()
        for index, each in enumerate(content):
            yield BlockClosed(index, each, b"")
        yield Completed({**message, "content": content}, b"")

    async def close(self) -> None:
        self._counting.close()

    def _count_step(self) -> None:
        step, work = self.asked, self._counting.enter_context(counted())
        self._counting.callback(lambda: self.work.__setitem__(step, work.calls))

    def _weigh(self, form: list[bytes], history: History, *, summary: bool) -> None:
        same = 0
        for before, after in zip(self._last, form, strict=False):
            if before != after:
                break
            same += 1
        size = sum(map(len, form))
        self.sent += size
        self.cached += sum(map(len, form[:same]))
        if same < len(self._last) - 1:
            self.breaks += 1
        if same < len(self._last) - 1 or self.asked % 400 == 0:
            require_valid(history.messages)
        if not summary:
            self._last = form
        if self.asked % 1000 == 999:
            gc.collect()
            self.memory.append(sys.getallocatedblocks())


def require_valid(messages: Any) -> None:
    """What the API demands: turns alternate, a result stands right behind its call, thinking comes first."""
    assert messages[0]["role"] == "user"
    for before, after in pairwise(messages):
        assert before["role"] != after["role"]
    for index, message in enumerate(messages):
        blocks = message["content"] if isinstance(message["content"], list) else []
        made = [block["id"] for block in blocks if block["type"] == "tool_use"]
        if message["role"] == "assistant":
            assert blocks[0]["type"] == "thinking"
            assert blocks[-1]["type"] != "thinking"
        if made:
            following = messages[index + 1]["content"]
            assert [b["tool_use_id"] for b in following if b["type"] == "tool_result"] == made
        if any(block["type"] == "tool_result" for block in blocks):
            earlier = messages[index - 1]["content"]
            known = {block.get("id") for block in earlier}
            assert {b["tool_use_id"] for b in blocks if b["type"] == "tool_result"} <= known


def large_window(model: str) -> ModelFacts:
    """What is known of the model."""
    del model
    return ModelFacts(context_window=WINDOW, max_output=64_000, max_tokens=32_000)


async def test_five_thousand_steps_stay_flat_cached_valid_and_lose_no_pin(tmp_path: Path):
    provider, channel = CountingProvider(), QuietChannel()
    runtime = msgspec.structs.replace(
        make_runtime(tmp_path, provider, look), channel=channel, facts=large_window
    )
    session = Session("long")
    session.swap(model="model-a", mode="bypassPermissions")
    for text in PINS[:10]:
        pin(session, text)
    for number in range(STEPS // 500):
        words = " ".join(PINS[10:]) if number == 0 else "Go on."
        await run_turn(session, Prompt(content=words, origin=TYPED), runtime)
        if channel.compactions:
            said = msgspec.json.encode(session.history.messages).decode()
            assert all(f"<pinned>{text}</pinned>" in said for text in PINS)

    assert provider.asked == STEPS
    assert len(channel.compactions) > 10
    assert not any(done.error for done in channel.compactions)
    assert provider.breaks <= len(channel.compactions)
    assert provider.cached / provider.sent >= 0.98
    assert max(provider.memory) - min(provider.memory) < 60_000
    early, late = (
        median(work for step, work in provider.work.items() if step in steps)
        for steps in (range(300, 900), range(STEPS - 600, STEPS))
    )
    assert late < 1.5 * early


async def test_a_compaction_of_two_thousand_messages_is_little_work_beside_the_model_call(tmp_path: Path):
    session = Session("large")
    session.swap(model="model-a")
    for number in range(1_000):
        session.say_user(f"{number} {_TEXT * 5}")
        message: AssistantMessage = {
            "id": f"m{number}", "type": "message", "role": "assistant", "model": "model-a",
            "content": [
                {"type": "thinking", "thinking": "", "signature": "s"}, {"type": "text", "text": _TEXT * 5},
            ],
            "stop_reason": "end_turn", "stop_sequence": None,
            "usage": {"input_tokens": 10, "output_tokens": 5},
        }  # fmt: skip
        session.say_assistant(message)
    entries = list(session.entries)
    found: list[int] = []
    for _ in range(2):  # The first also counts what is imported.
        session.rewrite(entries)
        runtime = make_runtime(tmp_path, CountingProvider())
        with counted() as work:
            await compact(Turn(session, Prompt(content="x", origin=TYPED), runtime), trigger="manual")
        found.append(work.calls)
        assert len(session.history.messages) == 1
    assert min(found) < 100 * 2_000
