"""What the engine reports while it works. What starts also finishes, exactly once."""

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

from bridle.types.block import AssistantMessage, ToolResultBlock, UserBlock
from bridle.types.errors import ApiErrorKind
from bridle.types.permission import ReasonType
from bridle.types.task import Task
from bridle.types.turn import Outcome


class TurnStarted(Struct, frozen=True, kw_only=True, tag="turn_started"):
    """A prompt was taken up and is on disk."""

    model: str
    tools: tuple[str, ...]
    mode: str
    cwd: str
    prompt: str | list[UserBlock]
    uuid: str
    """The prompt's entry."""
    meta: bool = False
    """Nobody typed this prompt."""


class StepStarted(Struct, frozen=True, kw_only=True, tag="step_started"):
    """A request is about to go to the model."""

    number: int
    model: str


class TextDelta(Struct, frozen=True, tag="text_delta"):
    """Some text of the answer arrived."""

    text: str
    wire: bytes


class ThinkingDelta(Struct, frozen=True, tag="thinking_delta"):
    """Some of the model's thinking arrived."""

    text: str
    wire: bytes


class Streamed(Struct, frozen=True, tag="streamed"):
    """Any other event of the model's stream, as it came."""

    wire: bytes
    ttft_ms: int | None = None


class ApiFault(Struct, frozen=True):
    """Why the model could not answer."""

    kind: ApiErrorKind
    status: int | None = None
    type: str | None = None


class AssistantSaid(Struct, frozen=True, kw_only=True, tag="assistant_said"):
    """One block of an answer is whole and recorded; blocks of one answer share `message.id`."""

    uuid: str
    timestamp: str
    message: AssistantMessage
    request_id: str | None = None
    fault: ApiFault | None = None
    aborted: bool = False


class Withdrawn(Struct, frozen=True, tag="withdrawn"):
    """These entries were said by an answer that was given up; the model will not see them again."""

    uuids: tuple[str, ...]


class UserSaid(Struct, frozen=True, kw_only=True, tag="user_said"):
    """Text that the engine added in the user's name: a nudge to go on, an interrupt marker."""

    uuid: str
    timestamp: str
    content: str | list[UserBlock]
    synthetic: bool = True


class ToolStarted(Struct, frozen=True, kw_only=True, tag="tool_started"):
    """A call has begun its way through the phases."""

    call_id: str
    tool: str
    input: Mapping[str, Any]


class ToolProgressed(Struct, frozen=True, kw_only=True, tag="tool_progressed"):
    """A running call has new output to show."""

    call_id: str
    tool: str
    text: str
    seconds: float


class ToolFinished(Struct, frozen=True, kw_only=True, tag="tool_finished"):
    """A call is settled: it ran, failed, or was denied; its result is recorded."""

    uuid: str
    timestamp: str
    tool: str
    result: ToolResultBlock
    data: Any
    """The tool's structured output, or `Error: …`."""
    seconds: float


class PermissionDenied(Struct, frozen=True, kw_only=True, tag="permission_denied"):
    """A call was turned away without asking anybody."""

    call_id: str
    tool: str
    input: Mapping[str, Any]
    message: str
    reason: str
    reason_type: ReasonType


class RetryScheduled(Struct, frozen=True, kw_only=True, tag="retry_scheduled"):
    attempt: int
    max_retries: int
    delay: float
    error: ApiErrorKind
    status: int | None


class ModelSwitched(Struct, frozen=True, kw_only=True, tag="model_switched"):
    """Another model answers for the rest of the turn."""

    original: str
    fallback: str
    reason: str


class TaskStarted(Struct, frozen=True, tag="task_started"):
    """A background job runs."""

    task: Task


class TaskEnded(Struct, frozen=True, tag="task_ended"):
    """A background job is over."""

    task: Task


class Noticed(Struct, frozen=True, tag="noticed"):
    """Something the user should know; never sent to the model."""

    text: str
    level: Literal["info", "notice", "suggestion", "warning"] = "info"


class TurnFinished(Struct, frozen=True, tag="turn_finished"):
    outcome: Outcome


Event = (
    TurnStarted
    | StepStarted
    | TextDelta
    | ThinkingDelta
    | Streamed
    | AssistantSaid
    | Withdrawn
    | UserSaid
    | ToolStarted
    | ToolProgressed
    | ToolFinished
    | PermissionDenied
    | RetryScheduled
    | ModelSwitched
    | TaskStarted
    | TaskEnded
    | Noticed
    | TurnFinished
)
