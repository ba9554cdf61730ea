"""What the user's own code may say at a moment of a session, and who asks it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, Protocol

from msgspec import Struct

from bridle.types.permission import Decision, PermissionUpdate

if TYPE_CHECKING:
    from bridle.types.hook import HookEvent

ElicitationAction = Literal["accept", "decline", "cancel"]


class HookStarted(Struct, frozen=True, kw_only=True):
    """A hook is about to run."""

    id: str
    name: str
    """`PreToolUse:Bash`, or the event alone."""
    event: str
    status_message: str | None = None


class HookRun(Struct, frozen=True, kw_only=True):
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
        """Whether somebody who waited would like to know for what."""
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


class Hooks(Protocol):
    @property
    def listens(self) -> bool:
        """Whether there are hooks at all; where there are none, events need not be made."""
        ...

    async def fire(self, event: "HookEvent") -> HookOutcome: ...


NOTHING_SAID = HookOutcome()


class NoHooks:
    """Nobody listens."""

    listens = False

    async def fire(self, event: "HookEvent") -> HookOutcome:
        del event
        return NOTHING_SAID
