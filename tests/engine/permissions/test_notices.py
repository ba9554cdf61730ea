"""The model is told under which permissions it works, and when they change."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bridle.engine.loop import run_turn
from bridle.engine.permissions.notices import MARK, PermissionNotices
from bridle.engine.runtime import ContextSources
from bridle.permissions.rules import parse
from bridle.providers.scripted import ScriptedProvider, says
from bridle.transcripts.session import Session
from bridle.types.origin import TYPED
from bridle.types.permission import Effect, Mode
from bridle.types.tool import Toolbox
from bridle.types.turn import Prompt
from bridle.types.workspace import Workspace
from tests.fakes.engine import make_runtime, make_session
from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.program import Program
from tests.fakes.tool_context import FakeTasks

_ALLOWED = (
    parse("Bash(npm test:*)", Effect.ALLOW),
    parse("Read(/x/**)", Effect.DENY),
    parse("Bash", Effect.DENY),
)


def _made(tmp_path: Path, *, attended: bool, mode: Mode = "default", **more: Any):
    session = make_session(mode=mode)
    workspace = Workspace(cwd=str(tmp_path), tasks=FakeTasks())
    return session, workspace, PermissionNotices(session, workspace, attended=attended, **more)


def test_where_somebody_can_be_asked_the_usual_state_is_not_told(tmp_path: Path):
    session, _, news = _made(tmp_path, attended=True)
    assert news.opening() is None and news.news(session) is None


@pytest.mark.parametrize(
    ("mode", "attended", "words"),
    [
        ("default", False, "everything else: denied (no one can approve)"),
        ("acceptEdits", False, "reads, edits and read-only commands are allowed"),
        ("acceptEdits", True, "everything else: needs approval"),
        ("dontAsk", True, "everything else: denied."),
        ("bypassPermissions", False, "every call runs without approval"),
        ("auto", True, "a reviewer decides"),
    ],
)
def test_the_mode_is_told_in_a_line(tmp_path: Path, mode: Mode, attended: bool, words: str):
    _, _, news = _made(tmp_path, attended=attended, mode=mode)
    text = news.opening()
    assert text is not None and text.startswith(f"{MARK}\nMode {mode}: ") and words in text
    assert len(text) < 160


def test_rules_are_told_without_tools_that_are_not_offered(tmp_path: Path):
    session, _, news = _made(tmp_path, attended=True)
    session.swap(rules=_ALLOWED)
    assert news.opening() == f"{MARK}\nAllowed: Bash(npm test:*)\nDenied: Read(/x/**)"


def test_many_rules_are_cut(tmp_path: Path):
    session, _, news = _made(tmp_path, attended=True)
    session.swap(rules=tuple(parse(f"Bash({'x' * 500}{n})", Effect.ALLOW) for n in range(500)))
    text = news.opening()
    # Rules that look the same when they are shortened are one.
    assert text is not None and len(text) < 200
    session.swap(rules=tuple(parse(f"Bash(run {n})", Effect.ALLOW) for n in range(500)))
    text = news.opening()
    assert text is not None and "and 480 more" in text and len(text) < 400


def test_each_change_is_told_once_and_in_a_line(tmp_path: Path):
    session, workspace, news = _made(tmp_path, attended=True)
    news.opening()
    session.swap(mode="acceptEdits", rules=_ALLOWED)
    workspace.roots = (*workspace.roots, "/extra")
    told = news.news(session)
    assert told is not None and "\n" not in told
    for words in (
        "mode acceptEdits",
        "now allowed Bash(npm test:*)",
        "now denied Read(/x/**)",
        "folder /extra",
    ):
        assert words in told
    assert news.news(session) is None
    session.swap(rules=_ALLOWED[1:])
    assert news.news(session) == "Permissions have changed: no longer allowed Bash(npm test:*)."


def test_plan_mode_has_reminders_of_its_own(tmp_path: Path):
    session, _, news = _made(tmp_path, attended=True)
    news.opening()
    session.swap(mode="plan")
    assert news.news(session) is None
    session.swap(mode="acceptEdits")
    told = news.news(session)
    assert told is not None and "mode acceptEdits" in told


def test_agents_and_bare_sessions_hear_nothing(tmp_path: Path):
    session, _, news = _made(tmp_path, attended=False, silent=True)
    assert news.opening() is None and news.news(session) is None
    _, _, other = _made(tmp_path, attended=False)
    assert other.news(session) is None


async def test_a_change_in_the_middle_reaches_the_next_request(tmp_path: Path):
    session, workspace, news = _made(tmp_path, attended=True)
    news.opening()
    provider = ScriptedProvider([says("One."), says("Two.")])

    def told(session: Session, toolbox: Toolbox) -> str | None:
        del toolbox
        return news.news(session)

    runtime = msgspec.structs.replace(
        make_runtime(tmp_path, provider), sources=ContextSources(news=told), workspace=workspace
    )
    await run_turn(session, Prompt(content="first", origin=TYPED), runtime)
    session.swap(mode="acceptEdits")
    await run_turn(session, Prompt(content="second", origin=TYPED), runtime)
    first, second = (json.dumps(request.messages[-1]) for request in provider.requests)
    assert "Permissions" not in first
    assert "Permissions have changed: mode acceptEdits" in second


async def test_a_continued_conversation_is_told_only_what_is_new(tmp_path: Path):
    async with MessagesServer([step("ok")] * 4) as server:
        program = Program(tmp_path, server.url)
        await program.run("-p", "one")
        await program.run("-p", "-c", "two")
        await program.run("-p", "-c", "three", "--allowedTools", "Bash(npm test:*)")
        await program.run("-p", "-c", "four", "--allowedTools", "Bash(npm test:*)")
    counts = [request.raw.count(MARK.encode()) for request in server.requests]
    assert counts == [1, 1, 2, 2]
    assert b"Allowed: Bash(npm test:*)" in server.requests[2].raw


async def test_folders_and_rules_of_the_command_line_stand_in_the_first_request(tmp_path: Path):
    extra = tmp_path / "extra"
    extra.mkdir()
    async with MessagesServer([step("ok")]) as server:
        await Program(tmp_path, server.url).run(
            "-p", "one", "--add-dir", str(extra), "--permission-mode", "acceptEdits",
            "--allowedTools", "Bash(git log:*)", "--disallowedTools", "Bash(git push:*)",
        )  # fmt: skip
    asked = server.requests[0].raw.decode()
    for words in ("Mode acceptEdits", "Allowed: Bash(git log:*)", "Denied: Bash(git push:*)", str(extra)):
        assert words in asked
