"""Questions of teammates in processes of their own: asked at the leader's, answered once, never lost."""

import json
from pathlib import Path
from typing import Any

import pytest

from bridle.features.teams.questions import Questions
from bridle.host.sandbox.bubblewrap import find_bubblewrap
from bridle.types.question import NetworkQuestion, Permitted, Refused
from tests.fakes.host import FakeHost
from tests.fakes.messages_server import step
from tests.fakes.processes import eventually, is_running
from tests.fakes.teammates import HELPER, Leader, by_helper, hire, leader, said_to, use
from tests.fakes.tmux import needs_tmux

_STDIO = ("--permission-prompt-tool", "stdio")
_MAKE = use("Bash", 9, command="touch made", description="Make a file")


def _script(*more: Any) -> list[Any]:
    return [by_helper(_MAKE), by_helper("done"), *more, step(hire()), step("ok", repeat=True)]


@needs_tmux
async def test_the_leader_is_asked_and_its_answer_lets_the_call_run(tmp_path: Path):
    async with leader(tmp_path, _script(), *_STDIO) as made:
        made.prompt("go")
        asked = await made.asked()
        assert not (made.program.project / "made").exists()
        made.answer(asked, {"behavior": "allow", "updatedInput": asked["request"]["input"]})
        await made.task()
        await made.close()
    assert asked["request"]["input"]["command"] == "touch made"
    task = next(frame["task_id"] for frame in made.frames if frame.get("subtype") == "task_started")
    assert asked["request"]["agent_id"] == task
    assert (made.program.project / "made").exists()
    # Its events are reported like those of any agent.
    assert [frame["type"] for frame in made.frames if frame.get("parent_tool_use_id")] == [
        "assistant",
        "user",
    ]
    assert len(_questions(made)) == 1
    assert not list((made.transcripts()[0].parent).rglob("questions/*/*.json"))


@needs_tmux
async def test_a_refusal_of_the_leader_reaches_the_teammate(tmp_path: Path):
    async with leader(tmp_path, _script(), *_STDIO) as made:
        made.prompt("go")
        asked = await made.asked()
        made.answer(asked, {"behavior": "deny", "message": "NOT-TODAY"})
        await made.task()
        await made.close()
    assert "NOT-TODAY" in json.dumps(made.bodies(helpers=True)[-1]["messages"])
    assert not (made.program.project / "made").exists()


@needs_tmux
async def test_the_user_at_the_pane_may_answer_and_the_leader_is_asked_no_more(tmp_path: Path):
    async with leader(tmp_path, _script(), *_STDIO) as made:
        made.prompt("go")
        asked = await made.asked()
        await _agree_at_the_pane(made)
        await made.until(
            lambda frame: (
                frame["type"] == "control_cancel_request" and frame["request_id"] == asked["request_id"]
            )
        )
        made.answer(asked, {"behavior": "deny", "message": "TOO-LATE"})
        await made.task()
        await made.close()
    assert (made.program.project / "made").exists()
    assert "TOO-LATE" not in json.dumps(made.bodies(helpers=True)[-1]["messages"])


async def _agree_at_the_pane(made: Leader) -> None:
    """A dialog takes no keys until the user has not typed for a moment, and says when it does."""
    await made.screen(holds="to choose")
    await made.tmux("send-keys", "-t", "bridle-blue", "Enter")
    await eventually((made.program.project / "made").exists)


@needs_tmux
async def test_a_rule_that_is_agreed_to_for_one_spares_the_others_the_question(tmp_path: Path):
    script = [
        said_to("ann", _MAKE),
        said_to("ann", "done"),
        said_to("bob", use("Bash", 8, command="touch made again", description="Once more")),
        said_to("bob", "done"),
        step(hire("ann", 1), when="first"),
        step(hire("bob", 2, "JOB-BOB"), when="then bob"),
        step("ok", repeat=True),
    ]
    rules = [{"toolName": "Bash", "ruleContent": "touch *"}]
    update = {"type": "addRules", "rules": rules, "behavior": "allow", "destination": "session"}
    async with leader(tmp_path, script, *_STDIO) as made:
        made.prompt("first")
        asked = await made.asked()
        answer = {"behavior": "allow", "updatedInput": asked["request"]["input"]}
        made.answer(asked, {**answer, "updatedPermissions": [update]})
        await made.task()
        made.prompt("then bob")
        await made.task()
        await made.close()
    assert (made.program.project / "again").exists()
    assert len(_questions(made)) == 1


@needs_tmux
async def test_a_question_outlives_a_killed_leader_and_is_answered_by_the_next(tmp_path: Path):
    async with leader(tmp_path, _script(), *_STDIO) as made:
        made.prompt("go")
        asked = await made.asked()
        pid = (await made.pids())["ann"]
        made.process.kill()
        await made.process.wait()
        flags = ("--agents", json.dumps(HELPER), "--teammate-mode", "tmux", *_STDIO)
        session = next(frame["session_id"] for frame in made.frames if "session_id" in frame)
        async with FakeHost(made.program, *flags, "--resume", session) as again:
            once_more = await again.asked()
            assert once_more["request"]["input"] == asked["request"]["input"]
            assert is_running(pid)
            again.answer(once_more, {"behavior": "allow", "updatedInput": asked["request"]["input"]})
            await again.until(lambda frame: frame.get("subtype") == "task_notification")
            await again.close()
        assert (made.program.project / "made").exists()
        await eventually(lambda: not is_running(pid))


@needs_tmux
async def test_without_a_leader_the_pane_asks_and_the_report_waits_for_the_next(tmp_path: Path):
    async with leader(tmp_path, _script(), *_STDIO) as made:
        made.prompt("go")
        await made.asked()
        pid = (await made.pids())["ann"]
        made.process.kill()
        await made.process.wait()
        await _agree_at_the_pane(made)
        await eventually(lambda: not is_running(pid))
        (letter,) = made.transcripts()[0].parent.rglob("mail/main/*.json")
    assert (json.loads(letter.read_text())["sender"], json.loads(letter.read_text())["text"]) == (
        "ann",
        "done",
    )


def _questions(made: Leader) -> list[Any]:
    return [
        frame
        for frame in made.frames
        if frame["type"] == "control_request" and frame["request"]["subtype"] == "can_use_tool"
    ]


def test_of_two_answers_to_a_question_the_first_counts(tmp_path: Path):
    questions = Questions(str(tmp_path), "a1")
    key = questions.put(NetworkQuestion(host="example.org", port=443))
    assert [each.id for each in questions.waiting()] == [key]
    assert questions.settle(key, Permitted()) is True
    assert questions.settle(key, Refused(message="no")) is False
    assert questions.answer_to(key) == Permitted()
    assert questions.waiting() == []
    questions.remove(key)
    assert questions.settle(key, Permitted()) is False
    assert list((tmp_path / "questions" / "a1").iterdir()) == []


@needs_tmux
@pytest.mark.skipif(find_bubblewrap(None) is None, reason="bubblewrap is not installed")
async def test_a_teammate_is_confined_like_its_leader_who_decides_what_it_may_reach(tmp_path: Path):
    command = f"curl -sS http://far.example/; touch {tmp_path}/outside"
    reach = use("Bash", 9, command=command, description="Look")
    script = [by_helper(reach), by_helper("done"), step(hire()), step("ok", repeat=True)]
    settings = {"sandbox": {"enabled": True}}
    async with leader(tmp_path, script, *_STDIO, settings=settings) as made:
        made.prompt("go")
        asked = await made.asked()
        made.answer(asked, {"behavior": "deny", "message": "not there"})
        await made.task()
        await made.close()
    assert (asked["request"]["tool_name"], asked["request"]["input"]) == (
        "SandboxNetworkAccess", {"host": "far.example"},
    )  # fmt: skip
    assert "Read-only file system" in json.dumps(made.bodies(helpers=True)[-1]["messages"])
