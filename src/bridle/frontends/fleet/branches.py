"""Turns the patch of a task into a branch of its repository, without touching its work tree."""

import os
import tempfile
from collections.abc import Mapping

from bridle.frontends.fleet.records import Result, Task
from bridle.frontends.fleet.workspace import branch_name
from bridle.host.git.commands import run_git
from bridle.types.errors import UsageError
from bridle.types.text import one_line


async def write_branch(task: Task, result: Result, patch: bytes, *, run: str, env: Mapping[str, str]) -> str:
    """Write the branch of a finished task; its name.

    Raises:
        UsageError: the repository cannot take it.
    """
    branch = branch_name(run, task.id)
    with tempfile.TemporaryDirectory(prefix="bridle-branch-") as folder:
        path, clone = os.path.join(folder, "patch"), os.path.join(folder, "clone")
        with open(path, "wb") as file:
            file.write(patch)
        if os.path.isdir(task.repository):
            words = ("clone", "--shared", "--no-checkout", "--quiet", "--", task.repository, clone)
        else:
            words = ("clone", "--no-checkout", "--quiet", "--", task.repository, clone)
        author = await _author(folder, env)
        message = f"{one_line(task.prompt, 72)}\n\nTask {task.id} of the fleet run {run}.\n"
        for place, step in (
            (folder, words),
            (clone, ("read-tree", result.base)),
            (clone, ("apply", "--cached", "--binary", path)),
            (clone, ("update-ref", f"refs/heads/{branch}", result.base)),
            (clone, ("symbolic-ref", "HEAD", f"refs/heads/{branch}")),
            (clone, (*author, "commit", "--quiet", "--no-verify", "--message", message)),
            (clone, ("push", "--quiet", "--force", "origin", f"refs/heads/{branch}")),
        ):
            done = await run_git(place, env, *step, seconds=900)
            if not done.ok:
                raise UsageError(f"{task.id}: can't write {branch} to {task.repository}: {done.complaint}")
    return branch


async def _author(clone: str, env: Mapping[str, str]) -> tuple[str, ...]:
    """Someone to sign for the commit, where git knows no one."""
    if "GIT_AUTHOR_EMAIL" in env or (await run_git(clone, env, "config", "user.email")).ok:
        return ()
    return ("-c", "user.name=bridle", "-c", "user.email=bridle@localhost")
