"""A leader and its teammates side by side in a real terminal."""

import json
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.fakes.messages_server import MessagesServer, Script, step
from tests.fakes.processes import eventually
from tests.fakes.program import Program
from tests.fakes.repositories import repository
from tests.fakes.teammates import HELPER, by_helper, hire, use
from tests.fakes.terminal import PtyProgram
from tests.fakes.tmux import Tmux, needs_tmux, tmux_with
from tests.frontends.tui.app.session import QUIET, READY

pytestmark = needs_tmux


@asynccontextmanager
async def _at_the_terminal(
    folder: Path, script: Script, *flags: str, **env: str
) -> AsyncGenerator[tuple[Tmux, MessagesServer]]:
    async with MessagesServer(script) as server:
        program = Program(folder, server.url, CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS="1", **QUIET, **env)
        (program.home / ".claude").mkdir(exist_ok=True)
        program.env["BRIDLE_TRUST_FOLDER"] = str(program.project)
        argv = [sys.executable, "-m", "bridle", "--agents", json.dumps(HELPER), *flags]
        async with tmux_with(folder, argv, size=(180, 45), env=program.env, cwd=program.project) as tmux:
            yield tmux, server


async def test_a_teammate_opens_beside_its_leader_who_sees_by_name_who_asks(tmp_path: Path):
    script = [
        by_helper(use("Bash", 9, command="touch made", description="Make a file")),
        by_helper("I made it."),
        step(hire()),
        step("ok", repeat=True),
    ]
    async with _at_the_terminal(tmp_path, script, "--teammate-mode", "auto") as (tmux, _):
        await tmux.until(lambda rows: any(READY in row for row in rows))
        await tmux.type("go please")
        await tmux.until(lambda rows: any("go please" in row for row in rows))
        await tmux.press("Enter")
        await tmux.until(lambda rows: any("ann: Run a command?" in row for row in rows))
        await tmux.until(lambda rows: any("to choose" in row for row in rows))
        await tmux.press("Enter")
        await eventually((tmp_path / "project" / "made").exists)
        await tmux.until(lambda rows: any("completed" in row for row in rows))
        titles = (await tmux.run("list-panes", "-F", "#{pane_title}")).splitlines()
        assert len(titles) == 2 and "ann" in titles
        await tmux.type("/tasks")
        await tmux.until(lambda rows: any("/tasks" in row for row in rows))
        await tmux.press("Enter")
        await tmux.until(lambda rows: any("ann: d" in row and "idle" in row for row in rows))


async def test_a_work_tree_begins_in_a_tmux_session_of_its_name(tmp_path: Path):
    repository(tmp_path / "project", readme="Hello.")
    flags = ("--worktree", "feature", "--tmux", "say where you are")
    async with _at_the_terminal(tmp_path, [step("I AM HERE", repeat=True)], *flags) as (tmux, server):
        await eventually(lambda: server.requests)
        folder = tmp_path / "project" / ".claude" / "worktrees" / "feature"
        (asked,) = [each for each in server.requests if b"say where you are" in each.raw]
        assert f"Working directory: {folder}" in asked.raw.decode()
        sessions = (await tmux.run("list-sessions", "-F", "#{session_name}")).split()
        assert "bridle-feature" in sessions
        home = tmp_path / "home" / ".claude" / "bridle"
        assert not list((home / "starts").iterdir())
        assert b"test-key" not in _command_lines()


def _command_lines() -> bytes:
    found: list[bytes] = []
    for entry in Path("/proc").iterdir():
        try:
            found.append((entry / "cmdline").read_bytes() if entry.name.isdecimal() else b"")
        except OSError:
            continue
    return b"".join(each for each in found if b"--handed-over" in each)


async def test_outside_of_tmux_the_session_is_attached_to_and_found_again(tmp_path: Path):
    repository(tmp_path / "project", readme="Hello.")
    async with MessagesServer([step("I AM HERE", repeat=True)]) as server:
        # Sockets have short names, and the folders of tests long ones.
        with tempfile.TemporaryDirectory(prefix="bt-") as rooms:
            program = Program(tmp_path, server.url, **QUIET, TMUX_TMPDIR=rooms, TERM="xterm-256color")
            program.env.pop("TMUX", None)
            program.env["BRIDLE_TRUST_FOLDER"] = str(program.project)
            argv = [sys.executable, "-m", "bridle", "-w", "feature", "--tmux=classic", "where are you"]
            try:
                for _ in range(2):
                    terminal = PtyProgram(argv, size=(100, 30), env=program.env, cwd=program.project)
                    async with terminal:
                        await terminal.until_text("I AM HERE")
            finally:
                subprocess.run(["tmux", "kill-server"], env=program.env, check=True)
        asked = [each for each in server.requests if b"where are you" in each.raw]
    assert len(asked) == 1


async def test_tmux_needs_a_terminal(tmp_path: Path):
    done = await Program(tmp_path).run("-p", "hi", "--worktree", "--tmux")
    assert (done.code, done.err) == (
        1, "error: --tmux needs a terminal: leave it out in print mode and in pipes\n",
    )  # fmt: skip


async def test_tmux_needs_a_work_tree(tmp_path: Path):
    program = Program(tmp_path)
    argv = [sys.executable, "-m", "bridle", "--tmux"]
    async with PtyProgram(argv, size=(100, 30), env=program.env, cwd=program.project) as terminal:
        await terminal.until_text("error: --tmux shows a work tree: add --worktree")


@pytest.mark.parametrize(("flag", "control"), [("--tmux", ["-CC"]), ("--tmux=classic", [])])
async def test_in_iterm_its_own_windows_show_the_session_by_default(
    tmp_path: Path, flag: str, control: list[str]
):
    (folder := tmp_path / "bin").mkdir()
    text = f'#!/bin/sh\necho "$@" >> {tmp_path}/log\ncase "$1" in has-session) exit 1;; esac\necho shown\n'
    (folder / "tmux").write_text(text, encoding="utf-8")
    (folder / "tmux").chmod(0o755)
    program = Program(tmp_path, PATH=f"{folder}:/usr/bin:/bin", TERM_PROGRAM="iTerm.app")
    program.env.pop("TMUX", None)
    argv = [sys.executable, "-m", "bridle", "-w", "feature", flag]
    async with PtyProgram(argv, size=(100, 30), env=program.env, cwd=program.project) as terminal:
        await terminal.until_text("shown")
    assert (tmp_path / "log").read_text().splitlines()[-1].split() == [
        *control, "attach-session", "-t", "=bridle-feature",
    ]  # fmt: skip
