"""A session in the background leaves the main checkout alone until it is in a work tree."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.jobs import background
from tests.fakes.messages_server import step

_ALLOWED: dict[str, Any] = {
    "permissions": {"allow": ["Write", "Bash", "EnterWorktree"], "defaultMode": "acceptEdits"}
}


def _call(tool: str, number: int, **input: object) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"toolu_{number}", "name": tool, "input": input}


def _repository(folder: Path) -> None:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    for words in (("init", "-q", "-b", "main"), (*identity, "commit", "-q", "--allow-empty", "-m", "first")):
        subprocess.run(["git", *words], cwd=folder, check=True)


def _script(project: Path) -> list[Any]:
    return [
        step(_call("Write", 1, file_path=str(project / "made.txt"), content="x")),
        step(_call("Bash", 2, command="echo x > shell.txt")),
        step("Tried."),
    ]


async def test_files_and_commands_change_nothing_in_the_main_checkout(tmp_path: Path):
    project = tmp_path / "project"
    project.mkdir()
    _repository(project)
    async with background(tmp_path, _script(project), settings=_ALLOWED) as bridle:
        facts = await bridle.until_state(await bridle.start("make files"), "done")
        written = bridle.transcript(facts["sessionId"])
    assert written.count("call EnterWorktree first and make the change there") >= 2
    assert not (project / "made.txt").exists()
    assert not (project / "shell.txt").exists()


@pytest.mark.parametrize("case", ["turned off", "no repository", "at a terminal", "printing"])
async def test_where_nothing_is_to_be_spared_files_are_changed(tmp_path: Path, case: str):
    project = tmp_path / "project"
    project.mkdir()
    if case != "no repository":
        _repository(project)
    settings = {**_ALLOWED, "worktree": {"bgIsolation": "none"}} if case == "turned off" else _ALLOWED
    async with background(tmp_path, _script(project), settings=settings) as bridle:
        if case == "at a terminal":
            async with bridle.terminal("make files", size=(100, 24)) as terminal:
                await terminal.until_text("Tried.")
        elif case == "printing":
            assert (await bridle.run("-p", "make files")).out == "Tried.\n"
        else:
            await bridle.until_state(await bridle.start("make files"), "done")
    assert (project / "made.txt").read_text() == "x"
    assert (project / "shell.txt").read_text() == "x\n"


async def test_in_a_work_tree_files_are_changed_and_the_main_checkout_stays(tmp_path: Path):
    project = tmp_path / "project"
    project.mkdir()
    _repository(project)
    tree = project / ".claude" / "worktrees" / "apart"
    script = [
        step(_call("EnterWorktree", 1, name="apart")),
        step(_call("Write", 2, file_path=str(tree / "made.txt"), content="x")),
        step(_call("Bash", 3, command="echo x > shell.txt")),
        step("Made."),
    ]
    async with background(tmp_path, script, settings=_ALLOWED) as bridle:
        facts = await bridle.until_state(await bridle.start("make files"), "done")
        assert "EnterWorktree first" not in bridle.transcript(facts["sessionId"])
        assert (tree / "made.txt").read_text() == "x"
        assert (tree / "shell.txt").read_text() == "x\n"
    assert not (project / "made.txt").exists()
    assert not (project / "shell.txt").exists()
