"""Events to try hooks on: one example of each, and what the user puts in its place."""

from collections.abc import Mapping
from typing import Any

import msgspec

from bridle.tools.catalog import CATALOG, traits_of
from bridle.types.errors import UsageError
from bridle.types.hooks.events import EVENTS, HookEvent
from bridle.types.nearest import did_you_mean

_USUAL_TOOL = next(listing.name for listing in CATALOG if listing.traits.kind == "command")
_SWITCH: dict[str, Any] = {
    "from_model": "sonnet",
    "to_model": "opus",
    "context_tokens": 1000,
    "prompt_cache_warm": True,
    "cache_ttl": "5m",
    "estimated_cache_write_usd": 0.01,
}
_AGENT: dict[str, Any] = {"agent_id": "agent-sample", "agent_type": "general-purpose"}
_TASK: dict[str, Any] = {"task_id": "1", "task_subject": "A sample task"}
_DONE = {"stdout": "hello", "stderr": "", "interrupted": False}
_SAMPLES: dict[str, dict[str, Any]] = {
    "SessionStart": {"source": "startup"},
    "Setup": {"trigger": "init"},
    "UserPromptSubmit": {"prompt": "A sample prompt"},
    "UserPromptExpansion": {
        "expansion_type": "slash_command", "command_name": "sample", "command_args": "", "prompt": "/sample",
    },
    "PermissionDenied": {"reason": "a sample reason"},
    "PostToolUse": {"tool_response": _DONE, "duration_ms": 12},
    "PostToolUseFailure": {"error": "a sample error", "is_interrupt": False, "duration_ms": 12},
    "PostToolBatch": {
        "tool_calls": [
            {"tool_name": _USUAL_TOOL, "tool_input": traits_of(_USUAL_TOOL).sample,
             "tool_use_id": "toolu_sample", "tool_response": _DONE},
        ]
    },
    "Notification": {"message": "A sample notification", "notification_type": "idle_prompt"},
    "MessageDisplay": {
        "turn_id": "turn-sample", "message_id": "msg-sample", "index": 0, "final": True, "delta": "Hello.",
    },
    "SubagentStart": _AGENT,
    "SubagentStop": {**_AGENT, "stop_hook_active": False, "agent_transcript_path": "{cwd}/sample.jsonl",
                     "last_assistant_message": "Done."},
    "TaskCreated": _TASK,
    "TaskCompleted": _TASK,
    "Stop": {"stop_hook_active": False, "last_assistant_message": "Done."},
    "StopFailure": {"error": "rate_limit"},
    "TeammateIdle": {"teammate_name": "sample", "team_name": "samples"},
    "InstructionsLoaded": {
        "file_path": "{cwd}/CLAUDE.md", "memory_type": "Project", "load_reason": "session_start",
    },
    "ConfigChange": {"source": "user_settings"},
    "CwdChanged": {"old_cwd": "{cwd}", "new_cwd": "{cwd}"},
    "DirectoryAdded": {"directory": "{cwd}", "source": "slash_command"},
    "FileChanged": {"file_path": "{cwd}/sample.txt", "event": "change"},
    "WorktreeCreate": {"name": "sample"},
    "WorktreeRemove": {"worktree_path": "{cwd}/sample"},
    "PreCompact": {"trigger": "manual", "custom_instructions": ""},
    "PostCompact": {"trigger": "manual", "compact_summary": "A sample summary"},
    "Elicitation": {"mcp_server_name": "sample", "message": "Which one?", "mode": "form"},
    "ElicitationResult": {"mcp_server_name": "sample", "action": "accept"},
    "SessionEnd": {"reason": "other"},
    "PreModelSwitch": _SWITCH,
    "PostModelSwitch": _SWITCH,
}  # fmt: skip


def sample(name: str, *, tool: str | None, given: Mapping[str, Any], cwd: str) -> HookEvent:
    """An event of this name, with the fields that are given in place of the sample's own.

    Raises:
        UsageError: there is no such event, or it has no such tool or values.
    """
    if (kind := EVENTS.get(name)) is None:
        hint = did_you_mean(name, EVENTS) or f": use one of {', '.join(sorted(EVENTS))}"
        raise UsageError(f"unknown hook event {name!r}{hint}")
    fields = {field.encode_name for field in msgspec.structs.fields(kind)}
    if tool is not None and "tool_name" not in fields:
        raise UsageError(f"{name} is not about a tool: leave --tool out")
    values = _placed({**_about_a_tool(fields, given.get("tool_name", tool)), **_SAMPLES.get(name, {})}, cwd)
    try:
        return msgspec.convert({**values, **given, "hook_event_name": name}, kind)
    except msgspec.ValidationError as error:
        raise UsageError(f"--input does not match {name}: {error}") from error


def _about_a_tool(fields: set[str], tool: str | None) -> dict[str, Any]:
    name = tool or _USUAL_TOOL
    known = {"tool_name": name, "tool_input": traits_of(name).sample, "tool_use_id": "toolu_sample"}
    return {field: value for field, value in known.items() if field in fields}


def _placed(value: Any, cwd: str) -> Any:
    """Values with the folder in place of `{cwd}`."""
    match value:
        case str():
            return value.replace("{cwd}", cwd)
        case dict():
            return {key: _placed(item, cwd) for key, item in value.items()}
        case list():
            return [_placed(item, cwd) for item in value]
        case _:
            return value
