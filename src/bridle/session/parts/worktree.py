"""Takes a session into the work tree that its options ask for, and out of it at the end."""

import os
from collections.abc import Callable

from bridle.config.schema import Worktree
from bridle.engine.runtime import Runtime, Trees
from bridle.host import git
from bridle.session.options import SessionOptions
from bridle.session.setup import Setup
from bridle.sessions.session import Session
from bridle.types.errors import ToolError, UsageError


def trees_of(setup: Setup) -> Trees:
    """How new work trees are made."""
    wanted = setup.config.settings.worktree or Worktree()
    return Trees(
        base=wanted.base_ref or "fresh",
        sparse=wanted.sparse_paths or (),
        links=wanted.symlink_directories or (),
        spared=_spared_checkout(setup),
    )


async def enter_worktree(
    runtime: Runtime, session: Session, options: SessionOptions, warn: Callable[[str], None]
) -> None:
    """Move to the work tree that the options ask for, or in which the conversation was left.

    Raises:
        UsageError: there can be none.
    """
    from bridle.engine.session_worktree import SessionWorktree, begin_in_worktree

    if options.worktree is None and session.worktree is not None:
        try:
            await SessionWorktree(runtime, session).enter(name=None, path=session.worktree)
        except ToolError as error:
            warn(f"The conversation was in a work tree and begins in {runtime.workspace.cwd} now: {error}")
        return
    try:
        wanted = options.worktree if isinstance(options.worktree, str) else None
        for note in await begin_in_worktree(runtime, session, wanted):
            warn(note)
    except ToolError as error:
        raise UsageError(f"--worktree: {error}") from error


async def leave_worktree(runtime: Runtime, session: Session) -> None:
    """Give the work tree up where nothing in it would be lost."""
    from bridle.engine.session_worktree import SessionWorktree

    await SessionWorktree(runtime, session).close()


def _spared_checkout(setup: Setup) -> str | None:
    """The main checkout around a session in the background; None where it may change what is there.

    That is so in a work tree, outside a repository, and where `worktree.bgIsolation` is `none`.
    """
    if setup.options.job is None:
        return None
    wanted = setup.config.settings.worktree
    if wanted is not None and wanted.bg_isolation == "none":
        return None
    root = git.find_root(setup.cwd)
    is_main = root is not None and os.path.isdir(os.path.join(root, ".git"))
    return root if is_main else None
