"""Checkpoints as lines of a transcript."""

import os.path
from collections.abc import Mapping
from typing import Any

from bridle.transcripts.backups import Backup
from bridle.transcripts.line import decode_line
from bridle.types.entry import NoteEntry

Snapshots = dict[str, dict[str, Backup]]
"""The files of each prompt, by the uuid of its entry, oldest first."""

_MARK = b'"file-history-'
_LONGEST_PREFIX = 64


def snapshot_row(prompt: str, backups: Mapping[str, Backup], now: str, *, cwd: str = "") -> NoteEntry:
    """The line that begins a checkpoint; files below `cwd` are named from there, as Claude Code does."""
    tracked = {_short(path, cwd): backup.to_row(path) for path, backup in backups.items()}
    return {
        "type": "file-history-snapshot",
        "messageId": prompt,
        "snapshot": {"messageId": prompt, "trackedFileBackups": tracked, "timestamp": now},
        "isSnapshotUpdate": False,
    }


def delta_row(
    prompt: str, path: str, backup: Backup, now: str, *, cwd: str = "", call: str | None = None
) -> NoteEntry:
    """The line that adds a file to a checkpoint; `call` is the entry whose call changes the file."""
    return {
        "type": "file-history-delta",
        "messageId": call or prompt,
        "snapshotMessageId": prompt,
        "trackingPath": _short(path, cwd),
        "backup": backup.to_row(path),
        "timestamp": now,
    }


def read_snapshots(path: str, cwd: str) -> Snapshots:
    """All checkpoints in a transcript; other programs may write paths relative to `cwd`.

    Raises:
        OSError: the file cannot be read.
    """
    found: Snapshots = {}
    with open(path, "rb") as file:
        for line in file:
            # Most lines are long and none of ours: only their beginning is looked at.
            if _MARK in line[:_LONGEST_PREFIX] and (row := decode_line(line)) is not None:
                _take(found, row, cwd)
    return found


def _take(found: Snapshots, row: Mapping[str, Any], cwd: str) -> None:
    match row:
        case {
            "type": "file-history-snapshot",
            "snapshot": {"messageId": str() as prompt, "trackedFileBackups": dict() as tracked},
        }:
            backups = found.setdefault(prompt, {})
            for path, kept in tracked.items():
                _put(backups, path, kept, cwd)
        case {
            "type": "file-history-delta",
            "messageId": str() as message,
            "trackingPath": str() as path,
            "backup": dict() as kept,
        }:
            prompt = row.get("snapshotMessageId")
            _put(found.setdefault(prompt if isinstance(prompt, str) else message, {}), path, kept, cwd)
        case _:
            pass  # A newer form: what it says is not known here.


def _short(path: str, cwd: str) -> str:
    below = cwd.rstrip("/") + "/"
    return path[len(below) :] if cwd and path.startswith(below) else path


def _put(backups: dict[str, Backup], path: object, kept: object, cwd: str) -> None:
    if isinstance(path, str) and isinstance(kept, dict) and (backup := Backup.from_row(kept)) is not None:
        backups[os.path.normpath(os.path.join(cwd, path))] = backup
