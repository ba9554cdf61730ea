"""The moments at which the user's own code may speak, and what it may say."""

import os.path
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, NotRequired, TypedDict, get_args

from msgspec import Struct, field

from bridle.types.hook_outcome import (
    NOTHING_SAID,
    AskHost,
    ElicitationAction,
    Elicited,
    EndReason,
    HookOutcome,
    HookProgressed,
    HookRun,
    Hooks,
    HookStarted,
    NoHooks,
    StartSource,
)

__all__ = [
    "NOTHING_SAID",
    "AskHost",
    "ElicitationAction",
    "Elicited",
    "HookOutcome",
    "HookProgressed",
    "HookRun",
    "HookStarted",
    "Hooks",
    "NoHooks",
]  # fmt: skip
"""What hooks say is in a module of its own, because every session needs it and few need the events."""

Trigger = Literal["manual", "auto"]
ElicitationMode = Literal["form", "url"]
ConfigSource = Literal["user_settings", "project_settings", "local_settings", "policy_settings", "skills"]


class Moment(Struct, frozen=True, omit_defaults=True, tag_field="hook_event_name", tag=True):
    """What every event has; its fields are those of the hook's input, and optional ones are left out."""

    matched_on: ClassVar[str | None] = None
    """The attribute that matchers look at; None where every hook of the event is called."""

    @property
    def name(self) -> str:
        return type(self).__name__

    @property
    def subject(self) -> str | None:
        """The text that matchers are held against."""
        return None if self.matched_on is None else str(getattr(self, self.matched_on))


class BatchCall(TypedDict):
    tool_name: str
    tool_input: Mapping[str, Any]
    tool_use_id: str
    tool_response: NotRequired[Any]


class BackgroundTask(TypedDict):
    id: str
    type: str
    status: str
    description: str
    command: NotRequired[str]
    agent_type: NotRequired[str]
    server: NotRequired[str]
    tool: NotRequired[str]
    name: NotRequired[str]


class SessionCron(TypedDict):
    id: str
    schedule: str
    recurring: bool
    prompt: str


class SessionStart(Moment, frozen=True, kw_only=True):
    """A conversation begins or goes on; text for the model is put before it."""

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
    """Somebody sent a prompt; it may be refused or given context."""

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


class PreToolUse(Moment, frozen=True, kw_only=True):
    """A call is about to run; it may be denied, changed, asked about or put off."""

    matched_on = "tool"
    tool: str = field(name="tool_name")
    input: Mapping[str, Any] = field(name="tool_input")
    call_id: str = field(name="tool_use_id")
    mcp_server: Mapping[str, Any] | None = None


class PermissionRequest(Moment, frozen=True, kw_only=True):
    """Somebody is asked about a call; a hook may answer in their place."""

    matched_on = "tool"
    tool: str = field(name="tool_name")
    input: Mapping[str, Any] = field(name="tool_input")
    suggestions: Sequence[Mapping[str, Any]] | None = field(default=None, name="permission_suggestions")
    mcp_server: Mapping[str, Any] | None = None


class PermissionDenied(Moment, frozen=True, kw_only=True):
    """A model refused a call in auto mode; the model at work may be told to try again."""

    matched_on = "tool"
    tool: str = field(name="tool_name")
    input: Mapping[str, Any] = field(name="tool_input")
    call_id: str = field(name="tool_use_id")
    reason: str
    mcp_server: Mapping[str, Any] | None = None


class PostToolUse(Moment, frozen=True, kw_only=True):
    """A call has run; what the model reads of it may be changed."""

    matched_on = "tool"
    tool: str = field(name="tool_name")
    input: Mapping[str, Any] = field(name="tool_input")
    response: Any = field(name="tool_response")
    call_id: str = field(name="tool_use_id")
    duration_ms: int | None = None
    mcp_server: Mapping[str, Any] | None = None


class PostToolUseFailure(Moment, frozen=True, kw_only=True):
    """A call has failed or was interrupted."""

    matched_on = "tool"
    tool: str = field(name="tool_name")
    input: Mapping[str, Any] = field(name="tool_input")
    call_id: str = field(name="tool_use_id")
    error: str
    is_interrupt: bool | None = None
    duration_ms: int | None = None
    mcp_server: Mapping[str, Any] | None = None


class PostToolBatch(Moment, frozen=True, kw_only=True):
    """Every call of one answer is settled, and the model has not read the results yet."""

    tool_calls: Sequence[BatchCall]


class Notification(Moment, frozen=True, kw_only=True):
    """Somebody should look at the session."""

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


class InstructionsLoaded(Moment, frozen=True, kw_only=True):
    """An instruction file was put before the model."""

    matched_on = "load_reason"
    file_path: str
    memory_type: Literal["User", "Project", "Local", "Managed"]
    load_reason: Literal["session_start", "nested_traversal", "path_glob_match", "include", "compact"]
    globs: Sequence[str] | None = None
    trigger_file_path: str | None = None
    parent_file_path: str | None = None


class ConfigChange(Moment, frozen=True, kw_only=True):
    """Settings have changed on disk; the change may be refused."""

    matched_on = "source"
    source: ConfigSource
    file_path: str | None = None


class CwdChanged(Moment, frozen=True, kw_only=True):
    """The session stands in another folder."""

    old_cwd: str
    new_cwd: str


class DirectoryAdded(Moment, frozen=True, kw_only=True):
    """The session works in one more folder."""

    matched_on = "source"
    directory: str
    source: Literal["slash_command", "register_repo_root"]


class FileChanged(Moment, frozen=True, kw_only=True):
    """A file that hooks watch has changed."""

    matched_on = "file_path"
    file_path: str
    event: Literal["change", "add", "unlink"]

    @property
    def subject(self) -> str:
        return os.path.basename(self.file_path)


class WorktreeCreate(Moment, frozen=True, kw_only=True):
    """A worktree is wanted; the hook makes it and names its path."""

    worktree: str = field(name="name")


class WorktreeRemove(Moment, frozen=True, kw_only=True):
    """A worktree is not needed any more."""

    worktree_path: str


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


class Elicitation(Moment, frozen=True, kw_only=True):
    """An MCP server asks the user something; a hook may answer."""

    matched_on = "server"
    server: str = field(name="mcp_server_name")
    message: str
    mode: ElicitationMode | None = None
    url: str | None = None
    elicitation_id: str | None = None
    requested_schema: Mapping[str, Any] | None = None


class ElicitationResult(Moment, frozen=True, kw_only=True):
    """The user has answered an MCP server; a hook may change the answer."""

    matched_on = "server"
    server: str = field(name="mcp_server_name")
    action: ElicitationAction
    content: Mapping[str, Any] | None = None
    mode: ElicitationMode | None = None
    elicitation_id: str | None = None


class SessionEnd(Moment, frozen=True, kw_only=True):
    """A conversation ends."""

    matched_on = "reason"
    reason: EndReason


class PreModelSwitch(Moment, frozen=True, kw_only=True):
    """Another model is about to take over; that may be refused."""

    matched_on = "to_model"
    from_model: str
    to_model: str
    context_tokens: int
    prompt_cache_warm: bool
    cache_ttl: str | None
    estimated_cache_write_usd: float | None


class PostModelSwitch(Moment, frozen=True, kw_only=True):
    """Another model has taken over."""

    matched_on = "to_model"
    from_model: str
    to_model: str
    context_tokens: int
    prompt_cache_warm: bool
    cache_ttl: str | None
    estimated_cache_write_usd: float | None


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

ToolEvent = PreToolUse | PermissionRequest | PermissionDenied | PostToolUse | PostToolUseFailure
"""Events that are about one call."""
