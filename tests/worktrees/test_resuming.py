"""A conversation goes on in the work tree in which it was left."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.program import Done, Program

_GIT = {
    "PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_NAME": "t",
    "GIT_AUTHOR_EMAIL": "t@t", "GIT_COMMITTER_NAME": "t", "GIT_COMMITTER_EMAIL": "t@t",
}  # fmt: skip


def _git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, env=_GIT, check=True, capture_output=True)


def _prepared(tmp_path: Path, url: str) -> Program:
    program = Program(tmp_path, url)
    _git(program.project, "init", "-q", "-b", "main")
    _git(program.project, "commit", "-q", "--allow-empty", "-m", "first")
    (program.home / ".claude").mkdir()
    trust = {"projects": {str(program.project): {"hasTrustDialogAccepted": True}}}
    (program.home / ".claude" / ".claude.json").write_text(json.dumps(trust))
    return program


def _use(number: int, tool: str, /, **input: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"toolu_{number}", "name": tool, "input": input}


def _cwd(done: Done) -> str:
    return next(frame for frame in done.frames if frame.get("subtype") == "init")["cwd"]


_FLAGS = (
    "--output-format", "stream-json", "--verbose", "--permission-mode", "acceptEdits", "--allowedTools",
    "EnterWorktree", "ExitWorktree",
)  # fmt: skip


async def test_a_resume_leads_back_to_the_tree(tmp_path: Path):
    steps = [
        step(_use(1, "EnterWorktree", name="side")),
        step(_use(2, "Write", file_path="kept.txt", content="x")),
        step("in the tree"),
        step(_use(3, "ExitWorktree", action="keep")),
        step("out again"),
        step("still out"),
    ]
    async with MessagesServer(steps) as server:
        program = _prepared(tmp_path, server.url)
        tree = program.project / ".claude" / "worktrees" / "side"
        await program.run("-p", "go", *_FLAGS)
        assert (tree / "kept.txt").exists()
        again = await program.run("-p", "go on", "--continue", *_FLAGS)
        assert (again.code, _cwd(again)) == (0, str(tree))
        last = await program.run("-p", "and now", "--continue", *_FLAGS)
        assert (last.code, _cwd(last)) == (0, str(program.project))
    assert (tree / "kept.txt").exists()


async def test_a_tree_that_is_gone_is_said_and_the_conversation_goes_on(tmp_path: Path):
    steps = [
        step(_use(1, "EnterWorktree", name="side")),
        step(_use(2, "Write", file_path="kept.txt", content="x")),
        step("in the tree"),
        step("in the project"),
    ]
    async with MessagesServer(steps) as server:
        program = _prepared(tmp_path, server.url)
        await program.run("-p", "go", *_FLAGS)
        _git(program.project, "worktree", "remove", "--force", ".claude/worktrees/side")
        again = await program.run("-p", "go on", "--continue", *_FLAGS)
    assert (again.code, _cwd(again)) == (0, str(program.project))
    assert "The conversation was in a worktree. It continues in" in again.err


async def test_a_fork_does_not_take_the_tree_along(tmp_path: Path):
    steps = [
        step(_use(1, "EnterWorktree", name="side")),
        step(_use(2, "Write", file_path="kept.txt", content="x")),
        step("in the tree"),
        step("a copy"),
    ]
    async with MessagesServer(steps) as server:
        program = _prepared(tmp_path, server.url)
        await program.run("-p", "go", *_FLAGS)
        fork = await program.run("-p", "go on", "--continue", "--fork-session", *_FLAGS)
    assert (fork.code, _cwd(fork)) == (0, str(program.project))
