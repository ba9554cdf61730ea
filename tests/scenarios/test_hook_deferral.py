"""A hook puts a call off: the turn ends without its result, and a later one takes it up."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec

from bridle.engine.runtime import HostLink, Runtime
from bridle.providers.scripted import calls, says
from bridle.transcripts.deferred_calls import deferred_call
from bridle.transcripts.resume import resume
from bridle.transcripts.store import TranscriptPath, begin, transcript_path
from bridle.types.event import ToolFinished
from tests.fakes.hooked import hooked, output
from tests.fakes.tools import Workshop

DEFER = output("PreToolUse", permissionDecision="defer", permissionDecisionReason="ask at noon")
ALLOW = output("PreToolUse", permissionDecision="allow", updatedInput={"name": "b"})


def _place(folder: Path) -> TranscriptPath:
    return TranscriptPath(
        cwd=str(folder), env={"HOME": str(folder), "CLAUDE_CONFIG_DIR": str(folder / "c")}, warn=print
    )


async def test_turn_ends_with_the_call_and_a_later_one_goes_on(tmp_path: Path):
    workshop = Workshop()
    work = workshop.tool("Work", parallel=False, waits=False)
    replies = iter([DEFER, ALLOW])
    script = [says("On it.", calls("Work", name="a")), says("Done.")]
    async with hooked(tmp_path, script, work) as session:
        session.listen("PreToolUse", lambda _: next(replies))
        session.listen("Stop")
        outcome = await session.prompt()
        assert (outcome.reason, outcome.stop_reason, outcome.is_error) == (
            "tool_deferred", "tool_deferred", False,
        )  # fmt: skip
        assert outcome.deferred == {"id": "call-1", "name": "Work", "input": {"name": "a"}}
        assert workshop.log == [] and session.channel.of(ToolFinished) == []
        assert session.inputs("Stop") == []
        outcome = await session.prompt("", meta=True)
    assert workshop.log == ["start b", "end b"]
    assert (outcome.reason, outcome.text, outcome.deferred) == ("completed", "Done.", None)
    assert [event.result["tool_use_id"] for event in session.channel.of(ToolFinished)] == ["call-1"]
    assert deferred_call(session.session) is None


async def test_another_process_goes_on_where_the_call_was_put_off(tmp_path: Path):
    workshop = Workshop()
    work = workshop.tool("Work", parallel=False, waits=False)
    place = _place(tmp_path)
    first = begin(place)
    first.swap(model="model-a", mode="bypassPermissions")
    async with hooked(tmp_path, [says(calls("Work", name="a"))], work, session=first) as session:
        session.listen("PreToolUse", DEFER)
        await session.prompt("begin")
    first.close()

    again = resume(transcript_path(first.id, place.cwd, place.env), place)
    again.swap(model="model-a", mode="bypassPermissions")
    async with hooked(tmp_path, [says("Done.")], work, session=again) as session:
        session.listen("SessionStart", output("SessionStart", additionalContext="welcome back"))
        await session.hooks.fire_session_start("resume")
        outcome = await session.prompt("and be quick")
    again.close()
    assert outcome.text == "Done." and workshop.log == ["start a", "end a"]
    sent = [message["role"] for message in _sent(session)]
    assert sent == ["user", "assistant", "user"]
    heard = session.said_to_model()
    assert "a done" in heard and "and be quick" in heard and "welcome back" in heard
    assert "No result was recorded" not in heard


def _sent(session: Any) -> list[Any]:
    return msgspec.json.decode(session.said_to_model())


async def test_call_may_be_put_off_again(tmp_path: Path):
    work = Workshop().tool("Work", parallel=False, waits=False)
    async with hooked(tmp_path, [says(calls("Work", name="a"))], work) as session:
        session.listen("PreToolUse", DEFER)
        first = await session.prompt()
        second = await session.prompt("", meta=True)
    assert first.deferred == second.deferred and second.reason == "tool_deferred"
    assert deferred_call(session.session) is not None


async def test_only_a_lone_call_can_wait(tmp_path: Path):
    workshop = Workshop()
    work = workshop.tool("Work", parallel=True, waits=False)
    script = [says(calls("Work", name="a"), calls("Work", name="b")), says("Done.")]
    async with hooked(tmp_path, script, work) as session:
        session.listen("PreToolUse", lambda input: DEFER if input["tool_input"]["name"] == "a" else None)
        async with asyncio.timeout(50):
            outcome = await session.prompt()
    assert outcome.text == "Done." and sorted(workshop.log) == ["end a", "end b", "start a", "start b"]
    assert any("cannot defer" in text for text in session.notices)


async def test_nothing_is_put_off_where_a_person_waits(tmp_path: Path):
    workshop = Workshop()
    work = workshop.tool("Work", parallel=True, waits=False)

    def change(runtime: Runtime) -> Runtime:
        return msgspec.structs.replace(runtime, host=HostLink(defers=False))

    async with hooked(
        tmp_path, [says(calls("Work", name="a")), says("Done.")], work, change=change
    ) as session:
        session.listen("PreToolUse", DEFER)
        outcome = await session.prompt()
    assert outcome.text == "Done." and workshop.log == ["start a", "end a"]


async def test_interrupt_while_the_call_is_taken_up_answers_it(tmp_path: Path):
    workshop = Workshop()
    work = workshop.tool("Work", parallel=False)
    replies = iter([DEFER, None])
    async with hooked(tmp_path, [says(calls("Work", name="a"))], work) as session:
        session.listen("PreToolUse", lambda _: next(replies))
        await session.prompt()
        turn = asyncio.create_task(session.prompt("", meta=True))
        await workshop.started("a")
        turn.cancel()
        await asyncio.gather(turn, return_exceptions=True)
    assert session.session.open_calls() == [] and deferred_call(session.session) is None
