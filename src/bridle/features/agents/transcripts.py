"""What is kept of agents that have ended, so that they can be resumed."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from bridle.engine.runtime import Runtime
from bridle.engine.turn import Turn
from bridle.features.agents.builtin import FORK
from bridle.features.agents.records import transcript_path
from bridle.host.files import make_folders, read_bytes, write_atomic
from bridle.transcripts.line import decode_line, encode_line
from bridle.transcripts.pending_rows import restored
from bridle.transcripts.reader import load
from bridle.transcripts.store import lookup
from bridle.transcripts.transcript import Transcript
from bridle.types.entry import TAKEN_OVER, ConversationEntry
from bridle.types.errors import ToolError

_NO_RESUME = "No transcript found for agent ID: {}"
_LARGEST = 1 << 30


def read_meta(runtime: Runtime, agent_id: str) -> dict[str, Any]:
    """What is kept about an agent beside its conversation."""
    path = transcript_path(runtime, os.path.basename(agent_id))
    try:
        with open(path.removesuffix(".jsonl") + ".meta.json", "rb") as file:
            return msgspec.json.decode(file.read(), type=dict[str, Any])
    except (OSError, msgspec.DecodeError):
        return {}


def remembered(turn: Turn, agent_id: str, meta: Mapping[str, Any]) -> list[ConversationEntry]:
    """The conversation of an agent.

    Raises:
        ToolError: there is none.
    """
    path = transcript_path(turn.runtime, os.path.basename(agent_id))
    try:
        loaded = load(path, sidechain=True)
    except OSError:
        raise ToolError(_NO_RESUME.format(agent_id)) from None
    if not loaded.entries:
        raise ToolError(_NO_RESUME.format(agent_id))
    _write_pending(path, loaded.pending)
    entries = loaded.entries
    if meta.get("agentType") == FORK:
        entries = [*_before_fork(turn, entries[0]["parentUuid"], agent_id), *entries]
    return entries


def _write_pending(path: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write what an agent had said in an answer that its process did not live to see the end of."""
    writer = Transcript(path, warn=lambda _: None, durable=False)
    writer.append(rows)
    writer.close()


def _before_fork(turn: Turn, leaf: str | None, agent_id: str) -> list[ConversationEntry]:
    """The part of a fork's conversation that it shares with the one it came from."""
    entries = turn.session.entries
    at = next((index for index, entry in enumerate(entries) if entry["uuid"] == leaf), None)
    if at is None:
        raise ToolError(f"The fork {agent_id} cannot be resumed: its conversation was compacted since.")
    last = entries[at]
    answer = last["message"].get("id") if last["type"] == "assistant" else None
    first = next(
        (
            index
            for index, entry in enumerate(entries)
            if entry["type"] == "assistant" and entry["message"].get("id") == answer
        ),
        at,
    )
    return [
        entry
        for index, entry in enumerate(entries[: at + 1])
        if index < first or entry["type"] == "assistant"
    ]


def take_over_transcript(runtime: Runtime, agent_id: str, session_id: str) -> None:
    """Continue an agent here that had a process, and so a conversation, of its own before.

    Raises:
        ToolError: its conversation cannot be read or kept.
    """
    path = transcript_path(runtime, os.path.basename(agent_id))
    before = lookup(session_id, runtime.workspace.start, runtime.env)
    if before is None:
        raise ToolError(_NO_RESUME.format(agent_id))
    try:
        known = read_bytes(path, _LARGEST) if os.path.exists(path) else b""
        rows = filter(None, restored(map(decode_line, read_bytes(before, _LARGEST).splitlines()), []))
        new = [row for row in rows if isinstance(row.get("uuid"), str) and row["uuid"].encode() not in known]
        lines = [encode_line(_as_agents(row, agent_id)) for row in new]
        make_folders(os.path.dirname(path), private=True)
        write_atomic(path, known + b"".join(lines), mode=0o600)
    except OSError as error:
        raise ToolError(f"Could not copy the agent's conversation: {error.strerror}.") from error


def _as_agents(row: dict[str, Any], agent_id: str) -> dict[str, Any]:
    kept = {key: value for key, value in row.items() if key not in ("teamName", "agentName")}
    return {**kept, "isSidechain": True, "agentId": agent_id, TAKEN_OVER: row.get("sessionId")}
