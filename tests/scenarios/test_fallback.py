import json
from pathlib import Path

from bridle.engine.loop import run_turn
from bridle.providers.retry import Retrying
from bridle.providers.scripted import ScriptedProvider, calls, says
from bridle.types.errors import ProviderError, StreamBroken
from bridle.types.event import AssistantReplied, ModelSwitched, RetryScheduled, Withdrawn
from bridle.types.origin import TYPED
from bridle.types.turn import Prompt
from tests.fakes.engine import FakeChannel, make_runtime, make_session
from tests.fakes.messages_server import MessagesServer, fault, step
from tests.fakes.program import Program
from tests.fakes.tools import Workshop

_BUSY = ProviderError("busy", kind="overloaded", status=529, retryable=True)
_BUSY_IN_STREAM = StreamBroken("busy", kind="overloaded", error_type="overloaded_error", retryable=True)


async def _no_wait(seconds: float) -> None:
    del seconds


async def test_fallback_answers_for_the_rest_of_the_turn_and_the_next_turn_tries_the_first_again(
    tmp_path: Path,
):
    script = ScriptedProvider(
        [_BUSY, _BUSY, _BUSY, says(calls("Work", name="a")), says("done"), says("fine")]
    )
    channel = FakeChannel()
    work = Workshop().tool("Work", parallel=True, waits=False)
    provider = Retrying(script, fallbacks=("model-b",), sleep=_no_wait)
    runtime = make_runtime(tmp_path, provider, work, channel=channel)
    session = make_session()

    await run_turn(session, Prompt(content="go", origin=TYPED), runtime)
    await run_turn(session, Prompt(content="again", origin=TYPED), runtime)

    assert [asked.model for asked in script.requests] == ["model-a"] * 3 + ["model-b"] * 2 + ["model-a"]
    assert [(event.original, event.fallback) for event in channel.of(ModelSwitched)] == [
        ("model-a", "model-b")
    ]


async def test_what_the_first_model_had_said_is_withdrawn(tmp_path: Path):
    script = ScriptedProvider([says("I begin…", then=_BUSY_IN_STREAM), says("I take over.")])
    channel = FakeChannel()
    provider = Retrying(script, fallbacks=("model-b",), sleep=_no_wait)
    session = make_session()

    outcome = await run_turn(
        session, Prompt(content="go", origin=TYPED), make_runtime(tmp_path, provider, channel=channel)
    )

    first, second = channel.of(AssistantReplied)
    assert channel.of(Withdrawn) == [Withdrawn((first.uuid,))]
    assert [entry["uuid"] for entry in session.entries if entry["type"] == "assistant"] == [second.uuid]
    assert session.history.messages[-1]["content"] == [{"type": "text", "text": "I take over."}]
    assert outcome.text == "I take over."
    assert set(outcome.spend) == {"model-a", "model-b"}


async def test_thinking_that_led_nowhere_is_withdrawn_and_asked_again(tmp_path: Path):
    script = ScriptedProvider([says(thinking="Hm.", then=_BUSY_IN_STREAM), says("Now.")])
    channel = FakeChannel()
    session = make_session()

    await run_turn(
        session,
        Prompt(content="go", origin=TYPED),
        make_runtime(tmp_path, Retrying(script, sleep=_no_wait), channel=channel),
    )

    assert len(channel.of(Withdrawn)) == 1 and len(channel.of(RetryScheduled)) == 1
    assert session.history.messages[-1]["content"] == [{"type": "text", "text": "Now."}]


async def test_call_that_has_begun_is_never_made_again(tmp_path: Path):
    shop = Workshop()
    script = ScriptedProvider([says(calls("Work", name="a"), then=_BUSY_IN_STREAM), says("done")])
    provider = Retrying(script, fallbacks=("model-b",), sleep=_no_wait)
    runtime = make_runtime(tmp_path, provider, shop.tool("Work", parallel=False, waits=False))

    await run_turn(make_session(), Prompt(content="go", origin=TYPED), runtime)

    assert shop.log == ["start a", "end a"]


async def test_withdrawn_rows_stay_in_the_file_but_not_in_a_resume(tmp_path: Path):
    cut = step("I begin…", "and go on", error_after=5, error={"type": "overloaded_error", "message": "busy"})
    async with MessagesServer([cut, step("I take over."), step("ok")]) as server:
        program = Program(tmp_path, server.url)
        done = await program.run(
            "-p", "go", "--fallback-model", "claude-haiku-4-5", "--output-format", "json"
        )
        await program.run("-p", "-c", "more")
        resumed = json.dumps(server.requests[-1].body)
        (transcript,) = program.transcripts()
    assert json.loads(done.out)["result"] == "I take over."
    assert (
        "I take over." in resumed and "I begin…".encode("ascii", "backslashreplace").decode() not in resumed
    )
    assert "I take over." in transcript.read_text()


async def test_fallback_is_announced_to_programs(tmp_path: Path):
    busy = fault(529, "overloaded_error", headers={"retry-after": "0"})
    async with MessagesServer([busy, busy, busy, step("ok")]) as server:
        program = Program(tmp_path, server.url)
        done = await program.run(
            "-p", "go", "--model", "claude-opus-4-5", "--fallback-model", "haiku",
            "--output-format", "stream-json", "--verbose",
        )  # fmt: skip
        models = [request.body["model"] for request in server.requests]
    (switched,) = [frame for frame in done.frames if frame.get("subtype") == "model_fallback"]
    assert (switched["original_model"], switched["fallback_model"]) == ("claude-opus-4-5", models[-1])
    assert models[:3] == ["claude-opus-4-5"] * 3 and "haiku" in models[-1]
