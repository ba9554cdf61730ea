"""Notes that a project provides for the memory of an agent: copied once, with a notice of newer ones."""

import os
import stat
from typing import Any, Literal

import msgspec

from bridle.host.files import read_bytes, write_atomic

_FACTS = "snapshot.json"
_RECORD = ".snapshot-synced.json"
_MOST_FILES = 100
_LARGEST = 1_000_000

SnapshotState = Literal["none", "initialize", "prompt-update"]

_NEWER = """

The project provides newer notes from {updated} in {snapshot}. Read them, and copy into your folder what \
is right and missing there."""


def take_snapshot(folder: str, snapshot: str) -> str:
    """Fill an empty memory from the project's notes; a sentence for the agent when they are only newer."""
    state, updated = check_snapshot(folder, snapshot)
    if state == "none":
        return ""
    try:
        if state == "initialize":
            _copy(snapshot, folder)
        write_atomic(os.path.join(folder, _RECORD), msgspec.json.encode({"syncedFrom": updated}))
    except OSError:
        return ""  # The agent does without; the next run tries again.
    return _NEWER.format(updated=updated, snapshot=snapshot) if state == "prompt-update" else ""


def check_snapshot(folder: str, snapshot: str) -> tuple[SnapshotState, str]:
    """Whether the project's notes are newer than a memory, and when they were written."""
    updated = _text(os.path.join(snapshot, _FACTS), "updatedAt")
    if not updated:
        return "none", ""
    try:
        empty = not any(name.endswith(".md") for name in os.listdir(folder))
    except OSError:
        empty = True
    if empty:
        return "initialize", updated
    synced = _text(os.path.join(folder, _RECORD), "syncedFrom")
    # Times in this form sort as texts.
    return ("prompt-update", updated) if not synced or updated > synced else ("none", updated)


def _copy(snapshot: str, folder: str) -> None:
    """Plain files only: a link could lead anywhere."""
    for name in sorted(os.listdir(snapshot))[:_MOST_FILES]:
        path = os.path.join(snapshot, name)
        facts = os.lstat(path)
        if name != _FACTS and stat.S_ISREG(facts.st_mode) and facts.st_size <= _LARGEST:
            write_atomic(os.path.join(folder, name), read_bytes(path, _LARGEST))


def _text(path: str, key: str) -> str:
    try:
        values = msgspec.json.decode(read_bytes(path, _LARGEST), type=dict[str, Any])
    except (OSError, msgspec.DecodeError):
        return ""
    value = values.get(key)
    return value[:100] if isinstance(value, str) else ""
