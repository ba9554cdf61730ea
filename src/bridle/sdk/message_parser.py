"""Turns what a session says to its host into messages."""

from typing import Any

import msgspec
from msgspec import Raw

from bridle.sdk.messages import (
    AssistantMessage,
    ContentBlock,
    ConversationResetMessage,
    DeferredToolUse,
    HookEventMessage,
    Message,
    MirrorErrorMessage,
    RateLimitEvent,
    RateLimitInfo,
    ResultMessage,
    ServerToolResultBlock,
    ServerToolUseBlock,
    StreamEvent,
    SystemMessage,
    TaskNotificationMessage,
    TaskProgressMessage,
    TaskStartedMessage,
    TaskUpdatedMessage,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)

Frame = dict[str, Any]


def message_of(frame: Frame) -> Message | None:
    """The message that a frame stands for; None for kinds that programs do not get."""
    match frame["type"]:
        case "assistant":
            return _assistant(frame)
        case "user":
            return _user(frame)
        case "system":
            return _system(frame)
        case "result":
            return _result(frame)
        case "stream_event":
            event = frame["event"]
            return StreamEvent(
                uuid=frame["uuid"],
                session_id=frame["session_id"],
                event=msgspec.json.decode(bytes(event)) if isinstance(event, Raw) else event,
                parent_tool_use_id=frame.get("parent_tool_use_id"),
            )
        case "rate_limit_event":
            return _rate_limit(frame)
        case "conversation_reset":
            return ConversationResetMessage(
                new_conversation_id=frame["new_conversation_id"],
                uuid=frame["uuid"],
                session_id=frame["session_id"],
            )
        case _:
            return None


def _assistant(frame: Frame) -> AssistantMessage:
    message = frame["message"]
    return AssistantMessage(
        content=_blocks(message["content"]),
        model=message["model"],
        parent_tool_use_id=frame.get("parent_tool_use_id"),
        error=frame.get("error"),
        usage=message.get("usage"),
        message_id=message.get("id"),
        stop_reason=message.get("stop_reason"),
        session_id=frame.get("session_id"),
        uuid=frame.get("uuid"),
    )


def _user(frame: Frame) -> UserMessage:
    content = frame["message"]["content"]
    return UserMessage(
        content=content if isinstance(content, str) else _blocks(content),
        uuid=frame.get("uuid"),
        parent_tool_use_id=frame.get("parent_tool_use_id"),
        tool_use_result=frame.get("tool_use_result"),
        origin=_origin(frame),
    )


def _system(frame: Frame) -> SystemMessage:
    subtype: str = frame["subtype"]
    session_id, uuid = frame.get("session_id", ""), frame.get("uuid", "")
    match subtype:
        case "task_started":
            return TaskStartedMessage(
                subtype, frame, frame["task_id"], frame["description"], uuid, session_id,
                frame.get("tool_use_id"), frame.get("task_type"),
            )  # fmt: skip
        case "task_progress":
            return TaskProgressMessage(
                subtype, frame, frame["task_id"], frame["description"], frame["usage"], uuid, session_id,
                frame.get("tool_use_id"), frame.get("last_tool_name"),
            )  # fmt: skip
        case "task_notification":
            return TaskNotificationMessage(
                subtype, frame, frame["task_id"], frame["status"], frame["output_file"], frame["summary"],
                uuid, session_id, frame.get("tool_use_id"), frame.get("usage"),
            )  # fmt: skip
        case "task_updated":
            patch = frame.get("patch") or {}
            return TaskUpdatedMessage(
                subtype, frame, frame["task_id"], patch, patch.get("status"), session_id, uuid
            )
        case "hook_started" | "hook_response":
            event = frame.get("hook_event") or frame.get("hook_name") or ""
            return HookEventMessage(subtype, frame, event, session_id, uuid)
        case "mirror_error":
            return MirrorErrorMessage(subtype, frame, frame["key"], frame["error"])
        case _:
            return SystemMessage(subtype, frame)


def _result(frame: Frame) -> ResultMessage:
    deferred = frame.get("deferred_tool_use")
    return ResultMessage(
        subtype=frame["subtype"],
        duration_ms=frame["duration_ms"],
        duration_api_ms=frame["duration_api_ms"],
        is_error=frame["is_error"],
        num_turns=frame["num_turns"],
        session_id=frame["session_id"],
        stop_reason=frame.get("stop_reason"),
        total_cost_usd=frame.get("total_cost_usd"),
        usage=frame.get("usage"),
        result=frame.get("result"),
        structured_output=frame.get("structured_output"),
        model_usage=frame.get("modelUsage"),
        permission_denials=frame.get("permission_denials"),
        deferred_tool_use=DeferredToolUse(deferred["id"], deferred["name"], deferred["input"])
        if deferred
        else None,
        errors=frame.get("errors"),
        api_error_status=frame.get("api_error_status"),
        uuid=frame.get("uuid"),
        terminal_reason=frame.get("terminal_reason"),
        origin=_origin(frame),
    )


def _rate_limit(frame: Frame) -> RateLimitEvent:
    info: dict[str, Any] = frame["rate_limit_info"]
    return RateLimitEvent(
        rate_limit_info=RateLimitInfo(
            status=info["status"],
            resets_at=info.get("resetsAt"),
            rate_limit_type=info.get("rateLimitType"),
            utilization=info.get("utilization"),
            overage_status=info.get("overageStatus"),
            overage_resets_at=info.get("overageResetsAt"),
            overage_disabled_reason=info.get("overageDisabledReason"),
            raw=info,
        ),
        uuid=frame["uuid"],
        session_id=frame["session_id"],
    )


def _origin(frame: Frame) -> dict[str, Any] | None:
    origin = frame.get("origin")
    return dict(origin) if isinstance(origin, dict) and isinstance(origin.get("kind"), str) else None


def _blocks(content: list[dict[str, Any]]) -> list[ContentBlock]:
    return [block for each in content if (block := _block(each)) is not None]


def _block(block: dict[str, Any]) -> ContentBlock | None:
    match block["type"]:
        case "text":
            return TextBlock(block["text"])
        case "thinking":
            return ThinkingBlock(block["thinking"], block.get("signature", ""))
        case "tool_use":
            return ToolUseBlock(block["id"], block["name"], block["input"])
        case "tool_result":
            return ToolResultBlock(block["tool_use_id"], block.get("content"), block.get("is_error"))
        case "server_tool_use":
            return ServerToolUseBlock(block["id"], block["name"], block["input"])
        case "advisor_tool_result":
            return ServerToolResultBlock(block["tool_use_id"], block["content"])
        case _:
            return None
