"""Takes a session into the work tree that the command line asks for, and out of it at the end."""

from collections.abc import Callable

from bridle.engine.runtime import Runtime
from bridle.engine.session_worktree import SessionWorktree, begin_in_worktree
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
