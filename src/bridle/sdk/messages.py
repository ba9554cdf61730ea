"""Messages as programs receive them, with the names and fields of the official Agent SDK."""

from typing import Any, Literal

from msgspec import Struct

AssistantMessageError = Literal[
    "authentication_failed", "billing_error", "rate_limit", "invalid_request", "server_error", "unknown",
]  # fmt: skip
"""Why a model service refused."""
TaskNotificationStatus = Literal["completed", "failed", "stopped"]
"""How a background task ended."""
TaskUpdatedStatus = Literal["pending", "running", "paused", "completed", "failed", "killed"]
"""The state of a background task."""
TERMINAL_TASK_STATUSES: frozenset[str] = frozenset({"completed", "failed", "stopped", "killed"})
"""The states after which nothing more comes from a task."""


class TextBlock(Struct):
    """Text for the reader."""

    text: str


class ThinkingBlock(Struct):
    """What the model thought."""

    thinking: str
    signature: str


class ToolUseBlock(Struct):
    """A tool call."""

    id: str
    name: str
    input: dict[str, Any]


class ToolResultBlock(Struct):
    """The result of a tool call."""

    tool_use_id: str
    content: str | list[dict[str, Any]] | None = None
    is_error: bool | None = None
    """Whether the call failed or was denied."""


class ServerToolUseBlock(Struct):
    """A tool that the model service runs itself."""

    id: str
    name: str
    input: dict[str, Any]


class ServerToolResultBlock(Struct):
    """The result of a tool that the model service ran."""

    tool_use_id: str
    content: dict[str, Any]


ContentBlock = (
    TextBlock | ThinkingBlock | ToolUseBlock | ToolResultBlock | ServerToolUseBlock | ServerToolResultBlock
)
"""One piece of a message."""


class UserMessage(Struct):
    """The result of a tool call, a note in the name of the user, or an echoed prompt."""

    content: str | list[ContentBlock]
    uuid: str | None = None
    parent_tool_use_id: str | None = None
    """The call of the agent that this belongs to; None for the main conversation."""
    tool_use_result: Any = None
    """The result in structured form, as the tool returned it."""
    origin: dict[str, Any] | None = None
    """Where the prompt comes from; see `MessageOrigin`."""


class AssistantMessage(Struct):
    """One block of an answer; blocks of one answer share `message_id`."""

    content: list[ContentBlock]
    model: str
    """The model that answered."""
    parent_tool_use_id: str | None = None
    """The call of the agent that says this; None for the main conversation."""
    error: str | None = None
    """Why the model service refused; see `AssistantMessageError`."""
    usage: dict[str, Any] | None = None
    message_id: str | None = None
    """The id of the answer at the model service."""
    stop_reason: str | None = None
    session_id: str | None = None
    uuid: str | None = None


class SystemMessage(Struct):
    """News about the session, such as `init`; `data` is the whole message."""

    subtype: str
    data: dict[str, Any]


class TaskStartedMessage(SystemMessage):
    """A background task started."""

    task_id: str
    description: str
    uuid: str
    session_id: str
    tool_use_id: str | None = None
    task_type: str | None = None


class TaskProgressMessage(SystemMessage):
    """A background task made progress."""

    task_id: str
    description: str
    usage: dict[str, Any]
    uuid: str
    session_id: str
    tool_use_id: str | None = None
    last_tool_name: str | None = None


class TaskNotificationMessage(SystemMessage):
    """A background task ended, or has news."""

    task_id: str
    status: str
    """See `TaskNotificationStatus`."""
    output_file: str
    """The file with the output of the task."""
    summary: str
    uuid: str
    session_id: str
    tool_use_id: str | None = None
    usage: dict[str, Any] | None = None


class TaskUpdatedMessage(SystemMessage):
    """The state of a background task changed."""

    task_id: str
    patch: dict[str, Any]
    """The fields that changed."""
    status: str | None = None
    session_id: str | None = None
    uuid: str | None = None


class MirrorErrorMessage(SystemMessage):
    """Lines of the transcript could not be written to the session store."""

    key: Any = None
    """The transcript; see `SessionKey`."""
    error: str = ""


class HookEventMessage(SystemMessage):
    """A hook started or ended; yielded with `Options.include_hook_events`."""

    hook_event_name: str = ""
    session_id: str | None = None
    uuid: str | None = None


class DeferredToolUse(Struct):
    """A call that a hook deferred; the session ended before it ran."""

    id: str
    name: str
    input: dict[str, Any]


class ResultMessage(Struct):
    """The end of a turn: the answer, what it cost and how it ended."""

    subtype: str
    """`success`, or the kind of error."""
    duration_ms: int
    """How long the turn took."""
    duration_api_ms: int
    """How long the model service took."""
    is_error: bool
    """Whether the turn failed."""
    num_turns: int
    """How many model calls the turn took."""
    session_id: str
    stop_reason: str | None = None
    total_cost_usd: float | None = None
    """What the session has cost so far."""
    usage: dict[str, Any] | None = None
    """Tokens of the turn."""
    result: str | None = None
    """The final answer as text."""
    structured_output: Any = None
    """The result in the shape of `Options.output_format`."""
    model_usage: dict[str, Any] | None = None
    """Tokens and costs by model; see `ModelUsage`."""
    permission_denials: list[Any] | None = None
    """The calls that were denied."""
    deferred_tool_use: DeferredToolUse | None = None
    """The call that a hook deferred."""
    errors: list[str] | None = None
    """What went wrong."""
    api_error_status: int | None = None
    """The HTTP status with which the model service refused."""
    uuid: str | None = None
    terminal_reason: str | None = None
    """Why the turn ended, in one word."""
    origin: dict[str, Any] | None = None
    """Where the prompt of the turn came from; see `MessageOrigin`."""


class StreamEvent(Struct):
    """An event of the model's stream, as the service sent it."""

    uuid: str
    session_id: str
    event: dict[str, Any]
    """The event of the Messages API."""
    parent_tool_use_id: str | None = None


class RateLimitInfo(Struct):
    """The state of the account at the model service."""

    status: str
    """See `RateLimitStatus`."""
    resets_at: int | None = None
    """When the limit ends, in seconds since the epoch."""
    rate_limit_type: str | None = None
    """See `RateLimitType`."""
    utilization: float | None = None
    """How much of the limit is used, from 0 to 1."""
    overage_status: str | None = None
    overage_resets_at: int | None = None
    overage_disabled_reason: str | None = None
    raw: dict[str, Any] = {}
    """Everything that the service said."""


class RateLimitEvent(Struct):
    """The rate limit of the account changed."""

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
"""Everything that a session yields."""
