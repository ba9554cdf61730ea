"""Where new work trees begin, and how much of the repository they hold."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from bridle.host.git import worktrees
from bridle.host.git.worktree_base import Pull, WorktreeFault, read_pull
from tests.fakes.program import Program

_ENV = {
    "PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "t", "GIT_AUTHOR_EMAIL": "t@t", "GIT_COMMITTER_NAME": "t",
    "GIT_COMMITTER_EMAIL": "t@t",
}  # fmt: skip


def _git(folder: Path | str, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=folder, env=_ENV, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _commit(folder: Path, name: str) -> str:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(name)
    _git(folder, "add", ".")
    _git(folder, "commit", "-q", "-m", name)
    return _git(folder, "rev-parse", "HEAD")


def _cloned(tmp_path: Path) -> tuple[Path, Path]:
    """A repository and a clone of it that has a commit of its own."""
    origin, clone = tmp_path / "origin", tmp_path / "clone"
    origin.mkdir()
    _git(origin, "init", "-q", "-b", "main")
    _commit(origin, "a/one")
    _commit(origin, "b/two")
    _git(tmp_path, "clone", "-q", str(origin), str(clone))
    _commit(clone, "local")
    return origin, clone


async def test_a_fresh_tree_begins_at_the_newest_of_the_remote(tmp_path: Path):
    origin, clone = _cloned(tmp_path)
    newest = _commit(origin, "c/three")
    tree = await worktrees.create(str(clone), "t", _ENV, at="fresh")
    assert tree.base == newest and os.path.exists(f"{tree.path}/c/three")
    assert not os.path.exists(f"{tree.path}/local")


async def test_a_tree_at_the_head_has_what_was_not_pushed(tmp_path: Path):
    _, clone = _cloned(tmp_path)
    tree = await worktrees.create(str(clone), "t", _ENV, at="head")
    assert tree.base == _git(clone, "rev-parse", "HEAD") and os.path.exists(f"{tree.path}/local")


async def test_without_the_remote_a_fresh_tree_begins_where_it_was_last_seen(tmp_path: Path):
    origin, clone = _cloned(tmp_path)
    seen = _git(clone, "rev-parse", "origin/main")
    origin.rename(tmp_path / "gone")
    tree = await worktrees.create(str(clone), "t", _ENV, at="fresh")
    assert tree.base == seen


async def test_without_any_remote_a_fresh_tree_begins_at_the_head(tmp_path: Path):
    origin, _ = _cloned(tmp_path)
    tree = await worktrees.create(str(origin), "t", _ENV, at="fresh")
    assert tree.base == _git(origin, "rev-parse", "HEAD")


async def test_a_pull_request_is_fetched_from_the_remote(tmp_path: Path):
    origin, clone = _cloned(tmp_path)
    _git(origin, "checkout", "-q", "-b", "topic")
    wanted = _commit(origin, "topic")
    _git(origin, "update-ref", "refs/pull/12/head", wanted)
    _git(origin, "checkout", "-q", "main")
    _git(origin, "branch", "-q", "-D", "topic")
    tree = await worktrees.create(str(clone), "pr-12", _ENV, at=Pull(12))
    assert tree.base == wanted and os.path.exists(f"{tree.path}/topic")
    assert _git(clone, "for-each-ref", "refs/bridle") == ""
    with pytest.raises(WorktreeFault, match="13 can't be fetched"):
        await worktrees.create(str(clone), "pr-13", _ENV, at=Pull(13))
    with pytest.raises(WorktreeFault, match="no remote"):
        await worktrees.create(str(origin), "pr-12", _ENV, at=Pull(12))


async def test_a_pull_request_of_another_repository_is_refused(tmp_path: Path):
    _, clone = _cloned(tmp_path)
    _git(clone, "remote", "set-url", "origin", "git@code.example:me/mine.git")
    pull = read_pull("https://code.example/you/yours/pull/3")
    assert pull is not None
    with pytest.raises(
        WorktreeFault, match=r"belongs to code\.example/you/yours, but this is a clone of .*/me/mine"
    ):
        await worktrees.create(str(clone), "pr-3", _ENV, at=pull)


@pytest.mark.parametrize(
    ("text", "pull"),
    [
        ("#12", Pull(12)),
        ("https://code.example/o/r/pull/7", Pull(7, "code.example/o/r")),
        ("https://code.example/o/r/pull/7/files?x=1", Pull(7, "code.example/o/r")),
        ("https://code.example/g/s/r/-/merge_requests/8", Pull(8, "code.example/g/s/r")),
        ("12", None),
        ("side", None),
        ("#", None),
        ("#1a", None),
        ("https://code.example/o/r/issues/7", None),
    ],
)
def test_pull_requests_are_recognized(text: str, pull: Pull | None):
    assert read_pull(text) == pull


async def test_a_sparse_tree_holds_only_the_folders_named(tmp_path: Path):
    origin, _ = _cloned(tmp_path)
    (origin / "top").write_text("x")
    _git(origin, "add", ".")
    _git(origin, "commit", "-q", "-m", "top")
    tree = await worktrees.create(str(origin), "t", _ENV, sparse=["a/", "/c"])
    assert sorted(each for each in os.listdir(tree.path) if each != ".git") == ["a", "top"]
    assert sorted(each for each in os.listdir(origin) if not each.startswith(".")) == ["a", "b", "top"]
    assert not await worktrees.holds_work(tree, _ENV)
    assert await worktrees.remove_unused(tree, _ENV)
    assert _git(origin, "status", "--porcelain") == ""


@pytest.mark.parametrize("folder", ["../out", ".git", "-x"])
async def test_a_sparse_folder_outside_the_repository_is_refused(tmp_path: Path, folder: str):
    origin, _ = _cloned(tmp_path)
    with pytest.raises(WorktreeFault, match="sparsePaths"):
        await worktrees.create(str(origin), "t", _ENV, sparse=[folder])
    assert _git(origin, "branch", "--format=%(refname:short)") == "main"


async def test_the_settings_and_the_flag_reach_new_trees(tmp_path: Path):
    program = Program(tmp_path)
    origin, clone = _cloned(tmp_path)
    wanted = _commit(origin, "topic")
    _git(origin, "update-ref", "refs/pull/12/head", wanted)
    program.project = clone
    (program.home / ".claude").mkdir()
    trust = {"projects": {str(clone): {"hasTrustDialogAccepted": True}}}
    (program.home / ".claude" / ".claude.json").write_text(json.dumps(trust))
    flags = ("-p", "run `touch new`", "--model", "offline", "--allowedTools", "Bash")
    trees = clone / ".claude" / "worktrees"
    settings = json.dumps({"worktree": {"baseRef": "head", "sparsePaths": ["b"]}})
    assert (await program.run(*flags, "--settings", settings, "-w", "mine")).code == 0
    assert sorted(each for each in os.listdir(trees / "mine") if each != ".git") == ["b", "local", "new"]
    done = await program.run(*flags, "-w", "#12")
    assert (done.code, done.err) == (0, "")
    assert (trees / "pr-12" / "topic").exists() and (trees / "pr-12" / "new").exists()
