"""Auto mode while planning, and what is said when somebody switches to it."""

import json
from pathlib import Path
from typing import Any

import pytest

from bridle.engine.permissions.grants import grant
from bridle.engine.turn import Turn
from bridle.features.auto_mode.judge import make_judge
from bridle.permissions.auto.review import planning_doubt
from bridle.permissions.preparation import CallRequest, SessionPosition, prepare
from bridle.permissions.rules import parse
from bridle.providers.scripted import says
from bridle.types.event import Noticed
from bridle.types.origin import TYPED
from bridle.types.permission import Allow, Ask, Case, Decision, Effect
from bridle.types.turn import Prompt
from tests.fakes.engine import FakeChannel, make_runtime, make_session, requests, with_gate


def _turn(folder: Path, *verdicts: str) -> Turn:
    script: list[Any] = [
        says(json.dumps({"reason": "It looks.", "rule": "none", "verdict": verdict})) for verdict in verdicts
    ]
    runtime = make_runtime(folder, script)
    runtime = with_gate(runtime, modes=("default", "plan", "auto"))
    return Turn(make_session(mode="plan"), Prompt(content="Plan.", origin=TYPED), runtime)


def _case(turn: Turn) -> Case:
    here = turn.runtime.workspace.cwd
    standing = SessionPosition(
        mode="plan", cwd=here, start=here, home=here, config_home=f"{here}/.claude", attended=True
    )
    return prepare(CallRequest(tool="Bash", input={"command": "npm ls"}, subject="npm ls"), standing)


async def _judged(turn: Turn, *, during_plan: bool = True) -> Decision:
    case = _case(turn)
    doubt = planning_doubt(case, turn.runtime.gate.decide(case))
    assert doubt is not None
    return await make_judge(None, during_plan=during_plan)(turn, case, doubt)


async def test_a_command_that_only_looks_runs_while_planning(tmp_path: Path):
    turn = _turn(tmp_path, "allow")
    assert await _judged(turn) == Allow("auto mode: It looks", "classifier")
    assert "Plan mode:" in requests(turn.runtime)[0].system[0]["text"]


@pytest.mark.parametrize("verdict", ["ask", "deny"])
async def test_all_but_a_clear_yes_leaves_the_question_to_a_person(tmp_path: Path, verdict: str):
    assert isinstance(await _judged(_turn(tmp_path, verdict)), Ask)


async def test_nobody_is_asked_when_the_setting_or_the_model_rules_it_out(tmp_path: Path):
    turn = _turn(tmp_path)
    assert isinstance(await _judged(turn, during_plan=False), Ask)
    turn = Turn(turn.session, turn.prompt, with_gate(turn.runtime, modes=("default", "plan")))
    assert isinstance(await _judged(turn), Ask)


async def test_switching_to_auto_mode_by_an_answer_names_the_rules_that_do_not_count(tmp_path: Path):
    channel = FakeChannel()
    runtime = with_gate(make_runtime(tmp_path, [], channel=channel), modes=("default", "auto"))
    session = make_session()
    session.swap(rules=(parse("Bash(python:*)", Effect.ALLOW),))
    turn = Turn(session, Prompt(content="x", origin=TYPED), runtime)
    await grant(turn, [{"type": "setMode", "mode": "auto", "destination": "session"}])
    (notice,) = channel.of(Noticed)
    assert "Bash(python:*)" in notice.text
    assert session.state.mode == "auto"
