"""Takes a session into the work tree that its options ask for, and out of it at the end."""

from collections.abc import Callable

from bridle.engine.runtime import Runtime
from bridle.features.worktrees.session import SessionWorktree, begin_in_worktree
from bridle.transcripts.session import Session
from bridle.types.errors import ToolError, UsageError


async def enter_worktree(
    runtime: Runtime, session: Session, wanted: str | bool | None, warn: Callable[[str], None]
) -> None:
    """Move to the work tree that is wanted, or in which the conversation was left.

    Raises:
        UsageError: there can be none.
    """
    if wanted is None and session.worktree is not None:
        try:
            await SessionWorktree(runtime, session).enter(name=None, path=session.worktree)
        except ToolError as error:
            warn(f"The conversation was in a worktree. It continues in {runtime.workspace.cwd}: {error}")
        return
    try:
        name = wanted if isinstance(wanted, str) else None
        for note in await begin_in_worktree(runtime, session, name):
            warn(note)
    except ToolError as error:
        raise UsageError(f"--worktree: {error}") from error


async def leave_worktree(runtime: Runtime, session: Session) -> None:
    """Give the work tree up where nothing in it would be lost."""
    await SessionWorktree(runtime, session).close()
