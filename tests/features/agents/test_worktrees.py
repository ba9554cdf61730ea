"""Agents in work trees: no collisions, and no work is ever lost."""

import asyncio
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bridle.host.git import worktrees
from bridle.providers.scripted import calls, says
from bridle.types.agent import AgentDefinition
from tests.fakes.agents import team, touch
from tests.fakes.engine import with_gate

_ENV = {
    "PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "t", "GIT_AUTHOR_EMAIL": "t@t", "GIT_COMMITTER_NAME": "t",
    "GIT_COMMITTER_EMAIL": "t@t",
}  # fmt: skip
_HELPER = AgentDefinition(name="helper", description="d", text="p", source="user", isolation="worktree")


def _git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=folder, env=_ENV, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _repository(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    _git(folder, "init", "-q", "-b", "main")
    (folder / "file").write_text("one\n")
    _git(folder, "add", ".")
    _git(folder, "commit", "-q", "-m", "first")
    return folder


def _call(prompt: str = "<job>", **more: Any) -> Any:
    return calls(
        "Agent", description="d", prompt=prompt, subagent_type="helper", run_in_background=False, **more
    )


async def test_an_isolated_agent_changes_a_copy_that_is_kept_and_named(tmp_path: Path):
    project = _repository(tmp_path / "project")
    scripts = {
        "main": [says(_call()), says("ok")],
        "job": [says(calls("Touch", path="new")), says("made it")],
    }
    async with team(project, scripts, touch, agents=[_HELPER]) as made:
        await made.prompt()
        data = made.result("call-1")
    assert not (project / "new").exists()
    assert (Path(data["worktreePath"]) / "new").exists()
    assert data["worktreeBranch"].startswith("worktree-agent-")
    assert ".claude/worktrees" not in _git(project, "status", "--porcelain", "--untracked-files=all")


async def test_a_work_tree_without_work_is_removed_with_its_branch(tmp_path: Path):
    project = _repository(tmp_path / "project")
    scripts = {"main": [says(_call()), says("ok")], "job": [says("only looked")]}
    async with team(project, scripts, agents=[_HELPER]) as made:
        await made.prompt()
        assert "worktreePath" not in made.result("call-1")
    assert os.listdir(project / ".claude" / "worktrees") == []
    assert _git(project, "branch", "--format=%(refname:short)") == "main"


async def test_commits_and_changes_of_every_kind_count_as_work(tmp_path: Path):
    project = _repository(tmp_path / "project")
    kinds: dict[str, Callable[[Path], object]] = {
        "untracked": lambda tree: (tree / "new").touch(),
        "changed": lambda tree: (tree / "file").write_text("two\n"),
        "committed": lambda tree: _git(tree, "commit", "-q", "--allow-empty", "-m", "second"),
        "elsewhere": lambda tree: _git(tree, "checkout", "-q", "-b", "other"),
    }
    for name, work in kinds.items():
        tree = await worktrees.create(str(project), name, _ENV)
        work(Path(tree.path))
        gone = await worktrees.remove_unused(tree, _ENV)
        # Standing on another branch at the same commit is no work.
        assert gone == (name == "elsewhere"), name
        if not gone:
            assert Path(tree.path).is_dir()
            assert f"worktree-{name}" in _git(project, "branch", "--format=%(refname:short)")


async def test_many_at_once_meet_no_lock(tmp_path: Path):
    project = _repository(tmp_path / "project")
    async with asyncio.timeout(50):
        trees = await asyncio.gather(
            *(worktrees.create(str(project), f"t{number}", _ENV) for number in range(12))
        )
        assert len({tree.path for tree in trees}) == 12
        gone = await asyncio.gather(*(worktrees.remove_unused(tree, _ENV) for tree in trees))
    assert all(gone)


async def test_without_a_repository_the_error_says_what_to_do(tmp_path: Path):
    scripts = {"main": [says(_call()), says("ok")]}
    async with team(tmp_path, scripts, agents=[_HELPER]) as made:
        await made.prompt()
    assert "Worktrees need a git repository" in made.result("call-1")


async def test_an_untrusted_folder_gets_no_work_tree(tmp_path: Path):
    project = _repository(tmp_path / "project")
    scripts = {"main": [says(_call()), says("ok")]}
    async with team(
        project, scripts, agents=[_HELPER], change=lambda each: with_gate(each, trusted=False)
    ) as made:
        await made.prompt()
    assert "trusted folder" in made.result("call-1")
    assert not (project / ".claude").exists()


async def test_the_work_of_an_interrupted_agent_is_kept_and_an_empty_tree_is_not(tmp_path: Path):
    project = _repository(tmp_path / "project")
    meet = asyncio.Barrier(3)

    async def hang() -> None:
        await meet.wait()
        await asyncio.Event().wait()

    scripts = {
        "main": [says(_call("<one>"), _call("<two>"))],
        "one": [says(calls("Touch", path="new")), says("x", closed=False, then=hang)],
        "two": [says("x", closed=False, then=hang)],
    }
    async with team(project, scripts, touch, agents=[_HELPER]) as made, asyncio.timeout(50):
        turn = asyncio.create_task(made.prompt())
        await meet.wait()
        turn.cancel()
        await asyncio.gather(turn, return_exceptions=True)
    (left,) = (project / ".claude" / "worktrees").iterdir()
    assert (left / "new").exists()
