"""What a turn works with: the parts that meet in the engine, all chosen before it begins."""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, Unpack

import msgspec
from msgspec import Struct

from bridle.context.window import CompactionSettings, Window, window_of
from bridle.engine.cache_watch import CacheWatch
from bridle.engine.feature import Features
from bridle.engine.null_parts import (
    ANY_SHAPE,
    NO_ARRIVALS,
    NO_COMMANDS,
    NO_SERVERS,
    attach_nothing,
    no_news,
    persist_nothing,
    stay,
)
from bridle.types.block import TextBlock
from bridle.types.channel import Channel
from bridle.types.hooks.outcome import Hooks, NoHooks
from bridle.types.host_options import HostOptions
from bridle.types.model import Provider, Thinking
from bridle.types.permission import Case, Decision, Mode, PermissionUpdate
from bridle.types.sandbox import Sandbox
from bridle.types.tool import Tool, Toolbox
from bridle.types.turn import Prompt
from bridle.types.usage import Usage
from bridle.types.workspace import Workspace

if TYPE_CHECKING:
    from bridle.engine.runtime_parts import RuntimeParts
    from bridle.engine.turn import Ending, Turn
    from bridle.transcripts.session import Session
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


class Shape(Protocol):
    """The shape that answers must have, and how far the turn that runs has come with it."""

    @property
    def tools(self) -> "Sequence[Tool]":
        """The tool that takes the answer, where answers must have a shape."""
        ...

    def begin(self) -> None:
        """A turn begins."""
        ...

    def nudge(self) -> str | None:
        """What to say to a model that stops without an answer."""
        ...

    def ending(self) -> "Ending | None":
        """How the turn ends, when its answer was given or was wrong too often."""
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
    is_priced: bool = True
    """Whether `cost` knows the price."""
    fast_factor: float = 0.0
    """How many times the usual price fast mode costs; 0 where the model has none."""


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
    shape: Shape = ANY_SHAPE
    """The shape that answers must have."""

    def at_effort(self, effort: str | None) -> "Asking":
        """These settings with another effort."""
        return msgspec.structs.replace(self, effort=effort)

    def in_shape(self, shape: Shape) -> "Asking":
        """These settings for answers of another shape."""
        return msgspec.structs.replace(self, shape=shape)

    def for_user(self, user_id: str | None) -> "Asking":
        """These settings under another name for the installation and the session."""
        return msgspec.structs.replace(self, user_id=user_id)

    def for_agent(self, effort: str | None, shape: Shape) -> "Asking":
        """These settings for an agent, which has no task budget of its own."""
        return msgspec.structs.replace(self, effort=effort, shape=shape, task_budget=None)


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
    persist: Callable[[PermissionUpdate], Awaitable[None]] = persist_nothing
    """Writes an update that was agreed to into the settings file that it names."""

    def without_persistence(self) -> "Gate":
        """This gate where what is agreed to is kept by another."""
        return msgspec.structs.replace(self, persist=persist_nothing)


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

    async def begin_prompt(self, uuid: str) -> None:
        """A prompt is recorded: what files hold now can be restored later, where that is wanted."""
        if self.checkpoints is not None:
            await self.checkpoints.begin(uuid)

    async def end_prompt(self) -> None:
        """The turn has ended: what changes from now on was changed by others."""
        if self.checkpoints is not None:
            await self.checkpoints.end()

    def without_checkpoints(self) -> "Records":
        """These records for work that changes no files."""
        return msgspec.structs.replace(self, checkpoints=None)


class HostLink(Struct, frozen=True, kw_only=True):
    """The program around the session, as a turn sees it."""

    offer: HostOptions = HostOptions()
    """What the host program brings."""
    arrivals: Arrivals = NO_ARRIVALS
    """Prompts that come while a turn runs and may join it."""
    leave: Callable[[], None] = stay
    """Ends the session after the running turn, where that is possible."""
    defers: bool = True
    """Hooks may defer calls to a later run, which makes no sense where a person waits."""

    def offering(self, offer: HostOptions) -> "HostLink":
        """This link with what the host program brings now."""
        return msgspec.structs.replace(self, offer=offer)

    is_last: Callable[[], bool] = lambda: False
    """Whether no other prompt can come, so that a turn waits for what may continue it."""

    def wired(self, arrivals: Arrivals, leave: Callable[[], None], is_last: Callable[[], bool]) -> "HostLink":
        """This link with an inbox."""
        return msgspec.structs.replace(self, arrivals=arrivals, leave=leave, is_last=is_last)

    def without_arrivals(self) -> "HostLink":
        """This link for work that no prompt joins."""
        return msgspec.structs.replace(self, arrivals=NO_ARRIVALS)

    def for_agent(self, arrivals: Arrivals) -> "HostLink":
        """This link for an agent, whose calls cannot wait for a later run."""
        return msgspec.structs.replace(self, arrivals=arrivals, defers=False, is_last=lambda: False)


class ContextSources(Struct, frozen=True, kw_only=True):
    """What is added to a conversation besides prompts and results."""

    attach: "Callable[[Turn, Prompt], Awaitable[Prompt]]" = attach_nothing
    """Adds to a prompt what it mentions, such as files."""
    news: "Callable[[Session, Toolbox], str | None]" = no_news
    """What the model should know before its next step."""
    restore: tuple[Callable[[], str | None], ...] = ()
    """What the model must be given again after a compaction."""
    styles: Callable[[], Sequence[str]] = lambda: ("default",)
    """The output styles that can be chosen."""

    def for_agent(self) -> "ContextSources":
        """These sources for an agent, which is given nothing again after a compaction."""
        return msgspec.structs.replace(self, restore=())


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
    servers: "McpServers" = NO_SERVERS
    """The MCP servers of the session."""
    commands: "Commands" = NO_COMMANDS
    """The slash commands."""
    watch: CacheWatch = msgspec.field(default_factory=CacheWatch)
    """Notices when the cached prefix is lost."""
    features: Features = Features()
    """The capabilities of the session that the engine knows nothing about."""
    clock: Callable[[], float] = time.monotonic

    def replaced(self, **parts: "Unpack[RuntimeParts]") -> "Runtime":
        """This runtime with others in the place of some parts."""
        return msgspec.structs.replace(self, **parts)

    def without_shape(self) -> "Runtime":
        """This runtime for work whose answers may have any shape."""
        return self.replaced(asking=self.asking.in_shape(ANY_SHAPE))

    def window(self, model: str) -> Window:
        """The marks of a model's window."""
        facts = self.facts(model)
        habits = self.habits
        return window_of(facts.context_window, facts.max_output, chosen=habits.window, percent=habits.percent)
