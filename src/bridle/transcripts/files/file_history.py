"""Opens the checkpoints of a session: new, from its transcript, or from the session it was forked from."""

import os
from collections.abc import Mapping

from bridle.host.paths import config_home
from bridle.transcripts.files.backups import Backup, BackupFolder
from bridle.transcripts.files.checkpoint_entries import (
    NOTHING_EARLIER,
    EarlierState,
    Snapshots,
    read_earlier,
    read_snapshots,
    snapshot_row,
)
from bridle.transcripts.files.checkpoints import CheckpointContext, FileCheckpoints
from bridle.transcripts.line import timestamp
from bridle.transcripts.origins import forked_from, origin_of
from bridle.transcripts.session import Session
from bridle.transcripts.store import lookup, transcript_path
from bridle.types.entry import ConversationEntry


def open_checkpoints(
    session: Session, around: CheckpointContext, *, env: Mapping[str, str], storage: str | None = None
) -> FileCheckpoints:
    """The checkpoints of a session; with `storage` its copies lie there and go with it."""
    folder = BackupFolder(
        _folder(session.id, env) if storage is None else os.path.join(storage, "file-history")
    )
    path = transcript_path(session.id, session.cwd, env)
    known = _read(path, session.cwd)
    origin = origin_of(session.entries)
    if not known and origin is not None:
        known = _taken_over(session, origin, folder, env)
        for prompt, backups in known.items():
            around.note(snapshot_row(prompt, backups, timestamp(around.clock()), cwd=around.cwd))
    before = _earlier(path, session.cwd) if known else NOTHING_EARLIER
    return FileCheckpoints(folder, around, known=known, ephemeral=storage is not None, before=before)


def remove_copies(session_id: str, env: Mapping[str, str]) -> None:
    """Remove what was kept for a session."""
    BackupFolder(_folder(session_id, env)).remove()


def _folder(session_id: str, env: Mapping[str, str]) -> str:
    return os.path.join(config_home(env), "file-history", session_id)


def _read(path: str, cwd: str) -> Snapshots:
    try:
        return read_snapshots(path, cwd)
    except OSError:
        return {}


def _earlier(path: str, cwd: str) -> EarlierState:
    try:
        return read_earlier(path, cwd)
    except OSError:
        return NOTHING_EARLIER


def _taken_over(session: Session, origin: str, folder: BackupFolder, env: Mapping[str, str]) -> Snapshots:
    """The checkpoints of prompts that came along, under the uuids that they have here."""
    path = lookup(origin, session.cwd, env)
    theirs = {} if path is None else _read(path, session.cwd)
    there = BackupFolder(_folder(origin, env))
    found: Snapshots = {}
    for entry in session.entries:
        prompt = _uuid_there(entry)
        if prompt in theirs:
            found[entry["uuid"]] = _adopted(theirs[prompt], folder, there)
    return found


def _adopted(backups: Mapping[str, Backup], folder: BackupFolder, other: BackupFolder) -> dict[str, Backup]:
    for backup in backups.values():
        if backup.name is not None:
            folder.adopt(backup.name, other)
    return dict(backups)


def _uuid_there(entry: ConversationEntry) -> str:
    there = forked_from(entry).get("messageUuid")
    return there if isinstance(there, str) else entry["uuid"]
