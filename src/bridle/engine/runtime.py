"""What a turn works with: the parts that meet in the engine, all chosen before it begins."""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import msgspec
from msgspec import Struct

from bridle.context.window import CompactionSettings, Window, window_of
from bridle.engine.cache_watch import CacheWatch
from bridle.engine.feature import Features
from bridle.types.block import TextBlock
from bridle.types.channel import Channel
from bridle.types.hooks.outcome import Hooks, NoHooks
from bridle.types.host_options import HostOptions
from bridle.types.model import Provider, Thinking
from bridle.types.permission import Case, Decision, Mode, PermissionUpdate
from bridle.types.sandbox import Sandbox
from bridle.types.tool import Toolbox
from bridle.types.turn import Prompt
from bridle.types.usage import Usage
from bridle.types.workspace import Workspace

if TYPE_CHECKING:
    from bridle.engine.structured_output import AnswerShape
    from bridle.types.command import Commands
    from bridle.types.services.checkpoints import Checkpoints
    from bridle.types.services.mcp import McpServers


class Briefing(Protocol):
    """Text for the model besides the conversation."""

    def system(self, model: str) -> tuple[TextBlock, ...]:
        """The system prompt; the same bytes at every step of a session."""
        ...

    def opening(self) -> list[TextBlock]:
        """Reminders that stand before the first prompt of a conversation."""
        ...

    def anew(self) -> list[TextBlock]:
        """The reminders after a compaction, read from their files again."""
        ...

    def beside(self, paths: Sequence[str]) -> str | None:
        """Instructions that belong to files just touched and have not been given yet."""
        ...

    def for_agent(
        self,
        prompt: str,
        *,
        cwd: str,
        model: str,
        instructions: bool,
        listings: Sequence[Callable[[], str | None]] = (),
    ) -> "Briefing":
        """The briefing of an agent of the session, with its own system prompt and model.

        `listings` are what it can choose from, given when its conversation begins.
        """
        ...


class Arrivals(Protocol):
    """Prompts that wait, as a running turn sees them."""

    def peek(self) -> Prompt | None:
        """The first that may join the turn now."""
        ...

    def take(self, prompt: Prompt) -> None:
        """This one has joined and waits no more."""
        ...

    async def stirred(self) -> None:
        """Return as soon as any prompt waits, also one that does not join."""
        ...


class ModelFacts(Struct, frozen=True, kw_only=True):
    """What the engine must know of a model before it asks it anything."""

    context_window: int
    window_enforced: bool = True
    """False when the service is left to say that a conversation is too long."""
    max_output: int
    """The most that the model can write in one answer."""
    max_tokens: int
    """What is asked for unless an answer was cut."""
    thinking: Thinking | None = None
    efforts: tuple[str, ...] = ()
    """The levels of effort that the model can be asked for."""
    cost: Callable[[Usage], float] = lambda _: 0.0


class Limits(Struct, frozen=True, kw_only=True):
    max_turns: int | None = None
    max_budget_usd: float | None = None
    max_total_tokens: int | None = None
    parallel_calls: int = 10
    message_result_chars: int = 200_000
    """How much the results of one message may add to the conversation in all."""


class Asking(Struct, frozen=True, kw_only=True):
    """How requests are made, the same for every step."""

    small_model: str
    effort: str | None = None
    task_budget: int | None = None
    betas: tuple[str, ...] = ()
    user_id: str | None = None
    cache: bool = True
    extra: Mapping[str, Any] = {}
    max_tokens: int | None = None
    """A cap that the user set; answers that it cuts are continued but never escalated."""
    shape: "AnswerShape | None" = None
    """The shape that answers must have, where one was asked for."""


class Gate(Struct, frozen=True, kw_only=True):
    """What decides about calls, and what answers to questions about them may change."""

    decide: Callable[[Case], Decision]
    modes: tuple[Mode, ...] = ("default", "acceptEdits", "plan", "dontAsk")
    """The modes that an answer may switch to."""
    trusted: bool = True
    """Whether the user trusts the folder."""
    sandbox: Sandbox | None = None
    """What confines commands, where one is used."""
    sandbox_allows: bool = True
    """Commands that run in the sandbox need no approval."""
    persist: Callable[[PermissionUpdate], Awaitable[None]] | None = None
    """Writes an update that was agreed to into the settings file that it names."""


class Records(Struct, frozen=True, kw_only=True):
    """Where a conversation and what belongs to it are kept."""

    storage: str
    """The folder for what does not fit into the conversation."""
    earlier: tuple[str, ...] = ()
    """The folders of conversations that this one was copied from, and of those that this program had before.

    Work that began in these still writes there."""
    transcript: str | None = None
    """The file with the whole conversation; None where none is kept."""
    checkpoints: "Checkpoints | None" = None
    """Keeps what files held before they were changed, where that is wanted."""

    @property
    def folders(self) -> tuple[str, ...]:
        """Every folder in which work of this conversation may be kept, its own first."""
        return (self.storage, *self.earlier)


class HostLink(Struct, frozen=True, kw_only=True):
    """The program around the session, as a turn sees it."""

    offer: HostOptions = HostOptions()
    """What the host program brings."""
    arrivals: Arrivals | None = None
    """Prompts that come while a turn runs and may join it."""
    leave: Callable[[], None] | None = None
    """Ends the session after the running turn, where that is possible."""
    defers: bool = True
    """Hooks may defer calls to a later run, which makes no sense where a person waits."""


class ContextSources(Struct, frozen=True, kw_only=True):
    """What is added to a conversation besides prompts and results."""

    attach: Callable[..., Awaitable[Prompt]] | None = None
    """Adds to a prompt what it mentions, such as files; called with the turn and the prompt."""
    news: Callable[..., str | None] | None = None
    """What the model should know before its next step; called with the session and its tools."""
    restore: tuple[Callable[[], str | None], ...] = ()
    """What the model must be given again after a compaction."""
    styles: Callable[[], Sequence[str]] = lambda: ("default",)
    """The output styles that can be chosen."""


class Runtime(Struct, frozen=True, kw_only=True):
    provider: Provider
    channel: Channel
    workspace: Workspace
    toolbox: Toolbox
    gate: Gate
    records: Records
    briefing: Briefing
    facts: Callable[[str], ModelFacts]
    asking: Asking
    host: HostLink = HostLink()
    sources: ContextSources = ContextSources()
    env: Mapping[str, str] = {}
    hooks: Hooks = NoHooks()
    limits: Limits = Limits()
    habits: CompactionSettings = CompactionSettings()
    """What the user has said about compaction."""
    servers: "McpServers | None" = None
    """The MCP servers of the session, where there are any."""
    commands: "Commands | None" = None
    """The slash commands, where there are any."""
    watch: CacheWatch = msgspec.field(default_factory=CacheWatch)
    """Notices when the cached prefix is lost."""
    features: Features = Features()
    """The capabilities of the session that the engine knows nothing about."""
    clock: Callable[[], float] = time.monotonic

    def without_shape(self) -> "Runtime":
        """This runtime for work whose answers may have any shape."""
        return msgspec.structs.replace(self, asking=msgspec.structs.replace(self.asking, shape=None))

    def window(self, model: str) -> Window:
        """The marks of a model's window."""
        facts = self.facts(model)
        habits = self.habits
        return window_of(facts.context_window, facts.max_output, chosen=habits.window, percent=habits.percent)
