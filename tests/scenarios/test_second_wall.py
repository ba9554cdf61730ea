"""S10, S15: where the gate errs, the kernel refuses, and the command is asked about instead."""

import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
import pytest_asyncio

from bridle.engine.loop import run_turn
from bridle.engine.runtime import Runtime
from bridle.host.background import BackgroundShells
from bridle.host.wall.probe import means
from bridle.permissions.policy import decide
from bridle.permissions.rules import parse
from bridle.providers.scripted import calls, says
from bridle.tools.shell.bash import TOOL as BASH
from bridle.tools.tasks.task_output import TOOL as TASK_OUTPUT
from bridle.types.event import Noticed, PermissionDenied, ToolFinished
from bridle.types.origin import TYPED
from bridle.types.permission import Allow, Case, Decision, Effect, Judged, Mode, Rule
from bridle.types.question import Answer, PermissionQuestion, Permitted, Question, Refused
from bridle.types.services.tasks import Task
from bridle.types.turn import Outcome, Prompt
from bridle.types.workspace import Workspace
from tests.fakes.engine import FakeChannel, make_runtime, make_session, with_gate


class Answering(FakeChannel):
    """Gives the same answer to every question."""

    def __init__(self, answer: Answer) -> None:
        super().__init__()
        self._answer = answer

    async def ask(self, question: Question) -> Answer:
        self.questions.append(question)
        return self._answer


class Session:
    """A project whose gate takes every command for harmless."""

    def __init__(self, path: Path) -> None:
        self.project = path / "project"
        self.project.mkdir()
        (self.project / "a.txt").write_text("one\n")
        self.log = path / "home" / ".claude" / "bridle" / "gate-defects.jsonl"
        self.tasks: list[Task] = []
        self.shells = BackgroundShells(str(path / "storage"), on_change=self.tasks.append)
        self._workspace = Workspace(str(self.project), tasks=self.shells)
        self._env = {"HOME": str(path / "home"), "PATH": "/usr/bin:/bin", "API_TOKEN": "canary-token-1"}

    async def run(
        self,
        channel: FakeChannel,
        *steps: Any,
        mode: Mode = "default",
        judged: Judged = "read",
        rules: tuple[Rule, ...] = (),
        change: Callable[[Runtime], Runtime] = lambda runtime: runtime,
    ) -> Outcome:
        runtime = make_runtime(
            self.project, [*(says(step) for step in steps), says("ok")], BASH, TASK_OUTPUT, channel=channel
        )
        runtime = msgspec.structs.replace(runtime, workspace=self._workspace, env=self._env)
        runtime = with_gate(runtime, decide=_erring(judged))
        session = make_session(mode=mode)
        session.swap(rules=rules)
        return await run_turn(session, Prompt(content="go", origin=TYPED), change(runtime))


def _erring(judged: Judged) -> Callable[[Case], Decision]:
    """A gate with a hole for every command."""

    def erring(case: Case) -> Decision:
        return Allow("it looks harmless", judged=judged) if case.tool == "Bash" else decide(case)

    return erring


@pytest_asyncio.fixture
async def session(tmp_path: Path) -> AsyncIterator[Session]:
    if not means().landlock:
        pytest.skip("this kernel has no Landlock")
    made = Session(tmp_path)
    yield made
    await made.shells.close()


def bash(command: str, **more: Any) -> Any:
    return calls("Bash", command=command, **more)


def results(channel: FakeChannel) -> list[tuple[bool, str]]:
    return [
        (bool(event.result.get("is_error")), str(event.result.get("content")))
        for event in channel.of(ToolFinished)
    ]


async def test_a_refused_command_is_asked_about_and_runs_again_when_approved(session: Session):
    channel = Answering(Permitted())
    outcome = await session.run(channel, bash("touch pwned && echo done"))
    (question,) = channel.questions
    assert isinstance(question, PermissionQuestion)
    assert question.input == {"command": "touch pwned && echo done"}
    assert f"tried to write {session.project / 'pwned'}" in question.reason
    assert question.reason_type == "safetyCheck"
    assert results(channel) == [(False, "done")]
    assert (session.project / "pwned").exists()
    assert outcome.denials == ()


@pytest.mark.parametrize("mode", ["default", "dontAsk", "plan", "acceptEdits"])
async def test_a_refused_command_is_denied_when_no_one_approves(session: Session, mode: Mode):
    channel = FakeChannel()
    outcome = await session.run(channel, bash("touch pwned"), mode=mode)
    ((failed, said),) = results(channel)
    assert failed and f"tried to write {session.project / 'pwned'}" in said
    assert not (session.project / "pwned").exists()
    assert len(outcome.denials) == 1 and len(channel.of(PermissionDenied)) == 1


async def test_a_person_may_say_no(session: Session):
    channel = Answering(Refused(message="No, leave that."))
    await session.run(channel, bash("touch pwned"))
    ((failed, said),) = results(channel)
    assert failed and "No, leave that." in said and not (session.project / "pwned").exists()


async def test_the_case_is_kept_for_a_report_without_secrets(session: Session):
    channel = FakeChannel()
    await session.run(channel, bash("echo canary-token-1 > pwned"))
    (line,) = session.log.read_text().splitlines()
    case = json.loads(line)
    assert case["judged"] == "read" and case["command"] == "echo … > pwned" and case["call"] == "openat"
    assert case["refused"] == f"write {session.project / 'pwned'}"
    assert "canary-token-1" not in session.log.read_text()
    assert oct(session.log.stat().st_mode & 0o777) == "0o600"
    (notice,) = channel.of(Noticed)
    assert str(session.log) in notice.text and "bridle docs reporting" in notice.text


async def test_a_command_that_did_too_much_is_asked_about_before_it_runs_again(session: Session):
    channel = FakeChannel()
    await session.run(channel, bash("touch pwned"), bash("touch pwned"))
    assert [question.reason for question in channel.questions if isinstance(question, PermissionQuestion)][
        1
    ].startswith("the last time it ran")
    assert len(session.log.read_text().splitlines()) == 1


async def test_a_background_command_is_ended_and_told_of(session: Session):
    channel = FakeChannel()
    start = bash("sleep 0.1; touch pwned; echo more", run_in_background=True)
    await session.run(channel, start)
    (task,) = session.shells.all()
    ended = await session.shells.wait(task.id, 20)
    assert ended.status == "failed" and not (session.project / "pwned").exists()
    assert f"tried to write {session.project / 'pwned'}" in Path(task.output_file).read_text()
    assert len(session.log.read_text().splitlines()) == 1
    again = FakeChannel()
    await session.run(again, start)
    assert len(again.questions) == 1


async def test_an_edit_beyond_the_working_folders_is_asked_about(session: Session):
    channel = FakeChannel()
    await session.run(channel, bash("touch b && mkdir .git && touch .git/config"), judged="edit")
    assert (session.project / "b").exists() and not (session.project / ".git").exists()
    assert len(channel.questions) == 1


async def test_what_something_else_allowed_is_not_held(session: Session):
    channel = FakeChannel()
    await session.run(channel, bash("touch mine && echo $API_TOKEN"), judged="")
    assert results(channel) == [(False, "canary-token-1")]
    assert (session.project / "mine").exists()


async def test_a_failed_read_leaves_the_folder_where_the_command_began(session: Session):
    (session.project / "sub").mkdir()
    secret = session.project.parent / "secret"
    secret.write_text("read")
    (session.project / "sub" / "link").symlink_to(secret)
    channel = Answering(Permitted())
    await session.run(channel, bash("cd sub && cat $(echo link)"))
    assert len(channel.questions) == 1
    assert results(channel) == [(False, "read")]


async def test_a_file_that_a_rule_keeps_from_being_read_is_asked_about(session: Session):
    (session.project / ".env").write_text("canary-closed\n")
    (session.project / "link").symlink_to(".env")
    channel = FakeChannel()
    rule = parse("Read(./.env)", Effect.DENY, "projectSettings")
    commands = ["sort < .env", "cat link", "grep -r canary ."]
    await session.run(channel, *map(bash, commands), rules=(rule,))
    for failed, said in results(channel):
        assert failed and "canary-closed" not in said
        assert f"tried to read {session.project / '.env'}" in said
