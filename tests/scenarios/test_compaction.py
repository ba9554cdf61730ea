from pathlib import Path
from typing import Any

import msgspec
import pytest

from bridle.context.window import CompactionSettings
from bridle.engine.compaction.compact import CompactionFailed, compact
from bridle.engine.loop import run_turn
from bridle.engine.runtime import ModelFacts
from bridle.engine.turn import Turn
from bridle.providers.scripted import ScriptedProvider, SeenRequest, calls, says
from bridle.tools.files.read import TOOL as READ
from bridle.transcripts.session import Session
from bridle.transcripts.transcript import Transcript
from bridle.transcripts.truncation import undo_compaction
from bridle.types.errors import ProviderError
from bridle.types.event import CompactionFinished, CompactionStarted, Noticed
from bridle.types.origin import TYPED
from bridle.types.turn import Prompt
from tests.fakes.engine import FakeBriefing, FakeChannel, make_runtime, make_session

FULL = {"input_tokens": 170_000, "output_tokens": 50}
SUMMARY = says("<analysis>…</analysis><summary>We read a file.</summary>")


def _prompt(text: str = "go on") -> Prompt:
    return Prompt(content=text, origin=TYPED)


def _texts(asked: SeenRequest) -> str:
    return msgspec.json.encode(asked.messages).decode()


async def test_a_conversation_that_fills_the_window_is_compacted_before_the_next_step(tmp_path: Path):
    (tmp_path / "a.txt").write_text("the content")
    script = ScriptedProvider(
        [
            says("Looking.", calls("Read", file_path=str(tmp_path / "a.txt")), usage=FULL),
            SUMMARY,
            says("Done."),
        ]
    )
    channel = FakeChannel()
    runtime = make_runtime(tmp_path, script, READ, channel=channel)
    session = make_session()

    outcome = await run_turn(session, _prompt("first words"), runtime)

    assert outcome.text == "Done."
    asked = script.requests[1]
    assert asked.messages[-1]["role"] == "user"
    assert (asked.system, asked.tools) == (script.requests[0].system, script.requests[0].tools)
    after = script.requests[2].messages
    assert "We read a file." in str(after[0]["content"])
    assert "<user-message>first words</user-message>" in str(after[0]["content"])
    assert after[1:] == script.requests[1].messages[1:3]
    assert [
        type(event) for event in channel.events if isinstance(event, CompactionStarted | CompactionFinished)
    ] == [
        CompactionStarted,
        CompactionFinished,
    ]


async def test_the_newest_rounds_stay_word_for_word_with_calls_and_results_together(tmp_path: Path):
    (tmp_path / "a.txt").write_text("the content\n" * 2_000)
    (tmp_path / "b.txt").write_text("small")
    old, new = (calls("Read", file_path=str(tmp_path / name)) for name in ("a.txt", "b.txt"))
    full = {"input_tokens": 10_000, "output_tokens": 50}
    script = ScriptedProvider([says("One.", old), says("Two.", new, usage=full), SUMMARY, says("Done.")])
    runtime = msgspec.structs.replace(
        make_runtime(tmp_path, script, READ), habits=CompactionSettings(window=9_000)
    )

    await run_turn(make_session(), _prompt(), runtime)

    sent = script.requests[3].messages
    assert [message["role"] for message in sent] == ["user", "assistant", "user"]
    kept = script.requests[2].messages[3:5]
    assert sent[1] == kept[0]
    # Behind the newest result stands what is given again of the file that was read before.
    assert sent[2]["content"][: len(kept[1]["content"])] == kept[1]["content"]


async def test_reminders_and_files_are_given_again(tmp_path: Path):
    (tmp_path / "a.txt").write_text("what the file says")
    script = ScriptedProvider(
        [says(calls("Read", file_path=str(tmp_path / "a.txt"))), says("Read."), SUMMARY, says("Yes.")]
    )
    runtime = make_runtime(
        tmp_path,
        script,
        READ,
        briefing=FakeBriefing(reminders=["<system-reminder>rule one</system-reminder>"]),
    )
    session = make_session()
    await run_turn(session, _prompt(), runtime)
    await compact(Turn(session, _prompt(), runtime), trigger="manual", in_turn=False)

    await run_turn(session, _prompt("and now"), runtime)

    sent = _texts(script.requests[3])
    assert sent.count("rule one") == 1
    assert "what the file says" in sent
    assert "We read a file." in sent


async def test_a_request_that_the_service_finds_too_long_is_sent_again_after_a_compaction(tmp_path: Path):
    too_long = ProviderError("prompt is too long: 210000 tokens > 200000 maximum", status=400)
    script = ScriptedProvider([says("Hello."), too_long, SUMMARY, says("Again.")])
    runtime = make_runtime(tmp_path, script)
    session = make_session()
    await run_turn(session, _prompt("one"), runtime)

    outcome = await run_turn(session, _prompt("two"), runtime)

    assert (outcome.text, outcome.is_error) == ("Again.", False)
    assert "two" in _texts(script.requests[3])


async def test_a_single_exchange_that_is_too_long_ends_the_turn_with_the_reason(tmp_path: Path):
    too_long = ProviderError("prompt is too long", status=400)
    runtime = make_runtime(tmp_path, ScriptedProvider([too_long]))

    outcome = await run_turn(make_session(), _prompt(), runtime)

    assert (outcome.is_error, outcome.reason) == (True, "prompt_too_long")


@pytest.mark.parametrize(
    "answer",
    [
        says("<summary></summary>"),
        says("<summary>cut", stop_reason="max_tokens"),
        says("<summary>" + "x" * 100_000 + "</summary>"),
        says("<summary>open"),
        ProviderError("overloaded", status=529),
    ],
)
async def test_a_summary_that_cannot_be_used_leaves_the_conversation_untouched_and_says_so(
    tmp_path: Path, answer: Any
):
    channel = FakeChannel()
    runtime = make_runtime(tmp_path, ScriptedProvider([says("Hello."), answer, answer]), channel=channel)
    session = make_session()
    await run_turn(session, _prompt(), runtime)
    before = msgspec.json.encode(session.history.messages)

    with pytest.raises(CompactionFailed):
        await compact(Turn(session, _prompt(), runtime), trigger="manual")

    assert msgspec.json.encode(session.history.messages) == before
    assert channel.of(CompactionFinished)[0].error is not None


async def test_failures_are_not_repeated_for_ever(tmp_path: Path):
    bad = says("<summary>")
    script = ScriptedProvider([line for _ in range(4) for line in (says("Hm.", usage=FULL), bad, bad)][:-2])
    channel = FakeChannel()
    runtime = make_runtime(tmp_path, script, channel=channel)
    session = make_session()
    for _ in range(4):
        await run_turn(session, _prompt(), runtime)

    assert len(channel.of(CompactionStarted)) == 3
    assert len([event for event in channel.of(Noticed) if "Could not compact" in event.text]) == 3


async def test_who_turns_it_off_is_told_when_the_window_is_full(tmp_path: Path):
    script = ScriptedProvider([says("Hm.", usage={"input_tokens": 179_000, "output_tokens": 1})])
    runtime = msgspec.structs.replace(
        make_runtime(tmp_path, script), habits=CompactionSettings(automatic=False)
    )
    session = make_session()
    await run_turn(session, _prompt(), runtime)

    outcome = await run_turn(session, _prompt(), runtime)

    assert (outcome.reason, outcome.is_error) == ("blocking_limit", True)
    assert "/compact" in outcome.errors[0]


async def test_twenty_pins_stay_byte_equal_through_five_compactions(tmp_path: Path):
    pins = [f'Rule {number}: nie «ändern» \\ {number} <b> & "q"\tab' for number in range(20)]
    script = ScriptedProvider([line for _ in range(5) for line in (says("Ok."), SUMMARY, SUMMARY)])
    runtime = make_runtime(tmp_path, script)
    session = make_session()
    for pin in pins:
        session.swap(ledger=session.state.ledger.plus(pin))
    for _ in range(5):
        await run_turn(session, _prompt(), runtime)
        await compact(Turn(session, _prompt(), runtime), trigger="manual")

        sent = str(session.history.messages[0]["content"])
        assert all(f"<pinned>{pin}</pinned>" in sent for pin in pins)


async def test_an_undone_compaction_gives_the_same_request_as_before(tmp_path: Path):
    path = tmp_path / "s.jsonl"
    script = ScriptedProvider([says("One."), says("Two."), SUMMARY, says("Three.")])
    runtime = make_runtime(tmp_path, script)
    session = Session("s1", writer=Transcript(str(path), warn=print))
    session.swap(model="model-a")
    await run_turn(session, _prompt("a"), runtime)
    await run_turn(session, _prompt("b"), runtime)
    before = msgspec.json.encode(session.history.messages)
    await compact(Turn(session, _prompt(), runtime), trigger="manual")
    assert msgspec.json.encode(session.history.messages) != before

    assert undo_compaction(session, str(path))

    assert msgspec.json.encode(session.history.messages) == before
    await run_turn(session, _prompt("c"), runtime)
    assert msgspec.json.encode(script.requests[3].messages[:4]) == before
    assert not undo_compaction(session, str(path))


async def test_a_window_that_is_only_assumed_is_left_to_the_service_when_the_user_wants_that(tmp_path: Path):
    too_long = ProviderError("prompt is too long: 210000 tokens > 200000 maximum", status=400)
    script = ScriptedProvider([says("One.", usage=FULL), too_long, SUMMARY, says("Two.")])
    runtime = make_runtime(tmp_path, script)
    enforced = runtime.facts

    def lenient(model: str) -> ModelFacts:
        return msgspec.structs.replace(enforced(model), window_enforced=False)

    runtime = msgspec.structs.replace(runtime, facts=lenient)
    session = make_session()
    await run_turn(session, _prompt("first words"), runtime)

    outcome = await run_turn(session, _prompt(), runtime)

    assert outcome.text == "Two."
    assert "first words" in _texts(script.requests[1])
    assert "We read a file." in str(script.requests[3].messages[0]["content"])


async def test_the_oldest_rounds_are_dropped_without_a_model_call_where_the_user_wants_that(tmp_path: Path):
    (tmp_path / "a.txt").write_text("the content\n" * 2_000)
    (tmp_path / "b.txt").write_text("small")
    old, new = (calls("Read", file_path=str(tmp_path / name)) for name in ("a.txt", "b.txt"))
    full = {"input_tokens": 10_000, "output_tokens": 50}
    script = ScriptedProvider([says("One.", old), says("Two.", new, usage=full), says("Done.")])
    runtime = msgspec.structs.replace(
        make_runtime(tmp_path, script, READ), habits=CompactionSettings(window=9_000, collapses=True)
    )

    outcome = await run_turn(make_session(), _prompt("first words"), runtime)

    assert outcome.text == "Done." and len(script.requests) == 3
    sent = script.requests[2].messages
    text = _texts(script.requests[2])
    assert "dropped to make room, without a summary" in text and "first words" in text
    assert [message["role"] for message in sent] == ["user", "assistant", "user"]
    assert sent[1]["content"][0] == {"type": "text", "text": "Two."}
