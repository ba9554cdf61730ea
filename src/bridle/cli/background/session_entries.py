"""Every session of this user, as it is listed for programs and people."""

import os
import time
from collections.abc import Mapping
from typing import Any

from bridle.cli.background.job_lookup import all_jobs, is_live
from bridle.cli.background.session_files import interactive_sessions
from bridle.host.jobs import records

_STATUS = {"working": "busy", "blocked": "waiting"}
_PUBLIC = ("cwd", "kind", "startedAt", "id", "state", "pid", "status", "waitingFor", "sessionId", "name")


def public_entries(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each session as programs get it."""
    return [{key: entry[key] for key in _PUBLIC if key in entry} for entry in entries]


def sessions(env: Mapping[str, str], *, cwd: str | None = None, ended: bool = False) -> list[dict[str, Any]]:
    """All that is known of each session, oldest first."""
    found = [_entry(facts) for _, facts in all_jobs(env) if ended or is_live(facts)]
    inside = {entry.get("sessionId") for entry in found}
    found += [each for each in interactive_sessions(env) if each.get("sessionId") not in inside]
    return [
        entry
        for entry in sorted(found, key=lambda each: each.get("startedAt", 0))
        if cwd is None or os.path.realpath(str(entry.get("cwd"))) == cwd
    ]


def _entry(facts: records.Facts) -> dict[str, Any]:
    entry: dict[str, Any] = {**facts, "kind": "background"}
    if is_live(facts):
        entry["status"] = _STATUS.get(str(facts.get("state")), "idle")
    else:
        for key in ("pid", "status", "waitingFor"):
            entry.pop(key, None)
    return entry


def age(entry: Mapping[str, Any]) -> str:
    """How long ago a session began, in few letters."""
    seconds = max(int(time.time() - float(entry.get("startedAt", 0)) / 1000), 0)
    for size, letter in ((86_400, "d"), (3_600, "h"), (60, "m")):
        if seconds >= size:
            return f"{seconds // size}{letter}"
    return f"{seconds}s"
