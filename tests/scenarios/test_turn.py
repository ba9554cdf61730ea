from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from bridle.engine.loop import run_turn
from bridle.engine.runtime import Asking, Limits
from bridle.providers.scripted import calls, says
from bridle.types.errors import ProviderError, StreamBroken
from bridle.types.event import AssistantReplied, PermissionDenied, ToolFinished, TurnFinished, UserTextAdded
from bridle.types.origin import TYPED
from bridle.types.question import Permitted, Refused
from bridle.types.turn import Denial, Prompt
from tests.fakes.engine import USAGE, FakeBriefing, FakeChannel, make_runtime, make_session, requests
from tests.fakes.tools import Workshop


def _prompt(text: str = "go") -> Prompt:
    return Prompt(content=text, origin=TYPED)


def _results(channel: FakeChannel) -> list[Any]:
    return [event.result for event in channel.of(ToolFinished)]


async def test_plain_answer_ends_the_turn(tmp_path: Path):
    channel = FakeChannel()
    runtime = make_runtime(tmp_path, [says("Hello.")], channel=channel)

    outcome = await run_turn(make_session(), _prompt(), runtime)

    assert channel.kinds == [
        "turn_started", "step_started", "text_delta", "assistant_said", "turn_finished",
    ]  # fmt: skip
    assert (outcome.subtype, outcome.reason, outcome.text) == ("success", "completed", "Hello.")
    assert (outcome.num_turns, outcome.stop_reason, outcome.is_error) == (1, "end_turn", False)
    assert outcome.usage == USAGE
    assert channel.of(TurnFinished) == [TurnFinished(outcome)]


async def test_call_is_run_and_its_result_goes_back(tmp_path: Path):
    work = Workshop().tool("Work", parallel=False, waits=False)
    channel = FakeChannel()
    runtime = make_runtime(
        tmp_path, [says("On it.", calls("Work", name="a")), says("Done.")], work, channel=channel
    )

    outcome = await run_turn(make_session(), _prompt(), runtime)

    assert channel.kinds == [
        "turn_started", "step_started", "text_delta", "assistant_said", "assistant_said", "tool_started",
        "tool_finished", "step_started", "text_delta", "assistant_said", "turn_finished",
    ]  # fmt: skip
    assert requests(runtime)[1].messages == [
        {"role": "user", "content": "go"},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "On it."},
                {"type": "tool_use", "id": "call-1", "name": "Work", "input": {"name": "a"}},
            ],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "call-1", "content": "a done"}]},
    ]
    assert (outcome.text, outcome.num_turns) == ("Done.", 2)
    assert outcome.usage == USAGE + USAGE


async def test_denied_call_is_told_to_the_model_and_the_turn_goes_on(tmp_path: Path):
    work = Workshop().tool("Work", parallel=False, waits=False)
    channel = FakeChannel()
    runtime = make_runtime(
        tmp_path, [says(calls("Work", name="a")), says("I may not.")], work, channel=channel
    )

    outcome = await run_turn(make_session(mode="default"), _prompt(), runtime)

    (told,) = _results(channel)
    assert (told["tool_use_id"], told["is_error"]) == ("call-1", True)
    assert "nobody is there" in told["content"] and "the rule Work" in told["content"]
    assert outcome.denials == (Denial("Work", "call-1", {"name": "a"}),)
    assert [event.call_id for event in channel.of(PermissionDenied)] == ["call-1"]
    assert outcome.text == "I may not."


async def test_person_may_permit_a_changed_input(tmp_path: Path):
    shop = Workshop()
    channel = FakeChannel(Permitted(input={"name": "b"}))
    runtime = make_runtime(
        tmp_path,
        [says(calls("Work", name="a")), says("ok")],
        shop.tool("Work", parallel=False, waits=False),
        channel=channel,
    )

    outcome = await run_turn(make_session(mode="default"), _prompt(), runtime)

    assert shop.log == ["start b", "end b"]
    assert outcome.denials == ()


async def test_refusal_that_interrupts_ends_the_turn_with_every_call_answered(tmp_path: Path):
    channel = FakeChannel(Refused(message="stop it", interrupt=True))
    work = Workshop().tool("Work", parallel=False, waits=False)
    runtime = make_runtime(
        tmp_path, [says(calls("Work", name="a"), calls("Work", name="b"))], work, channel=channel
    )
    session = make_session(mode="default")

    outcome = await run_turn(session, _prompt(), runtime)

    assert (outcome.subtype, outcome.reason) == ("error_during_execution", "aborted_tools")
    assert session.open_calls() == []
    assert [event.content for event in channel.of(UserTextAdded)] == [
        [{"type": "text", "text": "[Request interrupted by user for tool use]"}]
    ]


async def test_unknown_tool_is_an_error_result_that_names_it(tmp_path: Path):
    channel = FakeChannel()
    runtime = make_runtime(tmp_path, [says(calls("Nope", x=1)), says("ok")], channel=channel)

    await run_turn(make_session(), _prompt(), runtime)

    (result,) = _results(channel)
    assert result["is_error"] and "No such tool available: Nope" in result["content"]


async def test_invalid_input_is_an_error_before_any_question(tmp_path: Path):
    channel = FakeChannel(Permitted())
    work = Workshop().tool("Work", parallel=False, waits=False)
    script = [says(calls("Work"), calls("Work", name="a", color="red"), calls("Work", name=3)), says("ok")]
    runtime = make_runtime(tmp_path, script, work, channel=channel)

    await run_turn(make_session(mode="default"), _prompt(), runtime)

    texts = [result["content"] for result in _results(channel)]
    assert channel.questions == []
    assert "`name` is missing" in texts[0] and texts[0].startswith("InputValidationError")
    assert "unknown parameter `color`" in texts[1]
    assert texts[2].startswith("InputValidationError") and "name" in texts[2]


async def test_numbers_and_booleans_may_come_as_text(tmp_path: Path):
    channel = FakeChannel()
    work = Workshop().tool("Work", parallel=False, waits=False)
    runtime = make_runtime(
        tmp_path, [says(calls("Work", name="a", count="42", fail="false")), says("ok")], work, channel=channel
    )

    await run_turn(make_session(), _prompt(), runtime)

    assert _results(channel) == [{"type": "tool_result", "tool_use_id": "call-1", "content": "a done"}]


async def test_turn_limit_lets_the_last_calls_run(tmp_path: Path):
    shop = Workshop()
    script = [says(calls("Work", name="a")), says(calls("Work", name="b"))]
    runtime = make_runtime(
        tmp_path, script, shop.tool("Work", parallel=False, waits=False), limits=Limits(max_turns=2)
    )

    outcome = await run_turn(make_session(), _prompt(), runtime)

    assert shop.log == ["start a", "end a", "start b", "end b"]
    assert (outcome.subtype, outcome.reason, outcome.num_turns) == ("error_max_turns", "max_turns", 3)
    assert outcome.errors == ("Reached maximum number of turns (2)",)


async def test_spending_limit_stops_before_the_calls_of_the_answer_that_broke_it(tmp_path: Path):
    shop = Workshop()
    channel = FakeChannel()
    script = [says(calls("Work", name="a"), usage={"input_tokens": 900_000, "output_tokens": 0})]
    runtime = make_runtime(
        tmp_path,
        script,
        shop.tool("Work", parallel=True, waits=False),
        channel=channel,
        limits=Limits(max_budget_usd=1.0),
    )
    session = make_session()

    outcome = await run_turn(session, _prompt(), runtime)
    later = await run_turn(session, _prompt("again"), runtime)

    assert shop.log == []
    assert (outcome.subtype, outcome.reason, outcome.total_cost_usd) == (
        "error_max_budget_usd", "budget_exhausted", 9.0,
    )  # fmt: skip
    assert session.open_calls() == []
    assert later.subtype == "error_max_budget_usd"
    assert len(requests(runtime)) == 1


async def test_an_answer_that_breaks_the_spending_limit_is_an_error_though_the_work_is_done(tmp_path: Path):
    script = [says("Done.", usage={"input_tokens": 900_000, "output_tokens": 0})]
    runtime = make_runtime(tmp_path, script, limits=Limits(max_budget_usd=1.0))

    outcome = await run_turn(make_session(), _prompt(), runtime)

    assert (outcome.subtype, outcome.is_error) == ("error_max_budget_usd", True)
    assert outcome.errors == ("Reached maximum budget ($1)",)


async def test_budget_that_is_not_reached_lets_calls_run(tmp_path: Path):
    shop = Workshop()
    work = shop.tool("Work", parallel=True, waits=False)
    script = [says(calls("Work", name="a")), says("ok")]
    runtime = make_runtime(tmp_path, script, work, limits=Limits(max_budget_usd=1.0))

    outcome = await run_turn(make_session(), _prompt(), runtime)

    assert (outcome.subtype, shop.log) == ("success", ["start a", "end a"])


async def test_token_limit_ends_the_turn(tmp_path: Path):
    work = Workshop().tool("Work", parallel=True, waits=False)
    script = [says(calls("Work", name="a"), usage={"input_tokens": 90, "output_tokens": 20})]
    runtime = make_runtime(tmp_path, script, work, limits=Limits(max_total_tokens=100))

    outcome = await run_turn(make_session(), _prompt(), runtime)

    assert (outcome.reason, outcome.is_error) == ("budget_exhausted", True)


async def test_cut_answer_is_continued_with_more_room(tmp_path: Path):
    script = [says("half a", stop_reason="max_tokens"), says(" sentence.")]
    channel = FakeChannel()
    runtime = make_runtime(tmp_path, script, channel=channel)

    outcome = await run_turn(make_session(), _prompt(), runtime)

    assert [asked.request.max_tokens for asked in requests(runtime)] == [32_000, 64_000]
    assert [message["role"] for message in requests(runtime)[1].messages] == ["user", "assistant", "user"]
    assert [event.synthetic for event in channel.of(UserTextAdded)] == [True]
    assert (outcome.text, outcome.num_turns) == ("half a sentence.", 2)


async def test_cut_answers_are_continued_three_times_at_most(tmp_path: Path):
    runtime = make_runtime(tmp_path, [says("more", stop_reason="max_tokens")] * 4)

    outcome = await run_turn(make_session(), _prompt(), runtime)

    assert len(requests(runtime)) == 4
    assert outcome.is_error


async def test_output_limit_of_the_user_is_never_raised(tmp_path: Path):
    script = [says("half", stop_reason="max_tokens"), says("whole")]
    runtime = make_runtime(tmp_path, script, asking=Asking(small_model="small", max_tokens=100))

    await run_turn(make_session(), _prompt(), runtime)

    assert [asked.request.max_tokens for asked in requests(runtime)] == [100, 100]


async def test_empty_answer_is_nudged_once(tmp_path: Path):
    runtime = make_runtime(tmp_path, [says(), says()])

    outcome = await run_turn(make_session(), _prompt(), runtime)

    assert len(requests(runtime)) == 2
    assert (outcome.reason, outcome.text) == ("completed", "")


async def test_refusal_is_asked_again_once(tmp_path: Path):
    script = [says("No.", stop_reason="refusal"), says("Still no.", stop_reason="refusal")]
    channel = FakeChannel()
    runtime = make_runtime(tmp_path, script, channel=channel)

    outcome = await run_turn(make_session(), _prompt(), runtime)

    assert len(requests(runtime)) == 2
    assert channel.kinds.count("noticed") == 1
    assert (outcome.stop_reason, outcome.is_error, outcome.reason) == ("refusal", True, "api_error")


async def test_model_that_cannot_answer_ends_the_turn_with_an_error_that_is_not_sent_again(tmp_path: Path):
    fault = ProviderError("The service said no.", kind="rate_limit", status=429)
    channel = FakeChannel()
    runtime = make_runtime(tmp_path, [fault, says("back")], channel=channel)
    session = make_session()

    outcome = await run_turn(session, _prompt("one"), runtime)
    await run_turn(session, _prompt("two"), runtime)

    assert (outcome.subtype, outcome.is_error, outcome.reason) == ("success", True, "api_error")
    assert (outcome.text, outcome.api_error_status) == ("The service said no.", 429)
    said = channel.of(AssistantReplied)[0]
    assert (
        said.message["model"] == "<synthetic>" and said.fault is not None and said.fault.kind == "rate_limit"
    )
    assert requests(runtime)[1].messages == [
        {"role": "user", "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]}
    ]


async def test_too_long_prompt_has_its_own_reason(tmp_path: Path):
    fault = ProviderError("prompt is too long: 210000 tokens", kind="invalid_request", status=400)
    outcome = await run_turn(make_session(), _prompt(), make_runtime(tmp_path, [fault]))
    assert outcome.reason == "prompt_too_long"


async def test_broken_stream_is_continued_from_what_is_whole(tmp_path: Path):
    broken = StreamBroken("cut", retryable=True)
    script = [says("First part.", "and a half", closed=False, then=broken), says("The rest.")]
    channel = FakeChannel()
    runtime = make_runtime(tmp_path, script, channel=channel)

    outcome = await run_turn(make_session(), _prompt(), runtime)

    assert requests(runtime)[1].messages[1]["content"] == [
        {"type": "text", "text": "First part."},
        {"type": "text", "text": "and a half"},
    ]
    assert (outcome.text, outcome.is_error) == ("First part.and a halfThe rest.", False)


async def test_broken_stream_with_a_whole_call_runs_it_once(tmp_path: Path):
    shop = Workshop()
    broken = StreamBroken("cut", retryable=True)
    script = [says(calls("Work", name="a"), then=broken), says("ok")]
    runtime = make_runtime(tmp_path, script, shop.tool("Work", parallel=False, waits=False))

    outcome = await run_turn(make_session(), _prompt(), runtime)

    assert shop.log == ["start a", "end a"]
    assert outcome.text == "ok"
    assert requests(runtime)[1].messages[-1]["content"][0]["type"] == "tool_result"


async def test_stream_that_breaks_before_anything_whole_is_an_error(tmp_path: Path):
    script = [says("half", closed=False, then=StreamBroken("cut", retryable=True))]
    outcome = await run_turn(make_session(), _prompt(), make_runtime(tmp_path, script))
    assert (outcome.is_error, outcome.reason) == (True, "api_error")


async def test_reminders_stand_before_the_first_prompt_only(tmp_path: Path):
    runtime = make_runtime(
        tmp_path, [says("one"), says("two")], briefing=FakeBriefing(["<system-reminder>remember"])
    )
    session = make_session()

    await run_turn(session, _prompt("a"), runtime)
    await run_turn(session, _prompt("b"), runtime)

    assert requests(runtime)[1].messages == [
        {
            "role": "user",
            "content": [{"type": "text", "text": "<system-reminder>remember"}, {"type": "text", "text": "a"}],
        },
        {"role": "assistant", "content": [{"type": "text", "text": "one"}]},
        {"role": "user", "content": "b"},
    ]


async def test_prompt_is_recorded_before_the_model_is_asked(tmp_path: Path):
    session = make_session()

    def answer(asked: Any) -> Any:
        assert [entry["type"] for entry in session.entries] == ["user"]
        return says("ok")

    outcome = await run_turn(session, _prompt(), make_runtime(tmp_path, [answer]))
    assert outcome.text == "ok"


async def test_prefix_of_the_conversation_never_changes(tmp_path: Path):
    work = Workshop().tool("Work", parallel=True, waits=False)
    script = [
        *(says(f"step {n}", calls("Work", name=str(n)), calls("Work", name=f"{n}b")) for n in range(5)),
        says("end"),
    ]
    runtime = make_runtime(tmp_path, script, work, briefing=FakeBriefing(["remember"]))

    await run_turn(make_session(), _prompt(), runtime)

    asked = requests(runtime)
    for earlier, later in pairwise(asked):
        assert later.messages[: len(earlier.messages)] == earlier.messages
        assert (later.system, later.tools) == (earlier.system, earlier.tools)


async def test_defect_of_ours_still_gives_a_result_and_answers_every_call(tmp_path: Path):
    class Broken(ZeroDivisionError):
        pass

    def explode(asked: Any) -> Any:
        raise Broken

    work = Workshop().tool("Work", parallel=False, waits=False)
    channel = FakeChannel()
    runtime = make_runtime(tmp_path, [says(calls("Work", name="a")), explode], work, channel=channel)
    session = make_session()

    with pytest.raises(BaseExceptionGroup):
        await run_turn(session, _prompt(), runtime)

    (finished,) = channel.of(TurnFinished)
    assert (finished.outcome.subtype, finished.outcome.is_error) == ("error_during_execution", True)
    assert session.open_calls() == []
