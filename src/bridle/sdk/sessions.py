"""Conversations on disk, with the functions of the official Agent SDK."""

import os

from msgspec import Struct

from bridle.host.paths import project_dir
from bridle.transcripts import agent_transcripts, listing, management
from bridle.transcripts.line import is_uuid
from bridle.transcripts.listing import SessionInfo as SDKSessionInfo
from bridle.transcripts.management import SessionMessage
from bridle.types.errors import SessionError


class ForkSessionResult(Struct):
    """The copy that `fork_session` made."""

    session_id: str
    """The id of the copy."""


def list_sessions(
    directory: str | None = None, limit: int | None = None, offset: int = 0, include_worktrees: bool = True
) -> list[SDKSessionInfo]:
    """List conversations, the newest first.

    Args:
        directory: the folder whose conversations to list; None for those of all folders.
        limit: at most this many.
        offset: leave out this many at the beginning.
        include_worktrees: also those of other git worktrees of the folder.
    """
    return listing.list_sessions(
        os.environ, directory=directory, limit=limit, offset=offset, include_worktrees=include_worktrees
    )


def get_session_info(session_id: str, directory: str | None = None) -> SDKSessionInfo | None:
    """Title, times, branch and folder of one conversation; None if there is no such conversation."""
    path = listing.locate(session_id, os.environ, directory)
    return None if path is None else listing.read_info(path, directory)


def get_session_messages(
    session_id: str, directory: str | None = None, limit: int | None = None, offset: int = 0
) -> list[SessionMessage]:
    """Read the messages of a conversation, the oldest first.

    Args:
        session_id: the conversation.
        directory: its folder; None to look in all folders.
        limit: at most this many.
        offset: leave out this many at the beginning.
    """
    return management.messages(session_id, os.environ, directory=directory, limit=limit, offset=offset)


def list_subagents(session_id: str, directory: str | None = None) -> list[str]:
    """The ids of the agents of a conversation; an empty list if there is no such conversation."""
    return agent_transcripts.agent_ids(session_id, os.environ, directory=directory)


def get_subagent_messages(
    session_id: str,
    agent_id: str,
    directory: str | None = None,
    limit: int | None = None,
    offset: int = 0,
) -> list[SessionMessage]:
    """Read the messages of an agent of a conversation, the oldest first."""
    return agent_transcripts.agent_messages(
        session_id, agent_id, os.environ, directory=directory, limit=limit, offset=offset
    )


def rename_session(session_id: str, title: str, directory: str | None = None) -> None:
    """Give a conversation a title.

    Args:
        session_id: the conversation.
        title: the new title.
        directory: its folder; None to look in all folders.

    Raises:
        ValueError: the id is not a UUID, or the title is blank.
        FileNotFoundError: there is no such conversation.
    """
    try:
        management.rename(session_id, title, os.environ, directory=directory)
    except SessionError as error:
        raise translated(error) from error


def tag_session(session_id: str, tag: str | None, directory: str | None = None) -> None:
    """Set or remove the tag of a conversation.

    Args:
        session_id: the conversation.
        tag: the new tag; None removes it.
        directory: its folder; None to look in all folders.

    Raises:
        ValueError: the id is not a UUID, or the tag has no visible character.
        FileNotFoundError: there is no such conversation.
    """
    try:
        management.tag(session_id, tag, os.environ, directory=directory)
    except SessionError as error:
        raise translated(error) from error


def delete_session(session_id: str, directory: str | None = None) -> None:
    """Delete a conversation, the transcripts of its agents and its file checkpoints.

    Raises:
        ValueError: the id is no UUID.
        FileNotFoundError: there is no such conversation.
    """
    try:
        management.delete(session_id, os.environ, directory=directory)
    except SessionError as error:
        raise translated(error) from error


def fork_session(
    session_id: str,
    directory: str | None = None,
    up_to_message_id: str | None = None,
    title: str | None = None,
) -> ForkSessionResult:
    """Copy a conversation under a new id.

    Args:
        session_id: the conversation to copy.
        directory: its folder; None to look in all folders.
        up_to_message_id: the uuid of the last message to copy; None copies all.
        title: the title of the copy; None derives one from the original.

    Raises:
        ValueError: an id is no UUID, or there is nothing to copy.
        FileNotFoundError: there is no such conversation.
    """
    if up_to_message_id:
        require_uuid(up_to_message_id, "up_to_message_id")
    try:
        fresh = management.fork(
            session_id, os.environ, directory=directory, up_to=up_to_message_id or None, title=title
        )
    except SessionError as error:
        raise translated(error) from error
    return ForkSessionResult(fresh)


def project_key_for_directory(directory: str | os.PathLike[str] | None = None) -> str:
    """The name under which the conversations of a folder are kept."""
    return os.path.basename(project_dir(os.fspath(directory or os.getcwd()), os.environ))


def require_uuid(value: str, name: str = "session_id") -> None:
    """Raise a ValueError for an id that cannot be one."""
    if not is_uuid(value):
        raise ValueError(f"Invalid {name}: {value}")


def translated(error: SessionError) -> Exception:
    """The error that the official SDK raises in the place of ours."""
    return FileNotFoundError(str(error)) if isinstance(error, management.Unknown) else ValueError(str(error))
