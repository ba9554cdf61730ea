"""Checkpoints as lines of a transcript."""

import os.path
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from bridle.transcripts.files.backups import Backup
from bridle.transcripts.line import decode_line
from bridle.types.entry import NoteEntry

Snapshots = dict[str, dict[str, Backup]]
"""The files of each prompt, by the uuid of its entry, oldest first."""

Stamp = tuple[int, ...] | None
"""How a file lies on disk; None where there is none."""

UNDONE, REDONE, _AFTER = "bridle-rewind", "bridle-redo", "bridle-files"
_OWN_MARKS = tuple(f'"{kind}"'.encode() for kind in (UNDONE, REDONE, _AFTER))
_MOST_STAMPS = 5_000

_MARK = b'"file-history-'
_LONGEST_PREFIX = 64


class Undone(Struct, frozen=True, kw_only=True):
    """A rewind that can be undone."""

    prompt: str
    leaf: str | None
    """The last entry of the conversation before it."""
    files: Mapping[str, Backup]
    """What it has changed, as it was."""


class EarlierState(Struct, frozen=True, kw_only=True):
    """What another process has left in the transcript."""

    undone: tuple[Undone, ...] = ()
    after: Mapping[str, Stamp] = {}
    contents: Mapping[str, str] = {}


NOTHING_EARLIER = EarlierState()


def undone_row(undone: Undone, now: str, *, cwd: str = "") -> NoteEntry:
    """The line that says how to take a rewind back."""
    files = {_short(path, cwd): backup.to_row(path) for path, backup in undone.files.items()}
    return {
        "type": UNDONE,
        "prompt": undone.prompt,
        "leafUuid": undone.leaf,
        "files": files,
        "timestamp": now,
    }


def after_row(after: Mapping[str, Stamp], contents: Mapping[str, str], now: str) -> NoteEntry:
    """The line that says how the files of a session lie on disk when it ends, and what small ones hold."""
    newest = dict(list(after.items())[-_MOST_STAMPS:])
    files = {path: stamp and list(stamp) for path, stamp in newest.items()}
    known = {path: digest for path, digest in contents.items() if path in newest}
    return {"type": _AFTER, "files": files, "contents": known, "timestamp": now}


def read_earlier(path: str, cwd: str) -> EarlierState:
    """What an earlier process has left: rewinds that no prompt followed, and how files lay on disk.

    Raises:
        OSError: the file cannot be read.
    """
    undone: list[Undone] = []
    after: dict[str, Stamp] = {}
    contents: dict[str, str] = {}
    with open(path, "rb") as file:
        for line in file:
            head = line[:_LONGEST_PREFIX]
            if b'"file-history-snapshot"' in head:
                undone.clear()
            elif any(mark in head for mark in _OWN_MARKS) and (row := decode_line(line)) is not None:
                _take_own(row, cwd, undone, after)
                given = row.get("contents")
                if isinstance(given, dict):
                    contents = {str(name): str(digest) for name, digest in given.items()}
    return EarlierState(undone=tuple(undone), after=after, contents=contents)


def _take_own(row: Mapping[str, Any], cwd: str, undone: list[Undone], after: dict[str, Stamp]) -> None:
    files: Any = row.get("files")
    match row.get("type"):
        case "bridle-rewind" if isinstance(files, dict):
            backups: dict[str, Backup] = {}
            for name, kept in files.items():
                _put(backups, name, kept, cwd)
            leaf = row.get("leafUuid")
            known = leaf if isinstance(leaf, str) else None
            undone.append(Undone(prompt=str(row.get("prompt")), leaf=known, files=backups))
        case "bridle-redo" if undone:
            undone.pop()
        case "bridle-files" if isinstance(files, dict):
            after.clear()
            for name, stamp in files.items():
                numbers = isinstance(stamp, list) and all(isinstance(each, int) for each in stamp)
                after[str(name)] = tuple(stamp) if numbers else None
        case _:
            pass


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
