"""Events that become one `system` line each, with no memory of what came before."""

from typing import Any

from bridle.host.secrets import SECRETS
from bridle.types.event import (
    CompactionStarted,
    ModelSwitched,
    Noticed,
    PermissionDenied,
    RetryScheduled,
    SessionRenamed,
    Withdrawn,
)
from bridle.types.hooks.outcome import HookProgressed, HookRun, HookStarted

Notice = (
    PermissionDenied
    | RetryScheduled
    | ModelSwitched
    | Withdrawn
    | CompactionStarted
    | Noticed
    | SessionRenamed
)


def notice(event: Notice) -> dict[str, Any]:
    """The subtype and the fields of the line."""
    match event:
        case PermissionDenied():
            return {
                "subtype": "permission_denied",
                "tool_name": event.tool,
                "tool_use_id": event.call_id,
                "message": event.message,
                "decision_reason_type": event.reason_type,
                "decision_reason": event.reason,
            }
        case RetryScheduled():
            return {
                "subtype": "api_retry",
                "attempt": event.attempt,
                "max_retries": event.max_retries,
                "retry_delay_ms": round(event.delay * 1000),
                "error_status": event.status,
                "error": event.error,
            }
        case ModelSwitched():
            return {
                "subtype": "model_fallback",
                "trigger": "overloaded",
                "original_model": event.original,
                "fallback_model": event.fallback,
                "content": SECRETS.hide(
                    f"{event.fallback} replaces {event.original} in this turn: {event.reason}"
                ),
            }
        case Withdrawn():
            return {"subtype": "withdrawn", "uuids": list(event.uuids)}
        case CompactionStarted():
            return {"subtype": "status", "status": "compacting"}
        case Noticed():
            final = {"prevent_continuation": True} if event.prevents else {}
            return {
                "subtype": "informational",
                "content": SECRETS.hide(event.text),
                "level": event.level,
                **final,
            }
        case SessionRenamed():
            return {"subtype": "session_title_changed", "title": event.title}


def hook_notice(event: HookStarted | HookProgressed | HookRun) -> dict[str, Any]:
    """The system frame of a hook event."""
    about = {"hook_id": event.id, "hook_name": event.name, "hook_event": event.event}
    match event:
        case HookStarted():
            return {"subtype": "hook_started", **about}
        case HookProgressed():
            out, err = SECRETS.hide(event.stdout), SECRETS.hide(event.stderr)
            printed = {"output": out + err, "stdout": out, "stderr": err}
            return {"subtype": "hook_progress", **about, **printed}
        case HookRun():
            out, err = SECRETS.hide(event.stdout), SECRETS.hide(event.stderr)
            printed = {"output": out + err, "stdout": out, "stderr": err}
            ended = {} if event.exit_code is None else {"exit_code": event.exit_code}
            return {"subtype": "hook_response", **about, **printed, **ended, "outcome": event.outcome}
