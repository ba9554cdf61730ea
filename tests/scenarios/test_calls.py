import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bridle.engine.loop import run_turn
from bridle.engine.runtime import Limits
from bridle.engine.texts import COMMAND_CANCELLED
from bridle.providers.scripted import ScriptedProvider, calls, says
from bridle.types.event import AssistantReplied, ToolFinished, ToolStarted, UserTextAdded
from bridle.types.model import BlockClosed, ModelEvent, ModelRequest
from bridle.types.origin import TYPED
from bridle.types.tool import ToolContext, ToolOutput, tool
from bridle.types.turn import Outcome, Prompt
from tests.fakes.engine import FakeBriefing, FakeChannel, make_runtime, make_session, requests
from tests.fakes.tools import WorkInput, Workshop


def _start(runtime: Any, session: Any) -> "asyncio.Task[Outcome]":
    return asyncio.create_task(run_turn(session, Prompt(content="go", origin=TYPED), runtime))


async def test_call_starts_while_the_answer_is_still_being_written(tmp_path: Path):
    shop = Workshop()
    script = [says(calls("Read", name="a"), then=lambda: shop.started("a")), says("ok")]
    runtime = make_runtime(tmp_path, script, shop.tool("Read", parallel=True))
    turn = _start(runtime, make_session())

    await shop.started("a")
    shop.release("a")

    assert (await turn).text == "ok"


async def test_safe_calls_run_together_and_an_unsafe_one_waits_for_them(tmp_path: Path):
    shop = Workshop()
    script = [says(calls("Grep", name="a"), calls("Glob", name="b"), calls("Edit", name="c")), says("ok")]
    runtime = make_runtime(
        tmp_path,
        script,
        shop.tool("Grep", parallel=True),
        shop.tool("Glob", parallel=True),
        shop.tool("Edit", parallel=False),
    )
    turn = _start(runtime, make_session())

    await shop.started("a", "b")
    shop.release("c")
    assert "start c" not in shop.log
    shop.release("a", "b")
    await turn

    assert shop.log[:2] == ["start a", "start b"]
    assert shop.log[-2:] == ["start c", "end c"]


async def test_nothing_overtakes_a_call_that_must_be_alone(tmp_path: Path):
    shop = Workshop()
    script = [says(calls("Read", name="a"), calls("Edit", name="b"), calls("Read", name="c")), says("ok")]
    runtime = make_runtime(
        tmp_path, script, shop.tool("Read", parallel=True), shop.tool("Edit", parallel=False)
    )
    shop.release("a", "b", "c")

    await _start(runtime, make_session())

    assert shop.log == ["start a", "end a", "start b", "end b", "start c", "end c"]


async def test_results_go_back_in_the_order_of_the_calls(tmp_path: Path):
    shop = Workshop()
    channel = FakeChannel()
    script = [says(calls("Read", name="a"), calls("Read", name="b"), calls("Read", name="c")), says("ok")]
    runtime = make_runtime(tmp_path, script, shop.tool("Read", parallel=True), channel=channel)
    turn = _start(runtime, make_session())

    await shop.started("a", "b", "c")
    for number, name in ((3, "c"), (1, "a"), (2, "b")):
        shop.release(name)
        call = f"call-{number}"
        await channel.seen(lambda event, call=call: _finished(event) == call)
    outcome = await turn

    assert [event.result["tool_use_id"] for event in channel.of(ToolFinished)] == [
        "call-3",
        "call-1",
        "call-2",
    ]
    sent = requests(runtime)[1].messages[-1]["content"]
    assert [block["tool_use_id"] for block in sent] == ["call-1", "call-2", "call-3"]
    assert outcome.num_turns == 4


async def test_no_more_calls_run_at_once_than_the_limit(tmp_path: Path):
    shop = Workshop()
    script = [says(*(calls("Read", name=str(n)) for n in range(5))), says("ok")]
    runtime = make_runtime(
        tmp_path, script, shop.tool("Read", parallel=True), limits=Limits(parallel_calls=2)
    )
    turn = _start(runtime, make_session())

    await shop.started("0", "1")
    assert shop.log == ["start 0", "start 1"]
    shop.release("0", "1", "2", "3", "4")
    await turn

    assert sorted(line for line in shop.log if line.startswith("end")) == [f"end {n}" for n in range(5)]


async def test_failed_shell_command_cancels_only_shell_commands_that_have_not_begun(tmp_path: Path):
    shop = Workshop()
    channel = FakeChannel()
    script = [
        says(
            calls("Bash", name="a"),
            calls("Read", name="b"),
            calls("Bash", name="c", fail=True),
            calls("Edit", name="d"),
            calls("Bash", name="e"),
            calls("Read", name="f"),
        ),
        says("I see."),
    ]
    runtime = make_runtime(
        tmp_path,
        script,
        shop.tool("Read", parallel=True, waits=False),
        shop.tool("Bash", parallel=False, waits=False),
        shop.tool("Edit", parallel=False, waits=False),
        channel=channel,
    )

    outcome = await _start(runtime, make_session())

    results = {event.result["tool_use_id"]: event.result["content"] for event in channel.of(ToolFinished)}
    assert results.pop("call-5") == COMMAND_CANCELLED
    assert list(results.values()) == ["a done", "b done", "c broke", "d done", "f done"]
    assert "start e" not in shop.log
    assert outcome.text == "I see."


async def test_shell_commands_that_arrive_after_a_failed_one_do_not_run(tmp_path: Path):
    channel = FakeChannel()
    shop = Workshop()
    asked = [calls("Bash", name="b", fail=True), calls("Bash", name="c"), calls("Read", name="d")]
    script: Any = _OneByOne([says(*asked), says("ok")], channel)
    tools = (
        shop.tool("Bash", parallel=False, waits=False),
        shop.tool("Read", parallel=True, waits=False),
    )
    runtime = make_runtime(tmp_path, script, *tools, channel=channel)

    outcome = await _start(runtime, make_session())

    assert outcome.text == "ok"
    assert [event.result["content"] for event in channel.of(ToolFinished)] == [
        "b broke", COMMAND_CANCELLED, "d done",
    ]  # fmt: skip


class _OneByOne(ScriptedProvider):
    """Sends a call only when the one before it has its result."""

    def __init__(self, lines: Any, channel: FakeChannel) -> None:
        super().__init__(lines)
        self._channel = channel

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        async for event in super().stream(request):
            yield event
            if isinstance(event, BlockClosed) and event.block["type"] == "tool_use":
                call_id = event.block["id"]
                await self._channel.seen(lambda each, wanted=call_id: _finished(each) == wanted)


async def test_other_failures_leave_siblings_alone(tmp_path: Path):
    shop = Workshop()
    script = [says(calls("Read", name="a", fail=True), calls("Read", name="b")), says("ok")]
    runtime = make_runtime(tmp_path, script, shop.tool("Read", parallel=True, waits=False))

    await _start(runtime, make_session())

    assert "end b" in shop.log


async def test_tool_that_raises_is_a_result_and_not_a_crash(tmp_path: Path):
    @tool("Odd", WorkInput, read_only=True)
    async def odd(input: WorkInput, ctx: ToolContext) -> ToolOutput:
        """Fail in an unforeseen way."""
        raise ZeroDivisionError(input.name)

    channel = FakeChannel()
    runtime = make_runtime(tmp_path, [says(calls("Odd", name="a")), says("ok")], odd, channel=channel)

    outcome = await _start(runtime, make_session())

    (finished,) = channel.of(ToolFinished)
    assert "ZeroDivisionError" in str(finished.result["content"]) and finished.result.get("is_error")
    assert str(finished.data).startswith("Error: ")
    assert outcome.text == "ok"


async def test_interrupt_in_tools_answers_every_call_and_leaves_a_usable_session(tmp_path: Path):
    shop = Workshop()
    channel = FakeChannel()
    script = [says(calls("Edit", name="a"), calls("Edit", name="b")), says("fine")]
    runtime = make_runtime(tmp_path, script, shop.tool("Edit", parallel=False), channel=channel)
    session = make_session()
    turn = _start(runtime, session)

    await shop.started("a")
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn

    assert [event.result["tool_use_id"] for event in channel.of(ToolFinished)] == ["call-1", "call-2"]
    assert channel.kinds[-2:] == ["user_said", "turn_finished"]
    assert _ending(channel) == ("error_during_execution", "aborted_tools")
    assert (await run_turn(session, Prompt(content="next", origin=TYPED), runtime)).text == "fine"
    sent = requests(runtime)[1].messages
    assert [message["role"] for message in sent] == ["user", "assistant", "user"]
    assert [block["type"] for block in sent[2]["content"]] == ["tool_result", "tool_result", "text", "text"]


async def test_interrupt_while_streaming_keeps_the_partial_text(tmp_path: Path):
    channel = FakeChannel()
    script = [says("half a sen", closed=False, then=asyncio.Event().wait), says("fine")]
    runtime = make_runtime(tmp_path, script, channel=channel)
    session = make_session()
    turn = _start(runtime, session)

    await channel.seen(lambda event: type(event).__name__ == "TextDelta")
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn

    (said,) = channel.of(AssistantReplied)
    assert said.aborted and said.message["content"] == [{"type": "text", "text": "half a sen"}]
    assert [event.content for event in channel.of(UserTextAdded)] == [
        [{"type": "text", "text": "[Request interrupted by user]"}]
    ]
    assert _ending(channel) == ("error_during_execution", "aborted_streaming")
    assert (await run_turn(session, Prompt(content="next", origin=TYPED), runtime)).text == "fine"


async def test_what_starts_also_finishes_exactly_once(tmp_path: Path):
    shop = Workshop()
    channel = FakeChannel()
    script = [
        says(*(calls(name, name=f"{name}{n}", fail=n == 2) for n in range(4) for name in ("Read", "Bash"))),
        says("ok"),
    ]
    runtime = make_runtime(
        tmp_path,
        script,
        shop.tool("Read", parallel=True, waits=False),
        shop.tool("Bash", parallel=False, waits=False),
        channel=channel,
    )

    await _start(runtime, make_session())

    started = sorted(event.call_id for event in channel.of(ToolStarted))
    finished = sorted(event.result["tool_use_id"] for event in channel.of(ToolFinished))
    assert started == finished == [f"call-{n}" for n in range(1, 9)]


async def test_large_result_goes_to_a_file_with_a_preview(tmp_path: Path):
    channel = FakeChannel()
    runtime = make_runtime(
        tmp_path, [says(calls("Big", name="x", count=150_000)), says("ok")], _big(), channel=channel
    )

    await _start(runtime, make_session())

    (finished,) = channel.of(ToolFinished)
    content = str(finished.result["content"])
    saved = tmp_path / "storage" / "tool-results" / "call-1.txt"
    assert str(saved) in content and len(content) < 3_000
    assert saved.read_text() == "x" * 150_000
    assert saved.stat().st_mode & 0o777 == 0o600


async def test_results_of_one_message_share_a_budget(tmp_path: Path):
    channel = FakeChannel()
    script = [says(*(calls("Big", name="x", count=60_000) for _ in range(4))), says("ok")]
    runtime = make_runtime(tmp_path, script, _big(), channel=channel)

    await _start(runtime, make_session())

    lengths = [len(str(event.result["content"])) for event in channel.of(ToolFinished)]
    assert lengths[:3] == [60_000] * 3 and lengths[3] < 3_000


async def test_instructions_beside_a_touched_file_follow_its_result(tmp_path: Path):
    from bridle.types.permission import Access

    @tool("Look", WorkInput, read_only=True, access=lambda i, w: Access(reads=(w.resolve(i.name),)))
    async def look(input: WorkInput, ctx: ToolContext) -> ToolOutput:
        """Look at a file."""
        return ToolOutput(content="seen", data=None)

    script = [says(calls("Look", name="a"), calls("Look", name="b")), says("ok")]
    runtime = make_runtime(tmp_path, script, look, briefing=FakeBriefing(beside="mind the gap"))

    await _start(runtime, make_session())

    sent = requests(runtime)[1].messages[-1]["content"]
    assert [block["type"] for block in sent] == ["tool_result", "tool_result", "text"]
    assert sent[2]["text"] == "mind the gap"


def _big() -> Any:
    @tool("Big", WorkInput, read_only=True)
    async def big(input: WorkInput, ctx: ToolContext) -> ToolOutput:
        """Return a lot."""
        return ToolOutput(content=input.name * input.count, data=None)

    return big


def _finished(event: Any) -> str | None:
    return event.result["tool_use_id"] if isinstance(event, ToolFinished) else None


def _ending(channel: FakeChannel) -> tuple[str, str]:
    from bridle.types.event import TurnFinished

    (finished,) = channel.of(TurnFinished)
    return finished.outcome.subtype, finished.outcome.reason
