"""Takes a session into the work tree that its options ask for, and out of it at the end."""

import os
from collections.abc import Callable

from bridle.engine.runtime import Runtime
from bridle.engine.session_worktree import SessionWorktree, begin_in_worktree
from bridle.host import git
from bridle.session.setup import Setup
from bridle.sessions.session import Session
from bridle.types.errors import ToolError, UsageError


async def enter_worktree(
    runtime: Runtime, session: Session, wanted: str | None, warn: Callable[[str], None]
) -> None:
    """Move to the work tree of this name, or to a new one.

    Raises:
        UsageError: there can be none.
    """
    try:
        for note in await begin_in_worktree(runtime, session, wanted):
            warn(note)
    except ToolError as error:
        raise UsageError(f"--worktree: {error}") from error


async def return_to_worktree(
    runtime: Runtime, session: Session, path: str, warn: Callable[[str], None]
) -> None:
    """Move a conversation that goes on to the work tree in which it was left, if that is still there."""
    try:
        await SessionWorktree(runtime, session).enter(name=None, path=path)
    except ToolError as error:
        warn(f"The conversation was in a work tree and begins in {runtime.workspace.cwd} now: {error}")


async def leave_worktree(runtime: Runtime, session: Session) -> None:
    """Give the work tree up where nothing in it would be lost."""
    await SessionWorktree(runtime, session).close()


def spared_checkout(setup: Setup) -> str | None:
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
