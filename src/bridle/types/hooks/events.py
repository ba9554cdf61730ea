"""Hook events of a conversation, and the union of all hook events."""

from collections.abc import Mapping, Sequence
from typing import Literal, get_args

from msgspec import field

from bridle.types.hooks.base import BackgroundTask, Moment, SessionCron, Trigger
from bridle.types.hooks.calls import (
    PermissionDenied,
    PermissionRequest,
    PostToolBatch,
    PostToolUse,
    PostToolUseFailure,
    PreToolUse,
)
from bridle.types.hooks.environment import (
    ConfigChange,
    CwdChanged,
    DirectoryAdded,
    Elicitation,
    ElicitationResult,
    FileChanged,
    InstructionsLoaded,
    PostModelSwitch,
    PreModelSwitch,
    WorktreeCreate,
    WorktreeRemove,
)
from bridle.types.hooks.outcome import EndReason, StartSource


class SessionStart(Moment, frozen=True, kw_only=True):
    """A conversation begins or continues; text for the model is put before it."""

    matched_on = "source"
    source: StartSource
    model: str | None = None
    agent_type: str | None = None
    session_title: str | None = None
    seconds_since_last_response: float | None = None
    context_tokens: int | None = None
    prompt_cache_likely_expired: bool | None = None
    estimated_cache_write_usd: float | None = None


class Setup(Moment, frozen=True, kw_only=True):
    """The project is to be set up or maintained, before the session begins."""

    matched_on = "trigger"
    trigger: Literal["init", "maintenance"]


class UserPromptSubmit(Moment, frozen=True, kw_only=True):
    """A prompt was sent; it may be refused or given context."""

    prompt: str
    session_title: str | None = None


class UserPromptExpansion(Moment, frozen=True, kw_only=True):
    """A command turns into a prompt; that may be refused."""

    matched_on = "command_name"
    expansion_type: Literal["slash_command", "mcp_prompt"]
    command_name: str
    command_args: str
    command_source: str | None = None
    prompt: str


class Notification(Moment, frozen=True, kw_only=True):
    """The session needs the attention of the user."""

    matched_on = "kind"
    message: str
    title: str | None = None
    kind: str = field(name="notification_type")


class MessageDisplay(Moment, frozen=True, kw_only=True):
    """Text of the model is about to be shown to people."""

    turn_id: str
    message_id: str
    index: int
    final: bool
    delta: str


class SubagentStart(Moment, frozen=True, kw_only=True):
    """An agent of the session begins."""

    matched_on = "agent_type"
    agent_id: str
    agent_type: str


class SubagentStop(Moment, frozen=True, kw_only=True):
    """An agent of the session wants to stop."""

    matched_on = "agent_type"
    active: bool = field(name="stop_hook_active")
    agent_id: str
    agent_type: str
    agent_transcript_path: str
    last_message: str | None = field(default=None, name="last_assistant_message")
    background_tasks: Sequence[BackgroundTask] | None = None
    session_crons: Sequence[SessionCron] | None = None


class TaskCreated(Moment, frozen=True, kw_only=True):
    """A task is put on the list."""

    task_id: str
    task_subject: str
    task_description: str | None = None
    teammate_name: str | None = None
    team_name: str | None = None


class TaskCompleted(Moment, frozen=True, kw_only=True):
    """A task is called done."""

    task_id: str
    task_subject: str
    task_description: str | None = None
    teammate_name: str | None = None
    team_name: str | None = None


class Stop(Moment, frozen=True, kw_only=True):
    """The model wants to stop; it may be kept going."""

    active: bool = field(name="stop_hook_active")
    """A stop hook has already kept this turn going."""
    last_message: str | None = field(default=None, name="last_assistant_message")
    background_tasks: Sequence[BackgroundTask] | None = None
    session_crons: Sequence[SessionCron] | None = None


class StopFailure(Moment, frozen=True, kw_only=True):
    """A turn ends because the model could not answer."""

    matched_on = "error"
    error: str
    error_details: str | None = None
    last_message: str | None = field(default=None, name="last_assistant_message")


class TeammateIdle(Moment, frozen=True, kw_only=True):
    """A teammate has nothing to do."""

    teammate_name: str
    team_name: str


class PreCompact(Moment, frozen=True, kw_only=True):
    """The conversation is about to be compacted; that may be refused."""

    matched_on = "trigger"
    trigger: Trigger
    custom_instructions: str | None


class PostCompact(Moment, frozen=True, kw_only=True):
    """The conversation was compacted."""

    matched_on = "trigger"
    trigger: Trigger
    compact_summary: str


class SessionEnd(Moment, frozen=True, kw_only=True):
    """A conversation ends."""

    matched_on = "reason"
    reason: EndReason


HookEvent = (
    SessionStart | Setup | UserPromptSubmit | UserPromptExpansion | PreToolUse | PermissionRequest
    | PermissionDenied | PostToolUse | PostToolUseFailure | PostToolBatch | Notification | MessageDisplay
    | SubagentStart | SubagentStop | TaskCreated | TaskCompleted | Stop | StopFailure | TeammateIdle
    | InstructionsLoaded | ConfigChange | CwdChanged | DirectoryAdded | FileChanged | WorktreeCreate
    | WorktreeRemove | PreCompact | PostCompact | Elicitation | ElicitationResult | SessionEnd
    | PreModelSwitch | PostModelSwitch
)  # fmt: skip

EVENTS: Mapping[str, type[HookEvent]] = {kind.__name__: kind for kind in get_args(HookEvent)}
"""Every event by its name."""
