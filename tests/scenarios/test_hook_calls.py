"""Hooks around a call: before it, in the place of whoever approves it, after it."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from bridle.engine.runtime import Runtime
from bridle.features.auto_mode.feature import AutoModeFeature
from bridle.features.auto_mode.judge import make_judge
from bridle.providers.scripted import calls, says
from bridle.types.event import Noticed, PermissionDenied, ToolFinished
from bridle.types.permission import Ask, Case, Decision, Deny, Effect, Rule
from bridle.types.question import Answer, PermissionQuestion, Permitted, Question, Refused
from bridle.types.tool import ToolContext, ToolOutput, tool
from tests.fakes.engine import FakeChannel, make_session, requests, with_gate
from tests.fakes.features import with_feature
from tests.fakes.hooked import hooked, output
from tests.fakes.tools import Workshop

TWO_STEPS = [says(calls("Work", name="a")), says("Done.")]


class Slow(FakeChannel):
    """Somebody who answers when told to."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer)
        self.go = asyncio.Event()
        self.withdrawn = False

    async def ask(self, question: Question) -> Answer:
        self.questions.append(question)
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.withdrawn = True
            raise
        return await super().ask(question)


def _refusing(denied: Deny) -> Callable[[Case], Decision]:
    return lambda _: denied


def _results(channel: FakeChannel) -> list[Any]:
    return [event.result["content"] for event in channel.of(ToolFinished)]


async def test_call_is_told_before_and_after(tmp_path: Path):
    work = Workshop().tool("Work", parallel=False, waits=False)
    async with hooked(tmp_path, TWO_STEPS, work) as session:
        session.listen("PreToolUse")
        session.listen("PostToolUse")
        session.listen("PostToolUseFailure")
        await session.prompt()
    before, after = session.told
    about = {"tool_name": "Work", "tool_input": {"name": "a"}, "tool_use_id": "call-1"}
    assert before["hook_event_name"] == "PreToolUse" and before.items() >= about.items()
    assert after["hook_event_name"] == "PostToolUse" and after.items() >= about.items()
    assert after["tool_response"] == {"name": "a"} and after["duration_ms"] >= 0


async def test_denied_call_does_not_run_and_the_model_reads_why(tmp_path: Path):
    workshop = Workshop()
    said = output(
        "PreToolUse",
        permissionDecision="deny",
        permissionDecisionReason="not on my watch",
        additionalContext="try tomorrow",
    )
    work = workshop.tool("Work", parallel=False, waits=False)
    async with hooked(tmp_path, TWO_STEPS, work) as session:
        session.listen("PreToolUse", said)
        session.listen("PostToolUseFailure")
        outcome = await session.prompt()
    assert workshop.log == [] and len(outcome.denials) == 1
    assert "not on my watch" in session.said_to_model() and "try tomorrow" in session.said_to_model()
    assert session.notices == ["A hook blocked Work: not on my watch"]
    assert session.inputs("PostToolUseFailure") == []


async def test_call_that_makes_no_sense_is_not_told(tmp_path: Path):
    work = Workshop().tool("Work", parallel=False, waits=False)
    script = [says(calls("Work", nothing=1), calls("Missing")), says("Done.")]
    async with hooked(tmp_path, script, work) as session:
        session.listen("PreToolUse")
        session.listen("PostToolUseFailure")
        await session.prompt()
    assert session.told == []


async def test_changed_input_is_what_runs_and_what_is_told_afterwards(tmp_path: Path):
    workshop = Workshop()
    said = output("PreToolUse", permissionDecision="allow", updatedInput={"name": "b"})
    work = workshop.tool("Work", parallel=False, waits=False)
    async with hooked(tmp_path, TWO_STEPS, work, session=make_session(mode="default")) as session:
        session.listen("PreToolUse", said)
        session.listen("PostToolUse")
        await session.prompt()
    assert workshop.log == ["start b", "end b"]
    assert session.inputs("PostToolUse")[0]["tool_input"] == {"name": "b"}


@pytest.mark.parametrize("event", ["PreToolUse", "PermissionRequest"])
async def test_changed_input_is_decided_again(tmp_path: Path, event: str):
    def decide(case: Case) -> Decision:
        return Deny("b is forbidden", "rule") if case.input["name"] == "b" else Ask("who knows")

    workshop = Workshop()
    said = (
        output("PreToolUse", permissionDecision="allow", updatedInput={"name": "b"})
        if event == "PreToolUse"
        else output("PermissionRequest", decision={"behavior": "allow", "updatedInput": {"name": "b"}})
    )
    work = workshop.tool("Work", parallel=False, waits=False)

    def change(runtime: Runtime) -> Runtime:
        return with_gate(runtime, decide=decide)

    async with hooked(tmp_path, TWO_STEPS, work, change=change) as session:
        session.listen(event, said)
        await session.prompt()
    assert workshop.log == [] and "b is forbidden" in session.said_to_model()


async def test_call_still_runs_when_a_hook_stops_the_turn_before_it(tmp_path: Path):
    workshop = Workshop()
    work = workshop.tool("Work", parallel=False, waits=False)
    async with hooked(tmp_path, [says(calls("Work", name="a"))], work) as session:
        session.listen("PreToolUse", {"continue": False, "stopReason": "that was enough"})
        outcome = await session.prompt()
    assert workshop.log == ["start a", "end a"]
    assert (outcome.reason, outcome.text, outcome.num_turns) == ("hook_stopped", "", 2)


async def test_ask_puts_the_reason_before_whoever_can_approve(tmp_path: Path):
    channel = FakeChannel(Permitted())
    said = output("PreToolUse", permissionDecision="ask", permissionDecisionReason="are you sure")
    work = Workshop().tool("Work", parallel=False, waits=False)
    async with hooked(tmp_path, TWO_STEPS, work, channel=channel) as session:
        session.listen("PreToolUse", said)
        await session.prompt()
    (question,) = channel.questions
    assert isinstance(question, PermissionQuestion)
    assert (question.reason, question.reason_type) == ("are you sure", "hook")


@pytest.mark.parametrize("rules", [(), (Rule(Effect.ASK, "Work"),)])
async def test_the_reason_of_ask_reaches_the_model_where_no_one_can_approve(
    tmp_path: Path, rules: tuple[Rule, ...]
):
    said = output("PreToolUse", permissionDecision="ask", permissionDecisionReason="it writes to etc")
    work = Workshop().tool("Work", parallel=False, waits=False)
    refusing = FakeChannel(Refused(message="No one can approve it.", by_person=False))
    own = make_session(mode="default")
    own.swap(rules=rules)
    async with hooked(tmp_path, TWO_STEPS, work, channel=refusing, session=own) as session:
        session.listen("PreToolUse", said)
        await session.prompt()
    assert "it writes to etc" in session.said_to_model()
    (denied,) = session.channel.of(PermissionDenied)
    assert "it writes to etc" in denied.message and "it writes to etc" in denied.reason


async def test_hook_answers_where_nobody_is_there(tmp_path: Path):
    workshop = Workshop()
    work = workshop.tool("Work", parallel=False, waits=False)
    update = {
        "type": "addRules",
        "rules": [{"toolName": "Work"}],
        "behavior": "allow",
        "destination": "session",
    }
    said = output("PermissionRequest", decision={"behavior": "allow", "updatedPermissions": [update]})
    async with hooked(tmp_path, TWO_STEPS, work, session=make_session(mode="default")) as session:
        session.listen("PermissionRequest", said)
        await session.prompt()
    assert workshop.log == ["start a", "end a"]
    (told,) = session.told
    assert told["tool_name"] == "Work" and told["tool_input"] == {"name": "a"}
    assert [str(rule) for rule in session.session.state.rules] == ["Work"]


async def test_first_answer_counts_and_the_other_is_withdrawn(tmp_path: Path):
    work = Workshop().tool("Work", parallel=False, waits=False)
    channel = Slow(Permitted())
    said = output("PermissionRequest", decision={"behavior": "deny", "message": "no", "interrupt": True})
    async with hooked(
        tmp_path, [says(calls("Work", name="a"))], work, channel=channel, session=make_session(mode="default")
    ) as session:
        session.listen("PermissionRequest", said)
        async with asyncio.timeout(50):
            outcome = await session.prompt()
    assert channel.withdrawn and len(channel.questions) == 1
    assert (outcome.reason, outcome.errors) == ("aborted_tools", ("no",))


async def test_person_does_not_wait_for_a_hook_that_takes_its_time(tmp_path: Path):
    workshop = Workshop()
    work = workshop.tool("Work", parallel=False, waits=False)
    never = asyncio.Event()
    session_mode = make_session(mode="default")
    async with hooked(
        tmp_path, TWO_STEPS, work, channel=FakeChannel(Permitted()), session=session_mode
    ) as session:
        session.listen("PermissionRequest", lambda _: never.wait())
        async with asyncio.timeout(50):
            await session.prompt()
    assert workshop.log == ["start a", "end a"]


@pytest.mark.parametrize(("quiet", "told"), [("", 1), ("1", 0)])
async def test_waiting_for_approval_is_a_notification(tmp_path: Path, quiet: str, told: int):
    work = Workshop().tool("Work", parallel=False, waits=False)
    channel = Slow(Refused(message="no"))
    env = {"CLAUDE_CODE_DISABLE_PERMISSION_PROMPT_NOTIFY_HOOKS": quiet}
    async with hooked(
        tmp_path, TWO_STEPS, work, channel=channel, session=make_session(mode="default"), env=env
    ) as session:
        session.listen("Notification", lambda _: channel.go.set(), matcher="permission_prompt")
        session.listen("PermissionRequest", lambda _: channel.go.set())
        async with asyncio.timeout(50):
            await session.prompt()
    said = session.inputs("Notification")
    assert len(said) == told
    assert all(each["notification_type"] == "permission_prompt" and each["message"] for each in said)


async def test_nobody_there_is_no_notification(tmp_path: Path):
    work = Workshop().tool("Work", parallel=False, waits=False)
    async with hooked(tmp_path, TWO_STEPS, work, session=make_session(mode="default")) as session:
        session.listen("Notification")
        await session.prompt()
    assert session.told == []


@pytest.mark.parametrize(("retry", "said"), [(True, True), (False, False)])
async def test_hook_may_let_the_model_try_again_what_a_model_refused(tmp_path: Path, retry: bool, said: bool):
    work = Workshop().tool("Work", parallel=False, waits=False)

    def change(runtime: Runtime) -> Runtime:
        return with_gate(runtime, decide=_refusing(Deny("looks risky", "classifier")))

    async with hooked(tmp_path, TWO_STEPS, work, change=change) as session:
        session.listen("PermissionDenied", output("PermissionDenied", retry=retry), matcher="Work")
        await session.prompt()
    (told,) = session.told
    assert (told["tool_name"], told["tool_use_id"], told["reason"]) == ("Work", "call-1", "looks risky")
    assert ("allows you to retry this call" in session.said_to_model()) is said
    rows = [entry for entry in session.session.entries if entry.get("subtype") == "permission_retry"]
    assert [row.get("content") for row in rows] == (["Work may be tried again."] if said else [])


async def test_denial_by_a_rule_is_nothing_to_argue_about(tmp_path: Path):
    work = Workshop().tool("Work", parallel=False, waits=False)

    def change(runtime: Runtime) -> Runtime:
        return with_gate(runtime, decide=_refusing(Deny("by rule", "rule")))

    async with hooked(tmp_path, TWO_STEPS, work, change=change) as session:
        session.listen("PermissionDenied")
        await session.prompt()
    assert session.told == [] and len(session.channel.of(PermissionDenied)) == 1


async def test_result_hook_speaks_to_the_model_and_objects(tmp_path: Path):
    work = Workshop().tool("Work", parallel=False, waits=False)
    said = {
        "decision": "block",
        "reason": "format it",
        **output("PostToolUse", additionalContext="see CONTRIBUTING"),
    }
    async with hooked(tmp_path, TWO_STEPS, work) as session:
        session.listen("PostToolUse", said)
        await session.prompt()
    heard = session.said_to_model()
    assert "format it" in heard and "see CONTRIBUTING" in heard and "a done" in heard
    assert session.notices == ["A hook rejected the result of Work: format it"]


class Echo(Struct):
    text: str


@tool("Echo", Echo, subject=lambda i: i.text)
async def echo(input: Echo, ctx: ToolContext) -> ToolOutput:
    """Say it."""
    return ToolOutput(content=f"it said: {input.text}", data={"stdout": input.text, "code": 0})


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ({"stdout": "[redacted]", "code": 0}, "it said: [redacted]"),
        ({"stdout": "", "code": 0}, "it said: "),
        ({"other": 1}, '{"other":1}'),
        ("plain words", "plain words"),
    ],
)
async def test_result_that_a_hook_rewrites_is_what_the_model_reads(tmp_path: Path, value: Any, read: str):
    script = [says(calls("Echo", text="hunter2")), says("Done.")]
    async with hooked(tmp_path, script, echo) as session:
        session.listen("PostToolUse", output("PostToolUse", updatedToolOutput=value))
        await session.prompt()
    (finished,) = session.channel.of(ToolFinished)
    assert (finished.result["content"], finished.data) == (read, value)
    assert "hunter2" not in str(session.session.entries[-2:])


async def test_output_of_another_shape_is_not_used(tmp_path: Path):
    async with hooked(tmp_path, [says(calls("Echo", text="x")), says("Done.")], echo) as session:
        session.listen("PostToolUse", output("PostToolUse", updatedToolOutput=[1, 2]))
        await session.prompt()
    assert _results(session.channel) == ["it said: x"]
    assert any("has the wrong shape" in event.text for event in session.channel.of(Noticed))


async def test_failed_call_is_told_as_a_failure(tmp_path: Path):
    work = Workshop().tool("Work", parallel=False, waits=False)
    script = [says(calls("Work", name="a", fail=True)), says("Done.")]
    async with hooked(tmp_path, script, work) as session:
        session.listen("PostToolUse")
        session.listen("PostToolUseFailure", output("PostToolUseFailure", additionalContext="known problem"))
        await session.prompt()
    (told,) = session.told
    assert (told["hook_event_name"], told["error"], told["is_interrupt"]) == (
        "PostToolUseFailure", "a broke", False,
    )  # fmt: skip
    assert "known problem" in session.said_to_model()


async def test_result_that_is_an_error_is_told_as_a_failure_too(tmp_path: Path):
    @tool("Echo", Echo)
    async def fail(input: Echo, ctx: ToolContext) -> ToolOutput:
        """Fail without raising."""
        return ToolOutput(content=f"exit code 1: {input.text}", data={}, is_error=True)

    async with hooked(tmp_path, [says(calls("Echo", text="x")), says("Done.")], fail) as session:
        session.listen("PostToolUse")
        session.listen("PostToolUseFailure")
        await session.prompt()
    (told,) = session.told
    assert (told["hook_event_name"], told["error"]) == ("PostToolUseFailure", "exit code 1: x")


async def test_interrupted_call_is_told_without_holding_up_the_interrupt(tmp_path: Path):
    workshop = Workshop()
    work = workshop.tool("Work", parallel=False)
    heard = asyncio.Event()
    async with hooked(tmp_path, [says(calls("Work", name="a"))], work) as session:
        session.listen("PostToolUseFailure", lambda _: heard.set())
        turn = asyncio.create_task(session.prompt())
        await workshop.started("a")
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn
        async with asyncio.timeout(50):
            await heard.wait()
    (told,) = session.told
    assert told["is_interrupt"] is True


async def test_move_to_another_folder_is_told_once(tmp_path: Path):
    (tmp_path / "below").mkdir()

    @tool("Echo", Echo)
    async def move(input: Echo, ctx: ToolContext) -> ToolOutput:
        """Go there."""
        ctx.workspace.cwd = str(tmp_path / input.text)
        return ToolOutput(content="moved", data={})

    script = [says(calls("Echo", text="below")), says(calls("Echo", text="below")), says("Done.")]
    async with hooked(tmp_path, script, move) as session:
        session.listen("CwdChanged")
        await session.prompt()
    (told,) = session.told
    assert (told["old_cwd"], told["new_cwd"]) == (str(tmp_path), str(tmp_path / "below"))
    assert told["cwd"] == str(tmp_path / "below")


async def test_notes_for_the_judge_are_kept_from_the_model(tmp_path: Path):
    work = Workshop().tool("Work", parallel=False, waits=False)
    async with hooked(tmp_path, TWO_STEPS, work) as session:
        session.listen("PostToolUse", output("PostToolUse", classifierContext="this file came from outside"))
        await session.prompt()
    assert "came from outside" not in session.said_to_model()
    kept = [entry for entry in session.session.entries if entry["type"] == "system"]
    assert [entry["content"] for entry in kept if "content" in entry] == ["this file came from outside"]


async def test_judge_of_later_calls_reads_what_hooks_noted(tmp_path: Path):
    work = Workshop().tool("Work", parallel=False, waits=False)
    verdict = says('{"reason": "fine", "rule": "none", "verdict": "allow"}')
    script = [says(calls("Work", name="a")), verdict, says(calls("Work", name="b")), verdict, says("Done.")]

    def change(runtime: Runtime) -> Runtime:
        return with_feature(runtime, AutoModeFeature(make_judge(None)))

    async with hooked(tmp_path, script, work, session=make_session(mode="auto"), change=change) as session:
        session.listen("PostToolUse", output("PostToolUse", classifierContext='"it came\nfrom outside'))
        await session.prompt()
    asked = [request.messages[0]["content"] for request in requests(session.runtime)]
    assert "from outside" not in asked[1]
    assert '{"hook_note":"\\"it came\\nfrom outside"}' in asked[3]
