"""Where the record of an agent is kept, and how many there may be."""

import os
from collections.abc import Mapping
from typing import Any

import msgspec

from bridle.engine.assignment import Assignment
from bridle.engine.runtime import Runtime
from bridle.engine.turn import Turn
from bridle.host.files import make_folders, read_bytes

PROCESS_SESSION = "processSession"
"""What the record of a member in a process of its own calls that process's conversation."""
_MOST_LOOKED_AT = 500
_MOST_AT_ONCE = 20


def transcript_path(runtime: Runtime, agent_id: str) -> str:
    """The file of an agent's conversation."""
    return os.path.join(runtime.records.storage, "subagents", f"agent-{agent_id}.jsonl")


def output_path(runtime: Runtime, agent_id: str) -> str:
    """The log file of an agent."""
    return os.path.join(runtime.records.storage, "tasks", f"{agent_id}.output")


def write_meta(
    turn: Turn, work: Assignment, *, process_session: str | None = None, finished: bool = False
) -> None:
    """Keep what a resume must know; without a transcript there is nothing to resume.

    `process_session` is the conversation of a member that has a process of its own.
    """
    runtime = turn.runtime
    if runtime.records.transcript is None:
        return
    meta = {
        "agentType": work.definition.name,
        "isBuiltIn": work.definition.source == "builtin",
        "description": work.description,
        "toolUseId": work.call_id,
        "spawnDepth": work.depth,
        "requestShape": "background" if work.background else "foreground",
        "requestNonInteractive": turn.session.entrypoint != "cli",
        "pickedEffortModel": work.model,
        "model": work.model,
        **({"name": work.name} if work.name else {}),
        **({PROCESS_SESSION: process_session} if process_session else {}),
        **({"worktreePath": work.place.path} if work.place is not None else {}),
        **({"finished": True} if finished else {}),
    }
    path = os.path.join(runtime.records.storage, "subagents", f"agent-{work.agent_id}.meta.json")
    try:
        make_folders(os.path.dirname(path), private=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(path, flags, 0o600), "wb") as file:
            file.write(msgspec.json.encode(meta))
    except OSError:
        pass  # The agent works all the same; it only cannot be found again by a later process.


def named_before(storage: str, name: str) -> str | None:
    """The newest agent of a name that an earlier process of the session has run."""
    folder = os.path.join(storage, "subagents")
    try:
        found = [entry for entry in os.scandir(folder) if entry.name.endswith(".meta.json")]
    except OSError:
        return None
    for entry in sorted(found, key=lambda each: each.stat().st_mtime, reverse=True)[:_MOST_LOOKED_AT]:
        try:
            meta = msgspec.json.decode(read_bytes(entry.path, 100_000), type=dict[str, Any])
        except (OSError, msgspec.DecodeError):
            continue  # A broken record costs only itself.
        if meta.get("name") == name:
            return entry.name.removeprefix("agent-").removesuffix(".meta.json")
    return None


def most_at_once(env: Mapping[str, str]) -> int:
    """How many agents may be running."""
    text = env.get("CLAUDE_CODE_MAX_CONCURRENT_SUBAGENTS", "")
    return int(text) if text.isdecimal() and int(text) else _MOST_AT_ONCE


def most_depth(env: Mapping[str, str]) -> int:
    """How deep agents may start agents."""
    text = env.get("CLAUDE_CODE_MAX_SUBAGENT_SPAWN_DEPTH", "")
    return int(text) if text.isdecimal() and int(text) else 3


def stall_seconds(env: Mapping[str, str]) -> float:
    """How long an agent in the background may show no progress."""
    text = env.get("CLAUDE_ASYNC_AGENT_STALL_TIMEOUT_MS", "")
    return int(text) / 1000 if text.isdecimal() and int(text) else 600.0
