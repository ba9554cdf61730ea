"""What the engine reports while it works. What starts also finishes, exactly once."""

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

from bridle.types.block import AssistantMessage, ToolResultBlock, UserBlock
from bridle.types.errors import ApiErrorKind
from bridle.types.hooks.outcome import HookProgressed, HookRun, HookStarted
from bridle.types.permission import PartDecision, PermissionUpdate, ReasonType
from bridle.types.services.tasks import Task
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
    """No person typed this prompt."""
    prompt_uuid: str | None = None
    """The sender's own id for it."""


class PromptFolded(Struct, frozen=True, kw_only=True, tag="prompt_folded"):
    """A prompt that came while the turn ran was taken into it and is recorded."""

    uuid: str
    """Its entry."""
    prompt: str | list[UserBlock]
    prompt_uuid: str | None = None
    meta: bool = False


PromptState = Literal["queued", "started", "completed", "cancelled"]


class PromptMoved(Struct, frozen=True, tag="prompt_moved"):
    """A prompt to which its sender gave an id is a step further on its way."""

    prompt_uuid: str
    state: PromptState


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


class AssistantReplied(Struct, frozen=True, kw_only=True, tag="assistant_said"):
    """One block of an answer is whole and recorded; blocks of one answer share `message.id`."""

    uuid: str
    timestamp: str
    message: AssistantMessage
    request_id: str | None = None
    fault: ApiFault | None = None
    aborted: bool = False
    took_ms: int | None = None
    """How long the block came in."""
    display: str | None = None
    """What people are shown in place of the text, where hooks decide that; it did not stream before."""


class Withdrawn(Struct, frozen=True, tag="withdrawn"):
    """These entries were said by an answer that was given up; the model will not see them again."""

    uuids: tuple[str, ...]


class UserTextAdded(Struct, frozen=True, kw_only=True, tag="user_said"):
    """Text that the engine added in the user's name: a nudge to continue, an interrupt marker."""

    uuid: str
    timestamp: str
    content: str | list[UserBlock]
    synthetic: bool = True


class ToolStarted(Struct, frozen=True, kw_only=True, tag="tool_started"):
    """A call has begun its way through the phases."""

    call_id: str
    tool: str
    input: Mapping[str, Any]


class CallChanged(Struct, frozen=True, kw_only=True, tag="call_changed"):
    """A call runs with another input than it was made with, which a person or a hook has put in."""

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
    decision: Mapping[str, str] | None = None
    """What the gate said to the call, as its row has it."""


class PermissionDenied(Struct, frozen=True, kw_only=True, tag="permission_denied"):
    """A call was denied without a question."""

    call_id: str
    tool: str
    input: Mapping[str, Any]
    message: str
    reason: str
    reason_type: ReasonType
    parts: tuple[PartDecision, ...] = ()
    """What is thought of each part of a command."""
    suggestions: tuple[PermissionUpdate, ...] = ()
    """Changes that would allow it."""
    remedy: str = ""
    """The suggestions as a sentence, or that nothing would allow it."""


class RetryScheduled(Struct, frozen=True, kw_only=True, tag="retry_scheduled"):
    attempt: int
    max_retries: int
    delay: float
    error: ApiErrorKind
    status: int | None
    cause: str = ""
    """What happened, in a few words."""


class ModelSwitched(Struct, frozen=True, kw_only=True, tag="model_switched"):
    """Another model answers for the rest of the turn."""

    original: str
    fallback: str
    reason: str


class TaskStarted(Struct, frozen=True, tag="task_started"):
    """A background job runs."""

    task: Task


class TaskProgressed(Struct, frozen=True, tag="task_progressed"):
    """An agent has made one more call, or there is a new summary of its work."""

    task: Task
    summary: str | None = None


class TaskEnded(Struct, frozen=True, tag="task_ended"):
    """A background job is over."""

    task: Task


class FromAgent(Struct, frozen=True, kw_only=True, tag="from_agent"):
    """Something happened in an agent of the session; never wrapped twice, and without its raw stream."""

    call_id: str
    """The call that started it."""
    agent_id: str
    agent_type: str
    description: str
    event: "Event"


class CompactionStarted(Struct, frozen=True, kw_only=True, tag="compaction_started"):
    """The conversation is being summarized."""

    trigger: Literal["manual", "auto"]


class CompactionFinished(Struct, frozen=True, kw_only=True, tag="compaction_finished"):
    """The conversation was replaced by its summary, or is unchanged for the reason in `error`."""

    trigger: Literal["manual", "auto"]
    error: str | None = None
    boundary: str | None = None
    tokens_before: int = 0
    tokens_after: int = 0
    duration_ms: int = 0


class Noticed(Struct, frozen=True, tag="noticed"):
    """Something the user should know; never sent to the model."""

    text: str
    level: Literal["info", "notice", "suggestion", "warning"] = "info"
    prevents: bool = False
    """Something does not continue because of it."""


class SideTaskFailed(Struct, frozen=True, tag="side_task_failed"):
    """Work between turns, such as a suggestion, has failed. For logs: the user has lost nothing."""

    name: str
    reason: str


class CommandReplied(Struct, frozen=True, tag="command_said"):
    """A slash command has something to say to the user; the model does not see it."""

    text: str
    is_error: bool = False


class ConversationReset(Struct, frozen=True, kw_only=True, tag="conversation_reset"):
    """The session continues with another conversation: a new one, or one from disk."""

    before: str
    """The id that the session had."""
    session_id: str
    trigger: Literal["clear", "resume", "branch", "rewind"]
    prompt_uuid: str | None = None


class ModeChanged(Struct, frozen=True, tag="mode_changed"):
    """Calls are decided by another permission mode from now on."""

    mode: str


class PromptSuggested(Struct, frozen=True, tag="prompt_suggested"):
    """What the user might ask next."""

    text: str


class SessionRenamed(Struct, frozen=True, tag="session_named"):
    """The session has a name, or another one than before."""

    title: str


class LimitChanged(Struct, frozen=True, tag="limit_changed"):
    """The service of the model reports another state of a limit on its use."""

    info: Mapping[str, Any]


class Signalled(Struct, frozen=True, tag="signalled"):
    """A hook has a harmless sequence for the user's terminal: a title, a notification, the bell."""

    sequence: str


class Answered(Struct, frozen=True, tag="answered"):
    """An answer that was meant as the last is whole, but the turn continues: a hook or a goal wants more."""

    text: str


class TurnFinished(Struct, frozen=True, tag="turn_finished"):
    outcome: Outcome


Event = (
    TurnStarted
    | PromptFolded
    | PromptMoved
    | StepStarted
    | TextDelta
    | ThinkingDelta
    | Streamed
    | AssistantReplied
    | Withdrawn
    | UserTextAdded
    | ToolStarted
    | CallChanged
    | ToolProgressed
    | ToolFinished
    | PermissionDenied
    | RetryScheduled
    | ModelSwitched
    | TaskStarted
    | TaskProgressed
    | TaskEnded
    | FromAgent
    | CompactionStarted
    | CompactionFinished
    | Noticed
    | SideTaskFailed
    | CommandReplied
    | ConversationReset
    | ModeChanged
    | PromptSuggested
    | SessionRenamed
    | Signalled
    | LimitChanged
    | HookStarted
    | HookProgressed
    | HookRun
    | Answered
    | TurnFinished
)
