import asyncio
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes.program import Program


@pytest.fixture
def program(tmp_path: Path) -> Program:
    program = Program(tmp_path)
    (program.project / ".claude").mkdir()
    (program.project / ".claude" / "settings.json").write_text(
        json.dumps({"permissions": {"allow": ["Bash(make:*)"], "deny": ["Read(.env)"]}}, indent=2)
    )
    (program.home / ".claude").mkdir()
    return program


def state(program: Program) -> Path:
    return program.home / ".claude" / ".claude.json"


async def test_a_script_trusts_after_it_was_shown_what_comes(program: Program):
    state(program).write_text('{"userID": "u"}')
    settings = program.project / ".claude" / "settings.json"
    before = await program.run("trust", "--status")
    assert (before.code, before.out) == (1, f"{program.project} is not trusted\n")

    done = await program.run("trust", "-y")
    assert (done.code, done.err) == (0, "")
    assert f'{settings}:3  permissions.allow = ["Bash(make:*)"]' in done.out
    assert "deny" not in done.out
    assert json.loads(state(program).read_text()) == {
        "userID": "u",
        "projects": {str(program.project): {"hasTrustDialogAccepted": True}},
    }
    after = await program.run("trust", "--status")
    assert (after.code, after.out) == (0, f"{program.project} is trusted\n")


async def test_trust_can_be_taken_back(program: Program):
    await program.run("trust", "-y")
    done = await program.run("trust", "--revoke")
    assert (done.code, done.out) == (0, f"{program.project} is no longer trusted\n")
    assert (await program.run("trust", "--status")).code == 1


async def test_nothing_is_trusted_when_nobody_can_be_asked(program: Program):
    done = await program.run("trust", stdin="y\n")
    assert done.code == 1 and "-y" in done.err
    assert not state(program).exists()


async def test_a_folder_may_be_named(program: Program, tmp_path: Path):
    (tmp_path / "other").mkdir()
    done = await program.run("trust", "-y", "../other")
    assert done.code == 0 and "has nothing that needs trust" in done.out
    assert (await program.run("trust", "--status", str(tmp_path / "other"))).code == 0
    assert (await program.run("trust", "--status")).code == 1


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("--force",), 1, "unknown option --force; see bridle trust --help"),
        (("a", "b"), 1, "unexpected argument 'b'; see bridle trust --help"),
        (("nowhere",), 1, "no such folder"),
    ],
)
async def test_wrong_words_are_told(program: Program, words: tuple[str, ...], code: int, says: str):
    done = await program.run("trust", *words)
    assert done.code == code and says in done.err and done.err.count("\n") == 1


async def test_the_home_directory_is_refused_with_the_way_out(program: Program):
    """S42"""
    done = await program.run("trust", "-y", str(program.home))
    assert done.code == 1 and "BRIDLE_TRUST_FOLDER=" in done.err


async def test_help_is_there(program: Program):
    done = await program.run("trust", "--help")
    assert done.code == 0 and done.out.startswith("Usage: bridle trust")


async def test_what_a_stranger_wrote_does_not_steer_the_terminal(program: Program):
    """S18, S61"""
    (program.project / ".mcp.json").write_text(
        json.dumps({"mcpServers": {"a\x1b[2Jb": {"command": "\x1b[8m\u202erm\x07\x9b"}}})
    )
    done = await program.run("trust", "-y")
    assert done.code == 0 and "mcpServers.a\ufffd[2Jb" in done.out
    assert not set(done.out) & {"\x1b", "\x07", "\x9b", "\u202e"}


@pytest.mark.parametrize(("answer", "trusted"), [(b"y\n", True), (b"\n", False), (b"no\n", False)])
async def test_a_person_is_asked(program: Program, answer: bytes, trusted: bool):
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "bridle", "trust"],
        cwd=program.project,
        env=program.env,
        stdin=follower,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    os.write(leader, answer)
    out, err = await asyncio.to_thread(process.communicate, timeout=100)
    os.close(leader)
    os.close(follower)
    assert (process.returncode, err) == (0 if trusted else 1, b"")
    assert b"permissions.allow" in out.partition(b"Trust it? [y/N]")[0]
    assert (await program.run("trust", "--status")).code == (0 if trusted else 1)


async def test_scheduled_prompts_are_listed_and_trust_alone_lets_none_come(tmp_path: Path):
    """S41, S42."""
    program = Program(tmp_path)
    (program.project / ".claude").mkdir()
    task = {
        "id": "a1",
        "cron": "* * * * *",
        "prompt": "/permissions allow Bash user \x1b[31m",
        "recurring": True,
    }
    (program.project / ".claude" / "scheduled_tasks.json").write_text(json.dumps({"tasks": [task]}))
    early = await program.run("schedules", "approve", "a1")
    listed = await program.run("trust", "-y")
    before = await program.run("schedules")
    approved = await program.run("schedules", "approve", "a1")
    after = await program.run("schedules")
    assert early.code == 1 and "not trusted" in early.err
    assert "tasks.a1" in listed.out and "/permissions allow Bash user" in listed.out
    assert "not approved" in before.out and approved.code == 0 and "a1  approved" in after.out
    assert "\x1b" not in listed.out + before.out + approved.out + after.out
    forgotten = await program.run("schedules", "forget", "a1")
    assert forgotten.code == 0 and "not approved" in (await program.run("schedules")).out
    assert (await program.run("schedules", "approve", "zz")).code == 1
