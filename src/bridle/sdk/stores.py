"""Conversations in a store of the program, with the functions of the official Agent SDK."""

import asyncio
import os
import time
from collections.abc import Iterable, Sequence
from typing import Any

from bridle.sdk.sessions import (
    ForkSessionResult,
    SDKSessionInfo,
    SessionMessage,
    project_key_for_directory,
    require_uuid,
    translated,
)
from bridle.sdk.store_summary import fold_session_summary, info_of, milliseconds
from bridle.sdk.store_types import (
    SessionKey,
    SessionStore,
    SessionStoreEntry,
    SessionStoreListEntry,
    SessionSummaryEntry,
    as_entries,
    has,
)
from bridle.transcripts import management
from bridle.transcripts.agent_transcripts import said_by_agent
from bridle.transcripts.line import is_uuid, timestamp
from bridle.transcripts.reader import Loaded, gather
from bridle.types.errors import SessionError
from bridle.types.ids import new_uuid

_LOADS_AT_ONCE = 16
_AGENTS = "subagents/"


async def list_sessions_from_store(
    session_store: SessionStore, directory: str | None = None, limit: int | None = None, offset: int = 0
) -> list[SDKSessionInfo]:
    """List the sessions of a project, the newest first.

    Sessions with a summary in the store are not loaded.

    Args:
        session_store: the store.
        directory: the folder of the project; None for the current one.
        limit: at most this many.
        offset: leave out this many at the beginning.

    Raises:
        ValueError: the store cannot list.
    """
    project = project_key_for_directory(directory)
    if not (has(session_store, "list_session_summaries") or has(session_store, "list_sessions")):
        raise ValueError(
            "session_store implements neither list_session_summaries() nor list_sessions(): "
            "sessions can only be listed from a store with one of them."
        )
    kept = await _summaries(session_store, project)
    listed = await session_store.list_sessions(project) if has(session_store, "list_sessions") else None
    cwd = _canonical(directory)
    if listed is None:
        found = [info for summary in kept.values() if (info := info_of(summary, cwd)) is not None]
        return management.page(_newest_first(found), limit=limit, offset=offset)
    return await _listed(session_store, project, listed, kept, cwd=cwd, limit=limit, offset=offset)


async def get_session_info_from_store(
    session_store: SessionStore, session_id: str, directory: str | None = None
) -> SDKSessionInfo | None:
    """Title, times, branch and folder of one session; None if the store has no such session."""
    key = _key(session_id, directory)
    entries = await session_store.load(key) if is_uuid(session_id) else None
    if not entries:
        return None
    times = [milliseconds(entry.get("timestamp")) for entry in entries]
    last = max((each for each in times if each is not None), default=int(time.time() * 1000))
    return info_of({**fold_session_summary(None, key, entries), "mtime": last}, _canonical(directory))


async def get_session_messages_from_store(
    session_store: SessionStore,
    session_id: str,
    directory: str | None = None,
    limit: int | None = None,
    offset: int = 0,
) -> list[SessionMessage]:
    """Read the messages of a session, the oldest first."""
    loaded = await _load(session_store, session_id, directory)
    return [] if loaded is None else management.session_messages(loaded.chain, limit=limit, offset=offset)


async def list_subagents_from_store(
    session_store: SessionStore, session_id: str, directory: str | None = None
) -> list[str]:
    """The ids of the agents of a session.

    Raises:
        ValueError: the store cannot list what belongs to a session.
    """
    if not is_uuid(session_id):
        return []
    if not has(session_store, "list_subkeys"):
        raise ValueError("session_store does not implement list_subkeys(): agents cannot be listed from it.")
    paths = await _agent_paths(session_store, _key(session_id, directory))
    return list(dict.fromkeys(_name(path).removeprefix("agent-") for path in paths))


async def get_subagent_messages_from_store(
    session_store: SessionStore,
    session_id: str,
    agent_id: str,
    directory: str | None = None,
    limit: int | None = None,
    *,
    offset: int = 0,
) -> list[SessionMessage]:
    """Read the messages of an agent of a session, the oldest first."""
    if not is_uuid(session_id) or not agent_id:
        return []
    key, subpath = _key(session_id, directory), f"{_AGENTS}agent-{agent_id}"
    if has(session_store, "list_subkeys"):
        paths = await _agent_paths(session_store, key)
        subpath = next((path for path in paths if _name(path) == f"agent-{agent_id}"), "")
    entries = await session_store.load({**key, "subpath": subpath}) if subpath else None
    lines = _plain(entries or ())
    facts = [line for line in lines if line.get("type") == "agent_metadata"]
    said = [line for line in lines if line.get("type") != "agent_metadata"]
    loaded = gather(said, path=f"{session_id}.jsonl", sidechain=True)
    return said_by_agent(loaded, facts[-1] if facts else None, limit=limit, offset=offset)


async def rename_session_via_store(
    session_store: SessionStore, session_id: str, title: str, directory: str | None = None
) -> None:
    """Give a session a title.

    Raises:
        ValueError: the id is no UUID, or the title is blank.
    """
    require_uuid(session_id)
    if not (plain := title.strip()):
        raise ValueError("title must be non-empty")
    await _note(session_store, session_id, directory, type="custom-title", customTitle=plain)


async def tag_session_via_store(
    session_store: SessionStore, session_id: str, tag: str | None, directory: str | None = None
) -> None:
    """Set the tag of a session, or remove it with None.

    Raises:
        ValueError: the id is not a UUID, or the tag has no visible character.
    """
    require_uuid(session_id)
    plain = "" if tag is None else management.visible(tag)
    if tag is not None and not plain:
        raise ValueError("tag must be non-empty (use None to clear)")
    await _note(session_store, session_id, directory, type="tag", tag=plain)


async def delete_session_via_store(
    session_store: SessionStore, session_id: str, directory: str | None = None
) -> None:
    """Delete a session; does nothing if the store has no `delete`.

    Raises:
        ValueError: the id is no UUID.
    """
    require_uuid(session_id)
    if has(session_store, "delete"):
        await session_store.delete(_key(session_id, directory))


async def fork_session_via_store(
    session_store: SessionStore,
    session_id: str,
    directory: str | None = None,
    up_to_message_id: str | None = None,
    title: str | None = None,
) -> ForkSessionResult:
    """Copy a session under a new id.

    Args:
        session_store: the store.
        session_id: the session to copy.
        directory: the folder of the project; None for the current one.
        up_to_message_id: the uuid of the last message to copy; None copies all.
        title: the title of the copy; None derives one from the original.

    Raises:
        ValueError: an id is no UUID, or there is nothing to copy.
        FileNotFoundError: there is no such session.
    """
    require_uuid(session_id)
    if up_to_message_id:
        require_uuid(up_to_message_id, "up_to_message_id")
    loaded = await _load(session_store, session_id, directory)
    if loaded is None:
        raise FileNotFoundError(f"Session {session_id} not found")
    info = None
    if not (named := (title or "").strip()):
        info = await get_session_info_from_store(session_store, session_id, directory)
        shown = None if info is None else info.custom_title or info.first_prompt
        named = f"{shown or 'Forked session'} (fork)"
    try:
        fresh, rows = management.forked(loaded.chain, session_id, up_to=up_to_message_id or None, title=named)
    except SessionError as error:
        raise translated(error) from error
    await session_store.append(_key(fresh, directory), as_entries(rows))
    return ForkSessionResult(fresh)


async def _summaries(store: SessionStore, project: str) -> dict[str, SessionSummaryEntry]:
    if not has(store, "list_session_summaries"):
        return {}
    try:
        return {each["session_id"]: each for each in await store.list_session_summaries(project)}
    except NotImplementedError:
        return {}


async def _listed(
    store: SessionStore,
    project: str,
    listed: Sequence[SessionStoreListEntry],
    kept: dict[str, SessionSummaryEntry],
    *,
    cwd: str,
    limit: int | None,
    offset: int,
) -> list[SDKSessionInfo]:
    """The sessions that the store lists; those without a summary of their last write are loaded."""
    fresh = {
        each["session_id"]: kept[each["session_id"]]
        for each in listed
        if each["session_id"] in kept and kept[each["session_id"]]["mtime"] >= each["mtime"]
    }
    shown = {name: info for name, each in fresh.items() if (info := info_of(each, cwd)) is not None}
    wanted = [each for each in listed if each["session_id"] not in fresh or each["session_id"] in shown]
    wanted.sort(key=lambda each: each["mtime"], reverse=True)
    # With summaries most need no load, so a page is cut first; without any, only loading tells what counts.
    page = management.page(wanted, limit=limit, offset=offset) if kept else wanted
    gate = asyncio.Semaphore(_LOADS_AT_ONCE)

    async def look_at(each: SessionStoreListEntry) -> SDKSessionInfo | None:
        if (known := shown.get(each["session_id"])) is not None:
            return known
        async with gate:
            return await _loaded_info(store, project, each, cwd)

    found = [each for each in await asyncio.gather(*map(look_at, page)) if each is not None]
    return found if kept else management.page(_newest_first(found), limit=limit, offset=offset)


async def _loaded_info(
    store: SessionStore, project: str, listed: SessionStoreListEntry, cwd: str
) -> SDKSessionInfo | None:
    key: SessionKey = {"project_key": project, "session_id": listed["session_id"]}
    entries = await store.load(key)
    summary = fold_session_summary(None, key, entries or ())
    return info_of({**summary, "mtime": listed["mtime"]}, cwd)


async def _load(store: SessionStore, session_id: str, directory: str | None) -> Loaded | None:
    entries = await store.load(_key(session_id, directory)) if is_uuid(session_id) else None
    return gather(_plain(entries), path=f"{session_id}.jsonl") if entries else None


async def _agent_paths(store: SessionStore, key: SessionKey) -> list[str]:
    paths = await store.list_subkeys({"project_key": key["project_key"], "session_id": key["session_id"]})
    return [path for path in paths if path.startswith(_AGENTS) and _name(path).startswith("agent-")]


async def _note(store: SessionStore, session_id: str, directory: str | None, **fields: Any) -> None:
    row = {**fields, "sessionId": session_id, "uuid": new_uuid(), "timestamp": timestamp(time.time())}
    await store.append(_key(session_id, directory), as_entries([row]))


def _key(session_id: str, directory: str | None) -> SessionKey:
    return {"project_key": project_key_for_directory(directory), "session_id": session_id}


def _canonical(directory: str | None) -> str:
    return os.path.realpath(os.fspath(directory or os.getcwd()))


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _newest_first(found: list[SDKSessionInfo]) -> list[SDKSessionInfo]:
    return sorted(found, key=lambda info: info.last_modified, reverse=True)


def _plain(entries: Iterable[SessionStoreEntry]) -> list[dict[str, Any]]:
    """Lines of their own, because reading them puts some in order."""
    return [{**entry} for entry in entries]
