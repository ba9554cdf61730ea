"""What a turn works with: the parts that meet in the engine, all chosen before it begins."""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct

from bridle.types.block import TextBlock
from bridle.types.channel import Channel
from bridle.types.hook_outcome import Hooks, NoHooks
from bridle.types.model import Provider, Thinking
from bridle.types.permission import Case, Decision, Mode, PermissionUpdate
from bridle.types.sandbox import Sandbox
from bridle.types.tool import Toolbox
from bridle.types.usage import Usage
from bridle.types.workspace import Workspace


class Briefing(Protocol):
    """What the model is told besides the conversation."""

    def system(self, model: str) -> tuple[TextBlock, ...]:
        """The system prompt; the same bytes at every step of a session."""
        ...

    def opening(self) -> list[TextBlock]:
        """Reminders that stand before the first prompt of a conversation."""
        ...

    def beside(self, paths: Sequence[str]) -> str | None:
        """Instructions that belong to files just touched and have not been given yet."""
        ...


class ModelFacts(Struct, frozen=True, kw_only=True):
    """What the engine must know of a model before it asks it anything."""

    context_window: int
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


class Runtime(Struct, frozen=True, kw_only=True):
    provider: Provider
    channel: Channel
    workspace: Workspace
    toolbox: Toolbox
    decide: Callable[[Case], Decision]
    briefing: Briefing
    facts: Callable[[str], ModelFacts]
    asking: Asking
    storage: str
    env: Mapping[str, str] = {}
    hooks: Hooks = NoHooks()
    limits: Limits = Limits()
    judge: Callable[..., Awaitable[Decision]] | None = None
    """Settles in auto mode what would be asked: called with the turn, the case and the doubt."""
    persist: Callable[[PermissionUpdate], Awaitable[None]] | None = None
    """Writes an update that was agreed to into the settings file that it names."""
    trusted: bool = True
    """Whether the user has vouched for the folder."""
    modes: tuple[Mode, ...] = ("default", "acceptEdits", "plan", "dontAsk")
    """The modes that an answer may switch to."""
    sandbox: Sandbox | None = None
    sandbox_allows: bool = True
    """Commands that run in the sandbox need no approval."""
    clock: Callable[[], float] = time.monotonic
