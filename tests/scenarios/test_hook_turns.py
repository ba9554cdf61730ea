"""Hooks of a turn: its prompt, its end, its faults, what people are shown."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from bridle.providers.scripted import calls, says
from bridle.types.errors import ProviderError
from bridle.types.event import AssistantReplied, Noticed, SessionRenamed, Signalled, TextDelta, UserTextAdded
from tests.fakes.engine import FakeChannel
from tests.fakes.hooked import hooked, output
from tests.fakes.tools import Workshop


async def test_prompt_is_told_with_all_that_is_true_of_the_session(tmp_path: Path):
    async with hooked(tmp_path, [says("Hello.")]) as session:
        session.listen("UserPromptSubmit")
        await session.prompt("do it", uuid="p-1")
    assert session.told == [
        {
            "session_id": "s1",
            "transcript_path": str(tmp_path / "transcript.jsonl"),
            "cwd": str(tmp_path),
            "prompt_id": "p-1",
            "permission_mode": "bypassPermissions",
            "scratchpad_dir": str(tmp_path / "storage" / "scratchpad"),
            "hook_event_name": "UserPromptSubmit",
            "prompt": "do it",
        }
    ]


async def test_refused_prompt_reaches_neither_model_nor_history(tmp_path: Path):
    async with hooked(tmp_path, []) as session:
        session.listen("UserPromptSubmit", {"decision": "block", "reason": "not today"})
        outcome = await session.prompt("secret words")
    assert (outcome.subtype, outcome.is_error, outcome.num_turns) == ("success", False, 0)
    assert "not today" in outcome.text and "secret words" in outcome.text
    (line,) = session.channel.of(Noticed)
    assert (line.text, line.prevents) == ("A hook blocked the prompt: not today", True)
    (entry,) = session.session.entries
    assert entry["type"] == "system" and entry.get("content") == line.text
    assert "turn_started" not in session.channel.kinds


async def test_refused_prompt_is_not_repeated_when_a_hook_objects(tmp_path: Path):
    answer = {
        "decision": "block",
        "reason": "a key",
        **output("UserPromptSubmit", suppressOriginalPrompt=True),
    }
    async with hooked(tmp_path, []) as session:
        session.listen("UserPromptSubmit", answer)
        outcome = await session.prompt("sk-123")
    assert "a key" in outcome.text and "sk-123" not in outcome.text


async def test_prompt_hook_adds_context_and_names_the_session(tmp_path: Path):
    answer = output("UserPromptSubmit", additionalContext="the moon is full", sessionTitle="Moon")
    async with hooked(tmp_path, [says("Hello.")]) as session:
        session.listen("UserPromptSubmit", answer)
        outcome = await session.prompt()
    assert "the moon is full" in session.said_to_model()
    assert session.channel.of(SessionRenamed) == [SessionRenamed("Moon")]
    assert outcome.num_turns == 1


@pytest.mark.parametrize(
    ("given", "text", "notice"),
    [
        (
            {"stopReason": "closed for today"},
            "Operation stopped by hook: closed for today",
            "A hook stopped the turn: closed for today",
        ),
        ({}, "Operation stopped by hook", "A hook stopped the turn: a hook stopped the work"),
    ],
)
async def test_prompt_hook_may_end_the_turn_before_the_model_is_asked(
    tmp_path: Path, given: dict[str, str], text: str, notice: str
):
    async with hooked(tmp_path, []) as session:
        session.listen("UserPromptSubmit", {"continue": False, **given})
        outcome = await session.prompt()
    assert (outcome.reason, outcome.text, outcome.is_error) == ("hook_stopped", text, False)
    assert session.notices == [notice]


async def test_text_that_nobody_wrote_is_no_prompt_to_hooks(tmp_path: Path):
    async with hooked(tmp_path, [says("Noted.")]) as session:
        session.listen("UserPromptSubmit", {"decision": "block"})
        outcome = await session.prompt("a job has ended", meta=True)
    assert outcome.text == "Noted." and session.told == []


async def test_stop_hook_keeps_the_turn_going_and_sees_that_it_did(tmp_path: Path):
    def once(input: dict[str, Any]) -> Any:
        return None if input["stop_hook_active"] else {"decision": "block", "reason": "run the tests"}

    async with hooked(tmp_path, [says("Done."), says("Really done.")]) as session:
        session.listen("Stop", once)
        outcome = await session.prompt()
    assert outcome.text == "Really done."
    first, second = session.inputs("Stop")
    assert (first["stop_hook_active"], first["last_assistant_message"]) == (False, "Done.")
    assert (first["background_tasks"], first["session_crons"]) == ([], [])
    assert second["stop_hook_active"] is True
    assert "run the tests" in session.said_to_model()
    assert [event.synthetic for event in session.channel.of(UserTextAdded)] == [True]
    assert session.notices == ["A hook continued the turn: run the tests"]


async def test_context_of_a_stop_hook_keeps_the_turn_going_too(tmp_path: Path):
    said = iter([output("Stop", additionalContext="the linter complains"), None])
    async with hooked(tmp_path, [says("Done."), says("Fixed.")]) as session:
        session.listen("Stop", lambda _: next(said))
        outcome = await session.prompt()
    assert outcome.text == "Fixed." and "the linter complains" in session.said_to_model()


@pytest.mark.parametrize(("cap", "steps"), [(None, 9), ("2", 3)])
async def test_stop_hooks_keep_a_turn_going_only_so_often(tmp_path: Path, cap: str | None, steps: int):
    env = {} if cap is None else {"CLAUDE_CODE_STOP_HOOK_BLOCK_CAP": cap}
    async with hooked(tmp_path, [says("Done.")] * steps, env=env) as session:
        session.listen("Stop", {"decision": "block", "reason": "never enough"})
        outcome = await session.prompt()
    assert outcome.text == "Done." and len(session.inputs("Stop")) == steps
    limit = f"Stop hooks continued the turn {steps - 1} times, the limit. The turn ends."
    assert session.notices[-1] == limit


async def test_stop_hook_that_stops_has_the_last_word(tmp_path: Path):
    async with hooked(tmp_path, [says("Done.")]) as session:
        session.listen("Stop", {"continue": False, "stopReason": "enough", "decision": "block"})
        outcome = await session.prompt()
    assert (outcome.reason, outcome.is_error) == ("stop_hook_prevented", False)


async def test_fault_of_the_model_is_told_instead_of_the_stop(tmp_path: Path):
    fault = ProviderError("slow down", kind="rate_limit", status=429)
    async with hooked(tmp_path, [fault]) as session:
        session.listen("StopFailure", {"decision": "block"}, matcher="rate_limit")
        session.listen("StopFailure", matcher="overloaded")
        session.listen("Stop")
        outcome = await session.prompt()
    assert outcome.is_error
    (told,) = session.told
    assert (told["hook_event_name"], told["error"], told["error_details"]) == (
        "StopFailure", "rate_limit", "slow down",
    )  # fmt: skip


async def test_answer_that_keeps_hitting_its_limit_is_a_fault_to_hooks(tmp_path: Path):
    async with hooked(tmp_path, [says("more", stop_reason="max_tokens")] * 4) as session:
        session.listen("StopFailure")
        await session.prompt()
    (told,) = session.told
    assert (told["error"], told["last_assistant_message"]) == ("max_output_tokens", "more")


async def test_people_are_shown_what_a_display_hook_makes_of_the_text(tmp_path: Path):
    def shout(input: dict[str, Any]) -> Any:
        return output("MessageDisplay", displayContent=input["delta"].upper())

    async with hooked(tmp_path, [says("quiet")]) as session:
        session.listen("MessageDisplay", shout)
        outcome = await session.prompt(uuid="p-1")
    (told,) = session.told
    assert (told["turn_id"], told["index"], told["final"], told["delta"]) == ("p-1", 0, True, "quiet")
    (said,) = session.channel.of(AssistantReplied)
    assert said.display == "QUIET" and said.message["content"] == [{"type": "text", "text": "quiet"}]
    assert session.channel.of(TextDelta) == []
    assert outcome.text == "quiet"


async def test_display_hook_that_fails_leaves_the_text_as_it_is(tmp_path: Path):
    def fail(input: dict[str, Any]) -> Any:
        raise RuntimeError(input["delta"])

    async with hooked(tmp_path, [says("quiet")]) as session:
        session.listen("MessageDisplay", fail)
        await session.prompt()
    (said,) = session.channel.of(AssistantReplied)
    assert said.display == "quiet"


async def test_words_for_people_never_reach_the_model(tmp_path: Path):
    answer = {"systemMessage": "mind the gap", "suppressOutput": True, "terminalSequence": "\x1b]0;title\x07"}
    async with hooked(tmp_path, [says("Hello.")]) as session:
        session.listen("UserPromptSubmit", answer)
        await session.prompt()
    assert session.notices == ["mind the gap"]
    assert session.channel.of(Signalled) == [Signalled("\x1b]0;title\x07")]
    assert "mind the gap" not in session.said_to_model()


async def test_calls_of_one_answer_are_told_together_when_all_are_settled(tmp_path: Path):
    work = Workshop().tool("Work", parallel=True, waits=False)
    script = [says(calls("Work", name="a"), calls("Work", name="b", fail=True)), says("Done.")]
    async with hooked(tmp_path, script, work) as session:
        session.listen("PostToolBatch", output("PostToolBatch", additionalContext="both are in"))
        await session.prompt()
    (told,) = session.told
    assert told["tool_calls"] == [
        {
            "tool_name": "Work",
            "tool_input": {"name": "a"},
            "tool_use_id": "call-1",
            "tool_response": "a done",
        },
        {
            "tool_name": "Work",
            "tool_input": {"name": "b", "fail": True},
            "tool_use_id": "call-2",
            "tool_response": "b broke",
        },
    ]
    assert "both are in" in session.said_to_model()


async def test_batch_hook_may_end_the_turn(tmp_path: Path):
    work = Workshop().tool("Work", parallel=True, waits=False)
    async with hooked(tmp_path, [says(calls("Work", name="a"))], work) as session:
        session.listen("PostToolBatch", {"decision": "block", "reason": "look at this first"})
        outcome = await session.prompt()
    assert (outcome.reason, outcome.text, outcome.num_turns) == ("hook_stopped", "", 2)
    assert session.notices == ["A hook ended the turn after its calls: look at this first"]


async def test_answer_without_calls_is_no_batch(tmp_path: Path):
    async with hooked(tmp_path, [says("Hello.")]) as session:
        session.listen("PostToolBatch")
        await session.prompt()
    assert session.told == []


async def test_hook_that_somebody_waited_for_is_named(tmp_path: Path):
    settings = {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "sleep 0.6"}]}]}
    async with hooked(tmp_path, [says("Hello.")], settings=settings) as session:
        await session.prompt()
    assert any(text.startswith("The UserPromptSubmit hook took ") for text in session.all_notices)


async def test_everything_reaches_hooks_of_an_agent_with_its_name(tmp_path: Path):
    async with hooked(tmp_path, [says("Hello.")], channel=FakeChannel()) as session:
        session.listen("Stop", {"systemMessage": "heard"})
        hooks = session.hooks.for_agent("agent-7", "reviewer")
        session.runtime = msgspec.structs.replace(session.runtime, hooks=hooks)
        await session.prompt()
    (told,) = session.told
    assert (told["agent_id"], told["agent_type"]) == ("agent-7", "reviewer")
    assert session.notices == ["heard"]
