"""What people do with conversations that are on disk: name, tag, copy, remove and read them."""

import os
import time
from collections.abc import Mapping
from typing import Any, TypeVar

from msgspec import Struct

from bridle.host.files import write_new
from bridle.transcripts.files.file_history import remove_copies
from bridle.transcripts.line import encode_line, is_uuid, timestamp
from bridle.transcripts.listing import locate, read_info
from bridle.transcripts.reader import load
from bridle.types.errors import SessionError
from bridle.types.ids import new_uuid

LONGEST_TITLE = 200
_Each = TypeVar("_Each")
_NOT_COPIED = ("teamName", "agentName", "slug", "sourceToolAssistantUUID")


class Unknown(SessionError):
    """There is no such conversation."""


class SessionMessage(Struct, kw_only=True):
    """A message of a conversation."""

    type: str
    uuid: str
    session_id: str
    message: Any
    parent_tool_use_id: str | None = None
    parent_agent_id: str | None = None


def rename(session_id: str, title: str, env: Mapping[str, str], *, directory: str | None = None) -> None:
    """Give a conversation a title; it may be in use.

    Raises:
        Unknown: there is no such conversation.
        SessionError: the title is blank, or the file cannot be written.
    """
    if not (title := title.strip()):
        raise SessionError("title must be non-empty")
    row = {"type": "custom-title", "customTitle": title[:LONGEST_TITLE], "sessionId": session_id}
    _append(_find(session_id, env, directory), row)


def tag(session_id: str, word: str | None, env: Mapping[str, str], *, directory: str | None = None) -> None:
    """Mark a conversation with a word, or with None take the mark away.

    Raises:
        Unknown: there is no such conversation.
        SessionError: nothing visible is in the word, or the file cannot be written.
    """
    plain = "" if word is None else visible(word)
    if word is not None and not plain:
        raise SessionError("tag must be non-empty (use None to clear)")
    _append(_find(session_id, env, directory), {"type": "tag", "tag": plain, "sessionId": session_id})


def delete(session_id: str, env: Mapping[str, str], *, directory: str | None = None) -> None:
    """Remove a conversation with all that was kept for it.

    Raises:
        Unknown: there is no such conversation.
        SessionError: it cannot be removed.
    """
    import shutil

    path = _find(session_id, env, directory)
    try:
        os.unlink(path)
    except FileNotFoundError as error:
        raise Unknown(f"Session {session_id} not found") from error
    except OSError as error:
        raise SessionError(f"Session {session_id} cannot be removed: {error.strerror}.") from error
    shutil.rmtree(path.removesuffix(".jsonl"), ignore_errors=True)
    remove_copies(session_id, env)


def fork(
    session_id: str,
    env: Mapping[str, str],
    *,
    directory: str | None = None,
    up_to: str | None = None,
    title: str | None = None,
) -> str:
    """Copy a conversation, up to an entry or whole, under new ids, and return the id of the copy.

    Raises:
        Unknown: there is no such conversation.
        SessionError: it is empty, has no such entry, or the copy cannot be written.
    """
    path = _find(session_id, env, directory)
    named = (title or "").strip() or f"{_title(path) or 'Forked session'} (fork)"
    fresh, rows = forked(_chain(path), session_id, up_to=up_to, title=named)
    place = os.path.join(os.path.dirname(path), f"{fresh}.jsonl")
    try:
        write_new(place, b"".join(map(encode_line, rows)))
    except OSError as error:
        raise SessionError(f"Can't write the copy {place}: {error.strerror}.") from error
    return fresh


def forked(
    chain: list[dict[str, Any]], session_id: str, *, up_to: str | None, title: str
) -> tuple[str, list[dict[str, Any]]]:
    """The id and the rows of a copy.

    Raises:
        SessionError: there is nothing to copy, or no such entry.
    """
    if up_to is not None:
        at = next((place for place, row in enumerate(chain) if row["uuid"] == up_to), None)
        if at is None:
            raise SessionError(f"Message {up_to} not found in session {session_id}")
        chain = chain[: at + 1]
    if not chain:
        raise SessionError(f"Session {session_id} has no messages to fork")
    fresh = new_uuid()
    rows = _copied(chain, session_id, fresh)
    return fresh, [*rows, {"type": "custom-title", "sessionId": fresh, "customTitle": title}]


def messages(
    session_id: str,
    env: Mapping[str, str],
    *,
    directory: str | None = None,
    limit: int | None = None,
    offset: int = 0,
) -> list[SessionMessage]:
    """What was said, oldest first; nothing for a conversation that is not there."""
    path = locate(session_id, env, directory)
    return [] if path is None else session_messages(_chain(path), limit=limit, offset=offset)


def session_messages(
    chain: list[dict[str, Any]], *, limit: int | None = None, offset: int = 0
) -> list[SessionMessage]:
    """The messages of user and model in rows of a conversation, without text that bridle added."""
    found = [
        SessionMessage(
            type=row["type"], uuid=row["uuid"], session_id=row["sessionId"], message=row["message"]
        )
        for row in chain
        if row["type"] in ("user", "assistant") and not (row.get("isMeta") or row.get("teamName"))
    ]
    return page(found, limit=limit, offset=offset)


def page(found: list[_Each], *, limit: int | None, offset: int) -> list[_Each]:
    """A part of a list; no limit, or one that is not positive, means all the rest."""
    start = max(0, offset)
    return found[start : start + limit] if limit is not None and limit > 0 else found[start:]


def visible(word: str) -> str:
    """The word without invisible characters, which would break filters."""
    import unicodedata

    for _ in range(10):
        before = word
        word = "".join(
            each
            for each in unicodedata.normalize("NFKC", word)
            if unicodedata.category(each) not in ("Cf", "Co", "Cn")
        )
        if word == before:
            break
    return word.strip()


def _find(session_id: str, env: Mapping[str, str], directory: str | None) -> str:
    if not is_uuid(session_id):
        raise SessionError(f"Invalid session_id: {session_id}")
    if (path := locate(session_id, env, directory)) is None:
        place = f" in project directory for {directory}" if directory else ""
        raise Unknown(f"Session {session_id} not found{place}")
    return path


def _append(path: str, row: Mapping[str, object]) -> None:
    line = encode_line(row)
    try:
        file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            size = os.fstat(file).st_size
            torn = size > 0 and os.pread(file, 1, size - 1) != b"\n"
            # In one write, so that it cannot land inside a line of another process in this conversation.
            os.write(file, b"\n" + line if torn else line)
        finally:
            os.close(file)
    except FileNotFoundError as error:
        raise Unknown(f"{path} no longer exists") from error
    except OSError as error:
        raise SessionError(f"Can't write {path}: {error.strerror}.") from error


def _chain(path: str) -> list[dict[str, Any]]:
    try:
        return load(path).chain
    except OSError as error:
        raise SessionError(f"Can't read {path}: {error.strerror}.") from error


def _copied(chain: list[dict[str, Any]], session_id: str, fresh: str) -> list[dict[str, Any]]:
    renamed = {row["uuid"]: new_uuid() for row in chain}
    rows: list[dict[str, Any]] = []
    for row in chain:
        copy = {
            **{key: value for key, value in row.items() if key not in _NOT_COPIED},
            "uuid": renamed[row["uuid"]],
            "parentUuid": rows[-1]["uuid"] if rows and row["parentUuid"] is not None else None,
            "sessionId": fresh,
            "forkedFrom": {"sessionId": session_id, "messageUuid": row["uuid"]},
        }
        if isinstance(logical := row.get("logicalParentUuid"), str):
            copy["logicalParentUuid"] = renamed.get(logical)
        rows.append(copy)
    rows[-1]["timestamp"] = timestamp(time.time())
    return rows


def _title(path: str) -> str | None:
    info = read_info(path)
    return None if info is None else info.custom_title or info.first_prompt
