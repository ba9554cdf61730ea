"""What hooks may answer to an event, and the protocol that fires events."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, Protocol

from msgspec import Struct

from bridle.types.permission import Decision, PermissionUpdate

if TYPE_CHECKING:
    from bridle.types.hooks.events import HookEvent
    from bridle.types.workspace import Workspace

ElicitationAction = Literal["accept", "decline", "cancel"]
StartSource = Literal["startup", "resume", "clear", "compact", "fork"]
EndReason = Literal["clear", "resume", "logout", "prompt_input_exit", "other"]


class HookStarted(Struct, frozen=True, kw_only=True, tag="hook_started"):
    """A hook is about to run."""

    id: str
    name: str
    """`PreToolUse:Bash`, or the event alone."""
    event: str
    status_message: str | None = None


class HookProgressed(Struct, frozen=True, kw_only=True, tag="hook_progressed"):
    """A hook that takes its time has printed something."""

    id: str
    name: str
    event: str
    stdout: str = ""
    stderr: str = ""
    """All that it has printed so far, at most 10,000 characters each."""


class HookRun(Struct, frozen=True, kw_only=True, tag="hook_run"):
    """A hook has run, or was left running beside the session."""

    id: str
    name: str
    event: str
    outcome: Literal["success", "error", "cancelled"]
    exit_code: int | None = None
    stdout: str = ""
    stderr: str = ""
    """At most 10,000 characters each."""
    seconds: float = 0.0

    @property
    def slow(self) -> bool:
        """Whether it took so long that the user should see what it was."""
        return self.seconds > 0.5


class Elicited(Struct, frozen=True):
    """The answer of a hook to a server's question."""

    action: ElicitationAction
    content: Mapping[str, Any] | None = None


class HookOutcome(Struct, frozen=True, kw_only=True):
    """What all hooks of one event said, folded into one."""

    decision: Decision | None = None
    deferred: str | None = None
    """Why the call should wait for a later run; never beside a denial or an approval."""
    updated_input: Mapping[str, Any] | None = None
    updated_permissions: tuple[PermissionUpdate, ...] = ()
    """Changes of rules that come with an approval."""
    interrupt: bool = False
    """A denial also ends the turn."""
    updated_output: Any = None
    context: tuple[str, ...] = ()
    """Text for the model, beside the prompt or the result."""
    classifier_context: str | None = None
    """Text for the judge of later calls, not for the model."""
    block: str | None = None
    """Why the prompt, the result, the stop or whatever the event announced is refused."""
    stop: str | None = None
    """Why the turn must end after this call."""
    retry: bool = False
    """The model may try a denied call again."""
    session_title: str | None = None
    initial_user_message: str | None = None
    suppress_original_prompt: bool = False
    watch_paths: tuple[str, ...] = ()
    reload_skills: bool = False
    worktree_path: str | None = None
    elicited: Elicited | None = None
    display_content: str | None = None
    exported: str = ""
    """Shell text that sets variables for later commands."""
    system_messages: tuple[str, ...] = ()
    """Words of hooks for the user, never for the model."""
    terminal_sequences: tuple[str, ...] = ()
    """Harmless sequences for the user's terminal: titles, notifications, the bell."""
    suppress_output: bool = False
    problems: tuple[str, ...] = ()
    """What went wrong with hooks, a sentence each for the user."""
    runs: tuple[HookRun, ...] = ()


class AgentState(Struct, frozen=True):
    """What holds for an agent and may be another than what holds for the session."""

    mode: str
    effort: str | None


class AskHost(Protocol):
    """Puts a `hook_callback` request to the host.

    Cancelling it withdraws the request; an error answer is raised as a BridleError.
    """

    async def __call__(
        self, callback_id: str, input: dict[str, Any], *, tool_use_id: str, timeout: float
    ) -> Mapping[str, Any]: ...


class Hooks(Protocol):
    """The hooks of a session or of an agent in it."""

    def listens_to(self, event: str) -> bool:
        """Whether a hook listens to events of this name; where none does, events need not be made."""
        ...

    async def fire(self, event: "HookEvent") -> HookOutcome:
        """Run every hook that listens and return what they say, once their messages to the user are shown."""
        ...

    def notify(self, event: "HookEvent") -> None:
        """Tell hooks of something that is not theirs to decide, without waiting for them."""
        ...

    def collect(self) -> tuple[str, ...]:
        """Messages to the model of hooks that ended in the background, each once."""
        ...

    async def late_words(self) -> str | None:
        """What the next hook in the background that may wake the model says, once it has ended."""
        ...

    async def fire_session_start(self, source: StartSource) -> None:
        """Fire SessionStart, and add the messages of hooks to the conversation."""
        ...

    async def fire_session_end(self, reason: EndReason = "other") -> None:
        """Fire SessionEnd, once for each conversation."""
        ...

    def begin_turn(self, prompt_id: str) -> None:
        """From now on events belong to this prompt."""
        ...

    def for_agent(
        self,
        agent_id: str,
        agent_type: str,
        *,
        workspace: "Workspace | None" = None,
        standing: "Callable[[], AgentState] | None" = None,
    ) -> "Hooks":
        """These hooks for an agent of the session, whose events carry its own data."""
        ...

    def add_host_hooks(self, hooks: Mapping[str, Any], ask: AskHost) -> int:
        """Let callbacks of the host listen: `{Event: [{matcher, hookCallbackIds, timeout, onFailure}]}`.

        Returns how many were added; what cannot be used is reported to the user and left out.
        """
        ...


NOTHING_SAID = HookOutcome()
NO_STOP_REASON = "a hook stopped the work"


class NoHooks:
    """A session without hooks."""

    def listens_to(self, event: str) -> bool:
        del event
        return False

    async def fire(self, event: "HookEvent") -> HookOutcome:
        del event
        return NOTHING_SAID

    def notify(self, event: "HookEvent") -> None:
        """Nothing listens."""

    def collect(self) -> tuple[str, ...]:
        return ()

    async def late_words(self) -> str | None:
        return None

    async def fire_session_start(self, source: StartSource) -> None:
        """Nothing listens."""

    async def fire_session_end(self, reason: EndReason = "other") -> None:
        """Nothing listens."""

    def begin_turn(self, prompt_id: str) -> None:
        """Nothing listens."""

    def for_agent(
        self,
        agent_id: str,
        agent_type: str,
        *,
        workspace: "Workspace | None" = None,
        standing: "Callable[[], AgentState] | None" = None,
    ) -> "NoHooks":
        del agent_id, agent_type, workspace, standing
        return self

    def add_host_hooks(self, hooks: Mapping[str, Any], ask: AskHost) -> int:
        """A session without hooks takes none."""
        del hooks, ask
        return 0
