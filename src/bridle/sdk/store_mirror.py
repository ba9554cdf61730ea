"""Copies what a session writes to its transcript into a store of the program, and brings it back."""

import asyncio
import os
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from bridle.host.files import make_folders, write_atomic
from bridle.host.paths import project_dir, projects_dir
from bridle.sdk.callbacks import try_to
from bridle.sdk.errors import CLIConnectionError
from bridle.sdk.options import Options
from bridle.sdk.sessions import project_key_for_directory, require_uuid
from bridle.sdk.store_types import SessionKey, SessionStore, SessionStoreEntry, as_entries, has
from bridle.transcripts.agent_transcripts import agent_files
from bridle.transcripts.line import decode_line, encode_line, is_uuid
from bridle.transcripts.listing import locate
from bridle.transcripts.transcript import agent_facts

MOST_ENTRIES = 500
_MOST_BYTES = 1024 * 1024
_SECONDS = 60.0
_PAUSES = (0.2, 0.8)
"""Seconds between the attempts to write to a store."""
_SUBPATH = re.compile(r"[A-Za-z0-9_-]+(/[A-Za-z0-9_-]+)*")
_Loaded = TypeVar("_Loaded")
_Failed = Callable[[SessionKey, str], None]


class StoreMirror:
    """Takes lines as they are written and puts them into the store, in their order.

    With `eager` it does so at once, otherwise when a turn is over or many lines have come. A store that fails
    costs the session nothing: the lines are on disk, and `failed` is called.
    """

    def __init__(self, store: SessionStore, projects: str, *, eager: bool) -> None:
        self._store = store
        self._projects = projects
        self._eager = eager
        self._pending: dict[str, list[SessionStoreEntry]] = {}
        self._count = 0
        self._order = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self.failed: _Failed = lambda _key, _error: None

    def take(self, path: str, entries: Sequence[Mapping[str, object]]) -> None:
        """More lines were written to a file."""
        self._pending.setdefault(path, []).extend(as_entries(entries))
        self._count += len(entries)
        if self._eager or self._count >= MOST_ENTRIES:
            task = asyncio.create_task(self.flush())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def flush(self) -> None:
        """Put into the store what has come so far."""
        async with self._order:
            pending, self._pending, self._count = self._pending, {}, 0
            for path, entries in pending.items():
                if (key := key_of(path, self._projects)) is not None:
                    await self._append(key, entries)

    async def close(self) -> None:
        await asyncio.gather(*self._tasks)
        await self.flush()

    async def _append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        error: Exception | None = None
        for pause in (0.0, *_PAUSES):
            await asyncio.sleep(pause)
            error = await try_to(self._store.append(key, entries), seconds=_SECONDS)
            # What took too long may still arrive: another attempt could write it twice.
            if error is None or isinstance(error, TimeoutError):
                break
        if error is not None:
            self.failed(key, str(error) or type(error).__name__)


def key_of(path: str, projects: str) -> SessionKey | None:
    """The key of a transcript file: of a session, or of an agent below it; None for any other file."""
    parts = os.path.relpath(path, projects).removesuffix(".jsonl").split(os.sep)
    if parts[0] == ".." or len(parts) < 2 or len(parts) == 3:
        return None
    key: SessionKey = {"project_key": parts[0], "session_id": parts[1]}
    return {**key, "subpath": "/".join(parts[2:])} if len(parts) > 2 else key


async def import_session_to_store(
    session_id: str,
    store: SessionStore,
    *,
    directory: str | None = None,
    include_subagents: bool = True,
    batch_size: int = MOST_ENTRIES,
) -> None:
    """Copy a conversation from disk into a store.

    Args:
        session_id: the conversation.
        store: where it goes.
        directory: its folder; None to look in all folders.
        include_subagents: also copy the transcripts of its agents.
        batch_size: how many lines are appended at once.

    Raises:
        ValueError: the id is not a UUID.
        FileNotFoundError: there is no such conversation.
    """
    require_uuid(session_id)
    if (path := locate(session_id, os.environ, directory)) is None:
        raise FileNotFoundError(f"Session {session_id} not found")
    most = batch_size if batch_size > 0 else MOST_ENTRIES
    project = os.path.basename(os.path.dirname(path))
    key: SessionKey = {"project_key": project, "session_id": session_id}
    await _import(path, key, store, most)
    folder = path.removesuffix(".jsonl")
    for _, file in agent_files(path) if include_subagents else ():
        below = os.path.relpath(file, folder).removesuffix(".jsonl").replace(os.sep, "/")
        of_agent: SessionKey = {**key, "subpath": below}
        await _import(file, of_agent, store, most)
        if (facts := agent_facts(file)) is not None:
            await store.append(of_agent, as_entries([{**facts, "type": "agent_metadata"}]))


async def bring_back(options: Options, cwd: str, env: Mapping[str, str]) -> Options:
    """The options to resume with, once what the store has of the conversation is on disk.

    Lines that are only on disk stay; those that are only in the store come behind them.

    Raises:
        ValueError: the options cannot be had with this store.
        CLIConnectionError: the store cannot be read.
    """
    store: SessionStore = options.session_store
    if options.enable_file_checkpointing:
        raise ValueError("session_store cannot be combined with enable_file_checkpointing: files stay here.")
    if options.resume is None and not options.continue_conversation:
        return options
    project, seconds = project_key_for_directory(cwd), options.load_timeout_ms / 1000
    found = await _wanted(options, store, project, seconds)
    if found is None:
        return options
    session_id, entries = found
    folder = project_dir(cwd, env)
    _write(os.path.join(folder, f"{session_id}.jsonl"), entries)
    if has(store, "list_subkeys"):
        subkeys = store.list_subkeys({"project_key": project, "session_id": session_id})
        for subpath in await _in_time(subkeys, seconds, "list_subkeys"):
            if _SUBPATH.fullmatch(subpath) is not None:
                key: SessionKey = {"project_key": project, "session_id": session_id, "subpath": subpath}
                lines = await _in_time(store.load(key), seconds, "load")
                _write_agent(os.path.join(folder, session_id, *subpath.split("/")), lines or [])
    return options.replace(resume=session_id, continue_conversation=False)


def mirror_for(options: Options, env: Mapping[str, str]) -> StoreMirror | None:
    """Who copies the transcript of a session, where the program has a store for it."""
    if options.session_store is None:
        return None
    eager = options.session_store_flush == "eager"
    return StoreMirror(options.session_store, projects_dir(env), eager=eager)


async def _wanted(
    options: Options, store: SessionStore, project: str, seconds: float
) -> tuple[str, list[SessionStoreEntry]] | None:
    """The conversation to resume and its lines, if the store has it."""
    if options.resume is not None:
        names = [options.resume] if is_uuid(options.resume) else []
    elif has(store, "list_sessions"):
        listed = await _in_time(store.list_sessions(project), seconds, "list_sessions")
        newest = sorted(listed, key=lambda each: each["mtime"], reverse=True)
        names = [each["session_id"] for each in newest if is_uuid(each["session_id"])]
    else:
        raise ValueError("continue_conversation with session_store needs a store with list_sessions().")
    for name in names:
        entries = await _in_time(store.load({"project_key": project, "session_id": name}), seconds, "load")
        if entries and dict(entries[0]).get("isSidechain") is not True:
            return name, entries
    return None


async def _in_time(work: Awaitable[_Loaded], seconds: float, method: str) -> _Loaded:
    try:
        async with asyncio.timeout(seconds):
            return await work
    except TimeoutError as error:
        raise CLIConnectionError(f"SessionStore.{method}() took more than {seconds:g} s.") from error


async def _import(path: str, key: SessionKey, store: SessionStore, most: int) -> None:
    rows = await asyncio.to_thread(_read, path)
    batch: list[dict[str, Any]] = []
    size = 0
    for row, length in rows:
        batch.append(row)
        size += length
        if len(batch) >= most or size >= _MOST_BYTES:
            await store.append(key, as_entries(batch))
            batch, size = [], 0
    if batch:
        await store.append(key, as_entries(batch))


def _read(path: str) -> list[tuple[dict[str, Any], int]]:
    """The lines of a file that can be read, with their lengths."""
    with open(path, "rb") as file:
        found = ((decode_line(line), len(line)) for line in file if not line.isspace())
        return [(row, length) for row, length in found if row is not None]


def _write(path: str, entries: Sequence[SessionStoreEntry]) -> None:
    known = {str(row.get("uuid")) for row, _ in (_read(path) if os.path.exists(path) else ())}
    fresh = [entry for entry in entries if entry.get("uuid") not in known] if known else entries
    if not fresh:
        return
    make_folders(os.path.dirname(path), private=True)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600), "ab") as file:
        file.write(b"".join(encode_line({**entry}) for entry in fresh))


def _write_agent(path: str, entries: Sequence[SessionStoreEntry]) -> None:
    facts = [entry for entry in entries if entry["type"] == "agent_metadata"]
    _write(f"{path}.jsonl", [entry for entry in entries if entry["type"] != "agent_metadata"])
    if facts and os.path.isdir(os.path.dirname(path)):
        kept = {name: value for name, value in facts[-1].items() if name != "type"}
        write_atomic(f"{path}.meta.json", msgspec.json.encode(kept), mode=0o600)
