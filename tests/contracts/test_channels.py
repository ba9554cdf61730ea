"""What every channel owes the engine: it takes any event and answers any question."""

import asyncio
import json
import os
from typing import Any, get_args

import msgspec
import pytest

from bridle.frontends.print.channel import Presenter, PrintChannel, TextPresenter
from bridle.frontends.print.json_output import JsonPresenter, LinePresenter
from bridle.frontends.print.narrator import Narrator
from bridle.host.streams import Output
from bridle.protocol.frames import Framer
from bridle.protocol.init_frame import InitFacts
from bridle.types.block import AssistantMessage, result_block, text_block
from bridle.types.event import (
    Answered,
    ApiFault,
    AssistantReplied,
    CallChanged,
    CommandReplied,
    CompactionFinished,
    CompactionStarted,
    ConversationReset,
    Event,
    FromAgent,
    LimitChanged,
    ModeChanged,
    ModelSwitched,
    Noticed,
    PermissionDenied,
    PromptFolded,
    PromptMoved,
    PromptSuggested,
    RetryScheduled,
    SessionRenamed,
    SideTaskFailed,
    Signalled,
    StepStarted,
    Streamed,
    TaskEnded,
    TaskProgressed,
    TaskStarted,
    TextDelta,
    ThinkingDelta,
    ToolFinished,
    ToolProgressed,
    ToolStarted,
    TurnFinished,
    TurnStarted,
    UserTextAdded,
    Withdrawn,
)
from bridle.types.hooks.outcome import HookProgressed, HookRun, HookStarted
from bridle.types.question import ChoiceQuestion, PermissionQuestion, Refused
from bridle.types.services.tasks import Task
from bridle.types.turn import Denial, Outcome
from bridle.types.usage import ModelSpend, Usage

_TIME = "2026-01-01T00:00:00.000Z"
_MESSAGE: AssistantMessage = {
    "id": "m",
    "type": "message",
    "role": "assistant",
    "model": "model",
    "content": [text_block("said \x1b[31m red")],
    "stop_reason": None,
    "stop_sequence": None,
    "usage": {},
}
_TASK = Task(id="b1", kind="local_bash", description="job", call_id="c", output_file="/f", started=1.0)
_OUTCOME = Outcome(
    subtype="success",
    reason="completed",
    is_error=False,
    text="the end",
    num_turns=1,
    duration_ms=1,
    duration_api_ms=1,
    usage=Usage(input=1),
    total_cost_usd=0.5,
    spend={"model": ModelSpend(Usage(input=1), 0.5, 200_000, 64_000)},
    denials=(Denial("Bash", "c", {"command": "x"}),),
)
_WIRE = b'{"type":"ping"}'
EVENTS: tuple[Event, ...] = (
    TurnStarted(model="model", tools=("Read",), mode="default", cwd="/", prompt="hi", uuid="u"),
    PromptFolded(uuid="v", prompt="more", prompt_uuid="v"),
    PromptMoved("v", "queued"),
    StepStarted(number=1, model="model"),
    TextDelta("some", _WIRE),
    ThinkingDelta("thought", _WIRE),
    Streamed(_WIRE, 5),
    AssistantReplied(uuid="u", timestamp=_TIME, message=_MESSAGE),
    AssistantReplied(
        uuid="u",
        timestamp=_TIME,
        message=_MESSAGE,
        request_id="r",
        fault=ApiFault("rate_limit", 429),
        aborted=True,
    ),
    Withdrawn(("u",)),
    SideTaskFailed("suggestion", "overloaded"),
    UserTextAdded(uuid="u", timestamp=_TIME, content="go on"),
    AssistantReplied(uuid="u", timestamp=_TIME, message=_MESSAGE),
    ToolStarted(call_id="c", tool="Bash", input={"command": "ls"}),
    CallChanged(call_id="c", tool="Bash", input={"command": "ls -l"}),
    ToolProgressed(call_id="c", tool="Bash", text="…", seconds=9.0),
    ToolFinished(
        uuid="u",
        timestamp=_TIME,
        tool="Bash",
        result=result_block("c", "a\nb"),
        data={"stdout": "a\nb"},
        seconds=0.1,
    ),
    PermissionDenied(call_id="c", tool="Bash", input={}, message="no", reason="rule", reason_type="rule"),
    RetryScheduled(attempt=1, max_retries=3, delay=0.5, error="rate_limit", status=429),
    ModelSwitched(original="a", fallback="b", reason="busy"),
    CompactionStarted(trigger="auto"),
    CompactionFinished(trigger="auto", boundary="b", tokens_before=9, tokens_after=1),
    CompactionFinished(trigger="manual", error="the summary is empty"),
    CommandReplied("three files"),
    ConversationReset(before="s", session_id="s", trigger="clear"),
    ModeChanged("plan"),
    PromptSuggested("run the tests"),
    SessionRenamed("A name"),
    Signalled("\x07"),
    LimitChanged({"status": "allowed_warning", "utilization": 0.9}),
    HookStarted(id="h", name="PreToolUse:Bash", event="PreToolUse", status_message="checking"),
    HookProgressed(id="h", name="PreToolUse:Bash", event="PreToolUse", stdout="half"),
    HookRun(id="h", name="PreToolUse:Bash", event="PreToolUse", outcome="success", exit_code=0),
    TaskStarted(_TASK),
    TaskProgressed(_TASK),
    FromAgent(
        call_id="c", agent_id="a1", agent_type="helper", description="job", event=Noticed("from inside")
    ),
    TaskEnded(msgspec.structs.replace(_TASK, status="completed")),
    Noticed("mind the gap", "warning"),
    Answered("so far"),
    TurnFinished(_OUTCOME),
)


def _make(name: str, output: Output) -> PrintChannel:
    framer = Framer(InitFacts(session_id="s", api_key_source="none"), partial=True, replay=True)
    presenters: dict[str, Presenter] = {
        "text": TextPresenter(output),
        "json": JsonPresenter(output, framer),
        "everything": JsonPresenter(output, framer, everything=True),
        "lines": LinePresenter(output, framer),
        "narrator": Narrator(output),
    }
    return PrintChannel(presenters[name])


async def _shown(name: str) -> str:
    reading, writing = os.pipe()
    output = Output(writing)
    channel = _make(name, output)
    for event in EVENTS:
        channel.emit(event)
    channel.finish()
    await output.drain()
    os.close(writing)
    with open(reading, encoding="utf-8") as file:
        return await asyncio.to_thread(file.read)


def test_the_list_of_events_is_complete():
    assert {type(event) for event in EVENTS} == set(get_args(Event))


@pytest.mark.parametrize("name", ["text", "json", "everything", "lines", "narrator"])
async def test_any_event_is_taken(name: str):
    assert await _shown(name)


@pytest.mark.parametrize("name", ["text", "json", "lines", "narrator"])
async def test_questions_that_nobody_can_answer_are_refused(name: str):
    channel = _make(name, Output(1))
    permission = PermissionQuestion(call_id="c", tool="Bash", input={}, reason="why")
    choice = ChoiceQuestion(call_id="c", questions=())
    for question in (permission, choice):
        answer = await channel.ask(question)
        assert isinstance(answer, Refused) and not answer.by_person


async def test_text_is_the_answers_alone():
    assert await _shown("text") == "so far\nthe end\n"


async def test_json_is_the_result_alone():
    assert json.loads(await _shown("json"))["type"] == "result"


async def test_lines_are_frames_with_session_and_uuid():
    frames: list[Any] = [json.loads(line) for line in (await _shown("lines")).splitlines()]
    assert all(frame["session_id"] == "s" and frame["uuid"] for frame in frames)
    assert next(frame for frame in frames if frame["type"] == "stream_event")["event"] == json.loads(_WIRE)
    assert json.loads(await _shown("everything"))[-1]["type"] == frames[-1]["type"] == "result"


async def test_narrator_lets_no_control_sequence_through():
    shown = await _shown("narrator")
    assert "\x1b" not in shown and "[31m red" in shown
    assert "* Bash(ls)" in shown
