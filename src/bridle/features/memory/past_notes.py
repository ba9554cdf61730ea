"""The notes of earlier sessions in a project, of which the first prompt of a new one gets previews."""

import os
import time
from typing import Any

import msgspec

from bridle.host.files import read_bytes, write_atomic

NOTES_FOLDER, NOTES_FILE = "session-memory", "summary.md"
_INDEX = "session-notes.json"
_MOST_KEPT = 20
_MOST_SHOWN = 3
_PREVIEW_LINES = 12
_PREVIEW_CHARS = 700
_LARGEST = 100_000


def note_session(folder: str, path: str, text: str, *, now: float) -> None:
    """Put a session at the head of the list of those with notes."""
    others = [each for each in _known(folder) if each["path"] != path][: _MOST_KEPT - 1]
    lines = [line for line in text.splitlines() if line.strip() and not _is_form(line)]
    preview = "\n".join(lines[:_PREVIEW_LINES])[:_PREVIEW_CHARS]
    row = {"path": path, "time": now, "preview": preview, "more": max(0, len(lines) - _PREVIEW_LINES)}
    write_atomic(os.path.join(folder, _INDEX), msgspec.json.encode([row, *others]), mode=0o600)


def past_notes(folder: str, *, own: str) -> tuple[str | None, tuple[str, ...]]:
    """Previews of the newest notes of other sessions, and the folders of these notes."""
    found = [
        each
        for each in _known(folder)
        if each["preview"] and not each["path"].startswith(os.path.join(own, ""))
    ][:_MOST_SHOWN]
    found = [each for each in found if os.path.exists(each["path"])]
    if not found:
        return None, ()
    parts = [_shown(each) for each in found]
    text = (
        "<session-memory>\nNotes of earlier sessions in this project. They may be old, or about something "
        "else. Read a file in full only when it matters for what is asked now.\n\n"
        + "\n\n".join(parts)
        + "\n</session-memory>"
    )
    return text, tuple(os.path.dirname(each["path"]) for each in found)


def _shown(row: dict[str, Any]) -> str:
    date = time.strftime("%Y-%m-%d", time.localtime(row["time"]))
    more = f"\n({row['more']} more lines in the full file)" if row["more"] else ""
    return f"## Previous session ({date})\nFull notes: {row['path']}\n{row['preview']}{more}"


def _known(folder: str) -> list[dict[str, Any]]:
    """The list; a broken file counts as none."""
    try:
        given = msgspec.json.decode(
            read_bytes(os.path.join(folder, _INDEX), _LARGEST), type=list[dict[str, Any]]
        )
    except (OSError, msgspec.DecodeError):
        return []
    return [each for each in given if _fits(each)]


def _fits(row: dict[str, Any]) -> bool:
    match row:
        case {"path": str(path), "time": float() | int(), "preview": str(), "more": int()}:
            return os.path.isabs(path) and path.endswith(os.path.join(NOTES_FOLDER, NOTES_FILE))
        case _:
            return False


def _is_form(line: str) -> bool:
    """A heading or the line in italics below it, on which nothing was written."""
    return line.startswith("#") or (line.startswith("_") and line.endswith("_"))
