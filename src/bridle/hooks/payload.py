"""The input of a hook: what is true of the session, then what the event brings."""

from typing import Any

import msgspec
from msgspec import Struct

from bridle.types.hooks.events import HookEvent
from bridle.types.text import encodable_value

_KNOW_THE_MODE = frozenset((
    "UserPromptSubmit", "UserPromptExpansion", "PreToolUse", "PermissionRequest", "PermissionDenied",
    "PostToolUse", "PostToolUseFailure", "PostToolBatch", "Stop", "SubagentStart", "SubagentStop",
    "TaskCreated", "TaskCompleted", "TeammateIdle",
))  # fmt: skip
"""Events about tools and prompts, and the ends of what they started."""


class HookContext(Struct, frozen=True, kw_only=True):
    """The fields of every hook's input, as they are when the event happens."""

    session_id: str
    transcript_path: str
    cwd: str
    permission_mode: str | None = None
    prompt_id: str | None = None
    effort: str | None = None
    agent_id: str | None = None
    agent_type: str | None = None
    """Both None on the main thread."""
    scratchpad_dir: str | None = None


def payload(context: HookContext, event: HookEvent) -> dict[str, Any]:
    """The input as an object with the names that hooks know; what is not known is left out."""
    mode = context.permission_mode if event.name in _KNOW_THE_MODE else None
    common: dict[str, Any] = {
        "session_id": context.session_id,
        "transcript_path": context.transcript_path,
        "cwd": context.cwd,
        "prompt_id": context.prompt_id,
        "permission_mode": "default" if mode == "manual" else mode,
        "effort": None if context.effort is None else {"level": context.effort},
        "agent_id": context.agent_id,
        "agent_type": context.agent_type,
        "scratchpad_dir": context.scratchpad_dir,
    }
    known = {name: value for name, value in common.items() if value is not None}
    # Fields that may be missing are left out by the event itself, and its name is among them.
    return {**known, **msgspec.to_builtins(event)}


def encode(input: dict[str, Any]) -> bytes:
    """The input as one line of JSON, whatever the texts in it are made of."""
    try:
        data = msgspec.json.encode(input)
    except UnicodeEncodeError:
        data = msgspec.json.encode(encodable_value(input))
    return data + b"\n"
