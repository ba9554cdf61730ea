"""Messages as programs receive them, with the names and fields of the official Agent SDK."""

from typing import Any, Literal

from msgspec import Struct

AssistantMessageError = Literal[
    "authentication_failed", "billing_error", "rate_limit", "invalid_request", "server_error", "unknown",
]  # fmt: skip
TaskNotificationStatus = Literal["completed", "failed", "stopped"]
TaskUpdatedStatus = Literal["pending", "running", "paused", "completed", "failed", "killed"]
TERMINAL_TASK_STATUSES: frozenset[str] = frozenset({"completed", "failed", "stopped", "killed"})


class TextBlock(Struct):
    text: str


class ThinkingBlock(Struct):
    thinking: str
    signature: str


class ToolUseBlock(Struct):
    id: str
    name: str
    input: dict[str, Any]


class ToolResultBlock(Struct):
    tool_use_id: str
    content: str | list[dict[str, Any]] | None = None
    is_error: bool | None = None


class ServerToolUseBlock(Struct):
    """A tool that the model service runs itself."""

    id: str
    name: str
    input: dict[str, Any]


class ServerToolResultBlock(Struct):
    tool_use_id: str
    content: dict[str, Any]


ContentBlock = (
    TextBlock | ThinkingBlock | ToolUseBlock | ToolResultBlock | ServerToolUseBlock | ServerToolResultBlock
)


class UserMessage(Struct):
    """The result of a call, a text that was said in the user's name, or an echoed prompt."""

    content: str | list[ContentBlock]
    uuid: str | None = None
    parent_tool_use_id: str | None = None
    tool_use_result: Any = None
    origin: dict[str, Any] | None = None


class AssistantMessage(Struct):
    """One block of an answer; blocks of one answer share `message_id`."""

    content: list[ContentBlock]
    model: str
    parent_tool_use_id: str | None = None
    error: str | None = None
    usage: dict[str, Any] | None = None
    message_id: str | None = None
    stop_reason: str | None = None
    session_id: str | None = None
    uuid: str | None = None


class SystemMessage(Struct):
    """Anything about the session; `data` is the whole message."""

    subtype: str
    data: dict[str, Any]


class TaskStartedMessage(SystemMessage):
    task_id: str
    description: str
    uuid: str
    session_id: str
    tool_use_id: str | None = None
    task_type: str | None = None


class TaskProgressMessage(SystemMessage):
    task_id: str
    description: str
    usage: dict[str, Any]
    uuid: str
    session_id: str
    tool_use_id: str | None = None
    last_tool_name: str | None = None


class TaskNotificationMessage(SystemMessage):
    task_id: str
    status: str
    output_file: str
    summary: str
    uuid: str
    session_id: str
    tool_use_id: str | None = None
    usage: dict[str, Any] | None = None


class TaskUpdatedMessage(SystemMessage):
    task_id: str
    patch: dict[str, Any]
    status: str | None = None
    session_id: str | None = None
    uuid: str | None = None


class MirrorErrorMessage(SystemMessage):
    key: Any = None
    error: str = ""


class HookEventMessage(SystemMessage):
    hook_event_name: str = ""
    session_id: str | None = None
    uuid: str | None = None


class DeferredToolUse(Struct):
    id: str
    name: str
    input: dict[str, Any]


class ResultMessage(Struct):
    """The end of a turn."""

    subtype: str
    duration_ms: int
    duration_api_ms: int
    is_error: bool
    num_turns: int
    session_id: str
    stop_reason: str | None = None
    total_cost_usd: float | None = None
    usage: dict[str, Any] | None = None
    result: str | None = None
    structured_output: Any = None
    model_usage: dict[str, Any] | None = None
    permission_denials: list[Any] | None = None
    deferred_tool_use: DeferredToolUse | None = None
    errors: list[str] | None = None
    api_error_status: int | None = None
    uuid: str | None = None
    terminal_reason: str | None = None
    origin: dict[str, Any] | None = None


class StreamEvent(Struct):
    """An event of the model's stream, as the service sent it."""

    uuid: str
    session_id: str
    event: dict[str, Any]
    parent_tool_use_id: str | None = None


class RateLimitInfo(Struct):
    status: str
    resets_at: int | None = None
    rate_limit_type: str | None = None
    utilization: float | None = None
    overage_status: str | None = None
    overage_resets_at: int | None = None
    overage_disabled_reason: str | None = None
    raw: dict[str, Any] = {}


class RateLimitEvent(Struct):
    rate_limit_info: RateLimitInfo
    uuid: str
    session_id: str


class ConversationResetMessage(Struct):
    """The conversation was replaced by a new one."""

    new_conversation_id: str
    uuid: str
    session_id: str


Message = (
    UserMessage
    | AssistantMessage
    | SystemMessage
    | ResultMessage
    | StreamEvent
    | RateLimitEvent
    | ConversationResetMessage
)
