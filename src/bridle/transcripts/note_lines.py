"""Lines of a transcript that are no part of the conversation, for those who list, count or resume it."""

from collections.abc import Sequence
from typing import Any, Literal

from bridle.transcripts.line import timestamp
from bridle.types.block import AssistantMessage
from bridle.types.entry import SIDE_CALL, NoteEntry
from bridle.version import COMPATIBLE_WITH

_LONGEST_SHOWN = 200


def queue_lines(
    how: Literal["dequeue", "remove"], content: Any, *, session: str, now: float
) -> list[NoteEntry]:
    """That a prompt waited, and was taken for a turn of its own or into the one that runs."""
    line: NoteEntry = {"type": "queue-operation", "timestamp": timestamp(now), "sessionId": session}
    words = {"content": content} if isinstance(content, str) else {}
    taken = {**line, "operation": how, **(words if how == "remove" else {})}
    return [{**line, "operation": "enqueue", **words}, taken]


def call_line(
    message: AssistantMessage,
    *,
    purpose: str,
    request_id: str | None,
    usd: float,
    session: str,
    agent: str | None,
    cwd: str,
    now: float,
) -> NoteEntry:
    """A model call that no row of the conversation tells of, so that all sums have it."""
    counted = {key: message[key] for key in ("id", "type", "role", "model", "stop_reason", "usage")}
    line: NoteEntry = {
        "type": SIDE_CALL,
        "purpose": purpose,
        "timestamp": timestamp(now),
        "sessionId": session,
        "cwd": cwd,
        "version": COMPATIBLE_WITH,
        "requestId": request_id or message["id"],
        "message": counted,
    }
    if usd:
        line["costUSD"] = usd
    if agent is not None:
        line["agentId"] = agent
    return line


def mode_lines(permission_mode: str | None, *, session: str) -> Sequence[NoteEntry]:
    """What opens a conversation at a terminal, and one that is resumed; None where there is no such mode."""
    lines: list[NoteEntry] = [{"type": "mode", "mode": "normal", "sessionId": session}]
    if permission_mode is not None:
        lines.append({"type": "permission-mode", "permissionMode": permission_mode, "sessionId": session})
    return lines


def last_prompt_line(prompt: str, leaf: str | None, *, session: str) -> NoteEntry:
    """What lists of sessions show; they read only the ends of a file."""
    shown = prompt if len(prompt) <= _LONGEST_SHOWN else f"{prompt[:_LONGEST_SHOWN]}…"
    return {"type": "last-prompt", "lastPrompt": shown, "leafUuid": leaf, "sessionId": session}
