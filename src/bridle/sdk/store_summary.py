"""What a list shows of a transcript that is kept in a store, gathered line by line."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from bridle.sdk.store_types import SessionKey, SessionStoreEntry, SessionSummaryEntry
from bridle.transcripts.listing import SessionInfo, prompt_in

_LAST = {
    "customTitle": "custom_title",
    "aiTitle": "ai_title",
    "lastPrompt": "last_prompt",
    "summary": "summary_hint",
    "gitBranch": "git_branch",
}
"""Texts of lines of which the last one counts, and where they are kept."""


def fold_session_summary(
    prev: SessionSummaryEntry | None, key: SessionKey, entries: Iterable[SessionStoreEntry]
) -> SessionSummaryEntry:
    """Bring the summary of a session up to date with lines that were appended; the store sets `mtime`.

    Args:
        prev: the summary so far; None for a new session.
        key: the transcript of the session.
        entries: the lines that were appended.
    """
    data = {} if prev is None else dict(prev["data"])
    for entry in entries:
        _fold(data, entry)
    session_id, mtime = (key["session_id"], 0) if prev is None else (prev["session_id"], prev["mtime"])
    return {"session_id": session_id, "mtime": mtime, "data": data}


def info_of(summary: SessionSummaryEntry, cwd: str) -> SessionInfo | None:
    """The session as lists show it; None for the conversation of an agent, or one with nothing to show."""
    data = summary["data"]
    first = data.get("first_prompt") if data.get("first_prompt_locked") else data.get("command_fallback")
    title = data.get("custom_title") or data.get("ai_title")
    shown = title or data.get("last_prompt") or data.get("summary_hint") or first
    if data.get("is_sidechain") or not shown:
        return None
    return SessionInfo(
        session_id=summary["session_id"],
        summary=shown,
        last_modified=summary["mtime"],
        custom_title=title or None,
        first_prompt=first or None,
        git_branch=data.get("git_branch") or None,
        cwd=data.get("cwd") or cwd,
        tag=data.get("tag") or None,
        created_at=data.get("created_at"),
    )


def milliseconds(timestamp: object) -> int | None:
    """A time of a transcript as milliseconds since the epoch."""
    try:
        return int(datetime.fromisoformat(str(timestamp)).timestamp() * 1000)
    except ValueError:
        return None


def _fold(data: dict[str, Any], entry: Mapping[str, Any]) -> None:
    data.setdefault("is_sidechain", entry.get("isSidechain") is True)
    if "created_at" not in data and (created := milliseconds(entry.get("timestamp"))) is not None:
        data["created_at"] = created
    if "cwd" not in data and isinstance(cwd := entry.get("cwd"), str) and cwd:
        data["cwd"] = cwd
    if not data.get("first_prompt_locked"):
        asked, command = prompt_in(entry)
        if asked is not None:
            data |= {"first_prompt": asked, "first_prompt_locked": True}
        elif command is not None:
            data.setdefault("command_fallback", command)
    for source, name in _LAST.items():
        if isinstance(text := entry.get(source), str):
            data[name] = text
    if entry.get("type") == "tag":
        data["tag"] = entry.get("tag") or None
