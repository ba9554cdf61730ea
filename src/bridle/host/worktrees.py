"""Work trees for agents: made one at a time, and removed only when they hold no work."""

import asyncio
import os
import re
from collections.abc import Mapping

from msgspec import Struct

from bridle.host import git
from bridle.host.lock import FileLock, Locked
from bridle.types.errors import BridleError

_SECONDS = 120.0
_LOCK_SECONDS = 60.0
_OPTIONS = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=", "-c", "gc.auto=0")
_MOST_SAID = 500
_EXCLUDED = "/.claude/worktrees/"


class WorktreeFault(BridleError):
    """A work tree could not be made; the text says why."""


class Worktree(Struct, frozen=True, kw_only=True):
    path: str
    branch: str
    base: str
    """The commit at which it began."""
    repository: str


async def create(cwd: str, name: str, env: Mapping[str, str]) -> Worktree:
    """A work tree of the repository around `cwd`, on a branch of its own at the current commit.

    Raises:
        WorktreeFault: there is no repository, or git refuses.
    """
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", name):
        raise WorktreeFault(f"{name!r} cannot be the name of a work tree: use letters, digits, . _ and -.")
    trees = git.worktrees(cwd)
    root = trees[0] if trees else None
    here = git.find_root(cwd)
    if root is None or here is None:
        raise WorktreeFault("There is no git repository here, so there can be no work tree.")
    path = os.path.join(root, ".claude", "worktrees", name)
    branch = f"worktree-{name}"
    try:
        async with FileLock(_lock_path(root), seconds=_LOCK_SECONDS):
            code, base = await _git(here, env, "rev-parse", "HEAD")
            if code:
                raise WorktreeFault("The repository has no commit yet, so there can be no work tree.")
            _hide(root)
            code, said = await _git(here, env, "worktree", "add", "-b", branch, path, base)
    except (Locked, OSError) as error:
        raise WorktreeFault(f"The work tree could not be made: {error}") from error
    if code:
        raise WorktreeFault(f"The work tree could not be made: {said[:_MOST_SAID]}")
    return Worktree(path=path, branch=branch, base=base, repository=root)


async def holds_work(tree: Worktree, env: Mapping[str, str]) -> bool:
    """Whether it has changes or commits of its own; what cannot be told counts as work."""
    code, head = await _git(tree.path, env, "rev-parse", "HEAD")
    if code or head != tree.base:
        return True
    code, tip = await _git(tree.path, env, "rev-parse", f"refs/heads/{tree.branch}")
    if code or tip != tree.base:
        return True
    code, status = await _git(tree.path, env, "status", "--porcelain", "--untracked-files=all")
    if code or status:
        return True
    code, stash = await _git(tree.path, env, "rev-parse", "--verify", "--quiet", "refs/worktree/stash")
    return bool(not code and stash)


async def remove_unused(tree: Worktree, env: Mapping[str, str]) -> bool:
    """Remove a work tree that holds no work; whether it is gone."""
    try:
        async with FileLock(_lock_path(tree.repository), seconds=_LOCK_SECONDS):
            if await holds_work(tree, env):
                return False
            # Without --force: git looks once more, and what came in between stays.
            code, _ = await _git(tree.repository, env, "worktree", "remove", tree.path)
            if code:
                return False
            # Only if the branch still is where it began.
            await _git(tree.repository, env, "update-ref", "-d", f"refs/heads/{tree.branch}", tree.base)
    except (Locked, OSError):
        return False
    return True


def _hide(root: str) -> None:
    """Keep work trees out of what git sees in the main one, or `git add -A` there would take them in."""
    path = os.path.join(root, ".git", "info", "exclude")
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            present = _EXCLUDED in file.read().splitlines()
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        present = False
    if not present:
        with open(path, "a", encoding="utf-8") as file:
            file.write(f"\n{_EXCLUDED}\n")


def _lock_path(root: str) -> str:
    return os.path.join(root, ".git", "bridle-worktrees.lock")


async def _git(cwd: str, env: Mapping[str, str], *words: str) -> tuple[int, str]:
    """Run git; its code and what it said."""
    kept = {name: value for name, value in env.items() if not name.startswith("GIT_")}
    process = await asyncio.create_subprocess_exec(
        "git",
        *_OPTIONS,
        *words,
        cwd=cwd,
        env={**kept, "LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0"},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(_SECONDS):
            said, _ = await process.communicate()
    except TimeoutError:
        return 1, f"git did not answer within {_SECONDS:g} seconds"
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode or 0, said.decode(errors="replace").strip()
