"""What the runner hands to a kind of hook, and what it gets back."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal, Protocol

from msgspec import Struct

from bridle.config.hook_schema import AgentHook, CommandHook, Hook, HttpHook, McpToolHook, PromptHook
from bridle.types.hooks.events import HookEvent

Kind = Literal["command", "http", "mcp_tool", "prompt", "agent", "callback", "function"]

HookSource = Literal[
    "userSettings", "projectSettings", "localSettings", "flagSettings", "policySettings",
    "plugin", "skill", "agent", "session",
]  # fmt: skip


class CallbackHook(Struct, frozen=True, kw_only=True):
    """Code of an SDK program, called over the control protocol."""

    callback_id: str
    condition: str | None = None
    timeout: float | None = None
    status_message: str | None = None
    once: bool | None = None
    on_failure: str | None = None


class FunctionHook(Struct, frozen=True, kw_only=True):
    """Code in this very process."""

    function: Callable[[dict[str, Any]], Any]
    """Takes the input; returns an output object, None, or something to await for either."""
    label: str = "function"
    condition: str | None = None
    timeout: float | None = None
    status_message: str | None = None
    once: bool | None = None
    on_failure: str | None = None


AnyHook = Hook | CallbackHook | FunctionHook


class Origin(Struct, frozen=True, kw_only=True):
    """Who wrote a hook, and where."""

    source: HookSource
    file: str = ""
    key: str = ""
    """`hooks.PreToolUse[0].hooks[1]`"""
    line: int | None = None
    owner: str = ""
    """The name of the plugin, skill or agent."""
    shared: bool = False
    """It came with the folder, though it is not in its settings: a skill or an agent of the project."""
    plugin_root: str | None = None
    plugin_data: str | None = None
    options: Mapping[str, str] = {}
    """The plugin's options as the user set them."""


class HookCall(Struct, frozen=True, kw_only=True):
    """One run of one hook."""

    id: str
    name: str
    """`PreToolUse:Bash`, or the event alone."""
    hook: AnyHook
    origin: Origin
    event: HookEvent
    payload: dict[str, Any]
    """The input as an object."""
    data: bytes
    """The input as JSON, encoded once for all hooks of the event."""
    timeout: float
    """Seconds after which the runner cancels the handler; a handler need not watch the clock."""
    progress: Callable[[str, str], None] = lambda _stdout, _stderr: None
    """Called now and then with the output so far of a hook that takes long."""


class Ran(Struct, frozen=True, kw_only=True):
    """A program that ended; its exit code and output decide."""

    exit_code: int
    stdout: str
    """At most 4 MiB; the runner cuts the texts in it when they are used."""
    stderr: str = ""
    exported: str = ""
    """What it wrote into the file of CLAUDE_ENV_FILE."""


class Answered(Struct, frozen=True, kw_only=True):
    """An output object came from somewhere else than a program; `{}` is no opinion."""

    output: Mapping[str, Any]
    text: str = ""
    """The answer as it came, for the log."""


class Refused(Struct, frozen=True, kw_only=True):
    """A judge said no, which is what exit code 2 is for a program."""

    reason: str


class Failed(Struct, frozen=True, kw_only=True):
    """The hook could not do its work; the event continues unless `onFailure` of the hook is `block`."""

    reason: str
    """One sentence for the user."""
    stdout: str = ""
    stderr: str = ""
    exit_code: int | None = None


class TimedOut(Struct, frozen=True, kw_only=True):
    """The time was over; made by the runner."""

    seconds: float


class Detached(Struct, frozen=True, kw_only=True):
    """The hook continues in the background."""

    rest: "Callable[[], Awaitable[Reply]]"
    """To be called exactly once: waits for the end; cancelling it ends what still runs."""
    timeout: float
    """Seconds that the rest may take."""


Reply = Ran | Answered | Refused | Failed | TimedOut | Detached

Handler = Callable[[HookCall], Awaitable[Reply]]
"""Runs one hook. Cancelling it ends everything it started; whatever it raises counts as Failed."""


class Background(Protocol):
    """Takes over hooks that run in the background."""

    def adopt(self, call: HookCall, detached: Detached) -> bool:
        """Take over a hook; False when there are too many already, and then `rest` was not called."""
        ...


_KINDS: dict[type[AnyHook], Kind] = {
    CommandHook: "command",
    HttpHook: "http",
    McpToolHook: "mcp_tool",
    PromptHook: "prompt",
    AgentHook: "agent",
    CallbackHook: "callback",
    FunctionHook: "function",
}


def kind_of(hook: AnyHook) -> Kind:
    return _KINDS[type(hook)]
