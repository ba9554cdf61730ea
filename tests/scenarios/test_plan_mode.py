"""Plan mode from the question to the answer."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from bridle.engine.compaction.compact import compact
from bridle.engine.loop import run_turn
from bridle.engine.runtime import Runtime
from bridle.engine.turn import Turn
from bridle.features.plan_mode.answers import PlanChoice, answer_plan, implementation_prompt, start_afresh
from bridle.features.plan_mode.feature import PlanModeFeature
from bridle.features.plan_mode.planning import prompt_rules
from bridle.features.plan_mode.plans import LEFT, MARK, plan_path
from bridle.providers.scripted import ScriptedProvider, calls, says
from bridle.tools.enter_plan_mode import TOOL as ENTER
from bridle.tools.exit_plan_mode import TOOL as EXIT
from bridle.tools.files.write import TOOL as WRITE
from bridle.transcripts.session import Session
from bridle.types.event import ModeChanged, PermissionDenied, ToolFinished
from bridle.types.origin import TYPED
from bridle.types.question import Answer, PermissionQuestion, Permitted, Refused
from bridle.types.turn import Prompt
from tests.fakes.engine import FakeChannel, make_runtime, make_session
from tests.fakes.features import with_feature

PLAN = "1. Rename a to b.\n2. Run the tests."


class Planner(FakeChannel):
    """Answers a plan as somebody has chosen, and lets nothing else through."""

    def __init__(self, choice: PlanChoice = "accept_edits", feedback: str = "") -> None:
        super().__init__()
        self._choice: PlanChoice = choice
        self._feedback = feedback
        self.shown: list[PermissionQuestion] = []

    async def ask(self, question: Any) -> Answer:
        if isinstance(question, PermissionQuestion) and question.tool == "ExitPlanMode":
            self.shown.append(question)
            return answer_plan(question, self._choice, feedback=self._feedback).answer
        return await super().ask(question)


def _scene(
    folder: Path, script: list[Any], channel: FakeChannel
) -> tuple[Session, Runtime, ScriptedProvider]:
    session = make_session(mode="default")
    provider = ScriptedProvider(script)
    runtime = msgspec.structs.replace(
        make_runtime(folder, provider, WRITE, ENTER, EXIT, channel=channel),
        env={"CLAUDE_CONFIG_DIR": str(folder / "home")},
    )
    return session, runtime, provider


def _writes(path: str, text: str = PLAN) -> Any:
    return says(calls("Write", file_path=path, content=text))


@pytest.mark.parametrize(("choice", "mode"), [("accept_edits", "acceptEdits"), ("ask_each", "default")])
async def test_an_approved_plan_ends_plan_mode_in_the_mode_that_was_chosen(
    tmp_path: Path, choice: PlanChoice, mode: str
):
    channel = Planner(choice)
    path = plan_path("s1", str(tmp_path / "plans"))
    session, runtime, provider = _scene(
        tmp_path, [_writes(path), says(calls("ExitPlanMode")), says("At work.")], channel
    )
    session.swap(mode="plan")

    outcome = await run_turn(session, Prompt(content="rename", origin=TYPED), runtime)

    assert outcome.text == "At work."
    assert session.state.mode == mode
    assert channel.shown[0].input["plan"] == PLAN
    assert [event.mode for event in channel.of(ModeChanged)] == [mode]
    assert "Rename a to b" in str(provider.requests[2].messages[-1]["content"])
    assert MARK in str(provider.requests[0].messages[-1]["content"])


async def test_a_plain_approval_goes_back_to_the_mode_before(tmp_path: Path):
    channel = FakeChannel(Permitted())
    path = plan_path("s1", str(tmp_path / "plans"))
    session, runtime, _ = _scene(
        tmp_path, [_writes(path), says(calls("ExitPlanMode")), says("At work.")], channel
    )
    session.swap(mode="acceptEdits")
    session.swap(mode="plan")

    await run_turn(session, Prompt(content="rename", origin=TYPED), runtime)

    assert session.state.mode == "acceptEdits"


async def test_feedback_goes_to_the_model_and_planning_goes_on(tmp_path: Path):
    channel = Planner("keep_planning", "use c instead of b")
    path = plan_path("s1", str(tmp_path / "plans"))
    session, runtime, provider = _scene(
        tmp_path, [_writes(path), says(calls("ExitPlanMode")), says("Hm.")], channel
    )
    session.swap(mode="plan")

    await run_turn(session, Prompt(content="rename", origin=TYPED), runtime)

    assert session.state.mode == "plan"
    assert "use c instead of b" in str(provider.requests[2].messages[-1]["content"])


async def test_without_feedback_the_person_speaks_next(tmp_path: Path):
    path = plan_path("s1", str(tmp_path / "plans"))
    session, runtime, _ = _scene(
        tmp_path, [_writes(path), says(calls("ExitPlanMode"))], Planner("keep_planning")
    )
    session.swap(mode="plan")

    outcome = await run_turn(session, Prompt(content="rename", origin=TYPED), runtime)

    assert outcome.reason == "aborted_tools" and session.state.mode == "plan"


async def test_clearing_the_context_ends_the_turn_and_gives_the_first_prompt_of_the_next(tmp_path: Path):
    channel = Planner("clear_and_start")
    path = plan_path("s1", str(tmp_path / "plans"))
    session, runtime, _ = _scene(tmp_path, [_writes(path), says(calls("ExitPlanMode"))], channel)
    session.swap(mode="plan")

    outcome = await run_turn(session, Prompt(content="rename", origin=TYPED), runtime)

    assert outcome.is_error and outcome.reason == "aborted_tools"
    chosen = answer_plan(channel.shown[0], "clear_and_start")
    assert chosen.next_updates == ({"type": "setMode", "mode": "acceptEdits", "destination": "session"},)
    assert chosen.next_prompt == implementation_prompt(PLAN, path)


async def test_while_planning_only_the_plan_can_be_written(tmp_path: Path):
    channel = FakeChannel()
    path = plan_path("s1", str(tmp_path / "plans"))
    other = str(tmp_path / "code.py")
    session, runtime, _ = _scene(tmp_path, [_writes(path), _writes(other), says("Done.")], channel)
    session.swap(mode="plan")

    await run_turn(session, Prompt(content="rename", origin=TYPED), runtime)

    results = channel.of(ToolFinished)
    assert [bool(event.result.get("is_error")) for event in results] == [False, True]
    assert len(channel.of(PermissionDenied)) == 1
    assert Path(path).read_text() == PLAN and not Path(other).exists()


async def test_a_link_in_place_of_the_plan_is_no_way_out(tmp_path: Path):
    path = Path(plan_path("s1", str(tmp_path / "plans")))
    path.parent.mkdir()
    path.symlink_to(tmp_path / "target.md")
    (tmp_path / "target.md").write_text("untouched")
    session, runtime, _ = _scene(tmp_path, [_writes(str(path)), says("Done.")], FakeChannel())
    session.swap(mode="plan")

    await run_turn(session, Prompt(content="rename", origin=TYPED), runtime)

    assert (tmp_path / "target.md").read_text() == "untouched"


async def test_the_model_can_ask_to_plan_and_is_told_how(tmp_path: Path):
    session, runtime, provider = _scene(
        tmp_path, [says(calls("EnterPlanMode")), says("Planning.")], FakeChannel(Permitted())
    )

    await run_turn(session, Prompt(content="rename all", origin=TYPED), runtime)

    assert session.state.mode == "plan" and session.state.pre_plan_mode == "default"
    assert plan_path("s1", str(tmp_path / "plans")) in str(provider.requests[1].messages[-1]["content"])


async def test_a_refusal_to_plan_leaves_the_mode_as_it_is(tmp_path: Path):
    session, runtime, _ = _scene(
        tmp_path, [says(calls("EnterPlanMode")), says("Fine.")], FakeChannel(Refused(message="just do it"))
    )

    await run_turn(session, Prompt(content="rename all", origin=TYPED), runtime)

    assert session.state.mode == "default"


async def test_without_a_plan_the_user_is_asked_whether_to_leave_plan_mode(tmp_path: Path):
    channel = Planner()
    session, runtime, _ = _scene(tmp_path, [says(calls("ExitPlanMode")), says("Oh.")], channel)
    session.swap(mode="plan")

    await run_turn(session, Prompt(content="rename", origin=TYPED), runtime)

    assert [question.input.get("plan") for question in channel.shown] == [None]
    assert "agreed to leave plan mode without a plan" in str(channel.of(ToolFinished)[0].result["content"])
    assert session.state.mode != "plan"


async def test_reminders_are_full_once_then_short_and_say_when_planning_has_ended(tmp_path: Path):
    session, runtime, provider = _scene(tmp_path, [says(str(n)) for n in range(4)], FakeChannel())
    session.swap(mode="plan")
    for number in range(2):
        await run_turn(session, Prompt(content=str(number), origin=TYPED), runtime)
    session.swap(mode="default")
    for number in range(2):
        await run_turn(session, Prompt(content=str(number), origin=TYPED), runtime)

    last = [str(asked.messages[-1]["content"]) for asked in provider.requests]
    assert [MARK in text for text in last] == [True, True, True, False]
    assert "Make no changes now" in last[0] and "Make no changes now" not in last[1]
    assert LEFT in last[2]


async def test_the_plan_and_the_rules_survive_a_compaction(tmp_path: Path):
    path = plan_path("s1", str(tmp_path / "plans"))
    session, runtime, _ = _scene(
        tmp_path, [_writes(path), says("Ok."), says("<summary>Planned.</summary>")], FakeChannel()
    )
    session.swap(mode="plan")
    await run_turn(session, Prompt(content="rename", origin=TYPED), runtime)
    await compact(Turn(session, Prompt(content="", origin=TYPED), runtime), trigger="manual")

    said = msgspec.json.encode(session.history.messages).decode()
    assert "Rename a to b" in said and "Make no changes now" in said


async def test_what_a_plan_will_run_becomes_rules_of_the_session(tmp_path: Path):
    channel = Planner("ask_each")
    path = plan_path("s1", str(tmp_path / "plans"))
    wanted = [{"tool": "Bash", "prompt": "run the tests"}]
    session, runtime, _ = _scene(
        tmp_path, [_writes(path), says(calls("ExitPlanMode", allowedPrompts=wanted)), says("Go.")], channel
    )
    session.swap(mode="plan")

    await run_turn(session, Prompt(content="rename", origin=TYPED), runtime)

    assert [str(rule) for rule in session.state.rules] == ["Bash(prompt: run the tests)"]
    assert prompt_rules([]) is None


async def test_what_a_plan_will_run_is_allowed_in_the_conversation_that_carries_it_out(tmp_path: Path):
    wanted = [{"tool": "Bash", "prompt": "run the tests"}, {"tool": "Write", "prompt": "all"}, 7]
    question = PermissionQuestion(
        call_id="p", tool="ExitPlanMode", input={"plan": PLAN, "allowedPrompts": wanted}, reason="plan"
    )
    session, runtime, _ = _scene(tmp_path, [], FakeChannel())
    session.swap(mode="plan")

    await start_afresh(session, runtime, answer_plan(question, "clear_and_start"))

    assert session.state.mode == "acceptEdits"
    assert [str(rule) for rule in session.state.rules] == ["Bash(prompt: run the tests)"]


def test_what_a_plan_may_run_is_bounded():
    rules: Any = prompt_rules([{"tool": "Bash", "prompt": "run tests " * 100}] * 50)
    assert len(rules["rules"]) == 20
    assert all(len(rule["ruleContent"]) <= 220 for rule in rules["rules"])


async def test_another_model_answers_while_planning(tmp_path: Path):
    session, runtime, provider = _scene(tmp_path, [says("a"), says("b")], FakeChannel())
    runtime = with_feature(runtime, PlanModeFeature(str(tmp_path / "plans"), planner="big"))
    session.swap(mode="plan")
    await run_turn(session, Prompt(content="1", origin=TYPED), runtime)
    session.swap(mode="default")
    await run_turn(session, Prompt(content="2", origin=TYPED), runtime)

    assert [asked.model for asked in provider.requests] == ["big", "model-a"]
