"""The hooks of a session, loaded with the first one: what runs them is not imported before."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bridle.config.sources import Layer
from bridle.types.hooks.outcome import (
    NOTHING_SAID,
    AgentState,
    AskHost,
    EndReason,
    HookOutcome,
    Hooks,
    NoHooks,
    StartSource,
)

if TYPE_CHECKING:
    from bridle.engine.hooks.session_hooks import SessionHooks
    from bridle.engine.runtime import Runtime
    from bridle.hooks.handler import FunctionHook
    from bridle.types.hooks.events import HookEvent
    from bridle.types.workspace import Workspace


class LazyHooks:
    """Passes events on once there is a hook; until then an event costs one check."""

    def __init__(self, make: "Callable[[], SessionHooks]") -> None:
        self._make = make
        self._made: SessionHooks | None = None
        self._parts: Callable[[], Runtime] | None = None
        self.has_host_hooks = False
        """The program around the session listens, which no other process can reach."""

    @property
    def is_open(self) -> bool:
        return self._made is not None

    def open(self) -> "SessionHooks":
        """What runs the hooks, made now if it was not there yet."""
        if self._made is None:
            self._made = self._make()
            if self._parts is not None:
                self._made.follow(self._parts)
        return self._made

    def follow(self, parts: "Callable[[], Runtime]") -> None:
        """Let hooks know the session by the parts that it has when an event happens, not by its first."""
        self._parts = parts
        if self._made is not None:
            self._made.follow(parts)

    def listens_to(self, event: str) -> bool:
        return self._made is not None and self._made.listens_to(event)

    async def fire(self, event: "HookEvent") -> HookOutcome:
        return NOTHING_SAID if self._made is None else await self._made.fire(event)

    def notify(self, event: "HookEvent") -> None:
        if self._made is not None:
            self._made.notify(event)

    def collect(self) -> tuple[str, ...]:
        return () if self._made is None else self._made.collect()

    def begin_turn(self, prompt_id: str) -> None:
        if self._made is not None:
            self._made.begin_turn(prompt_id)

    def for_agent(
        self,
        agent_id: str,
        agent_type: str,
        *,
        workspace: "Workspace | None" = None,
        standing: Callable[[], AgentState] | None = None,
    ) -> Hooks:
        """An agent's view; hooks that come later do not reach an agent that began when there were none."""
        return (
            NoHooks()
            if self._made is None
            else self._made.for_agent(agent_id, agent_type, workspace=workspace, standing=standing)
        )

    def add_host_hooks(self, hooks: Mapping[str, Any], ask: AskHost) -> int:
        self.has_host_hooks = bool(hooks)
        return self.open().add_host_hooks(hooks, ask) if hooks else 0

    def add_function(
        self, event: str, hook: "FunctionHook", *, matcher: str | None = None
    ) -> Callable[[], None]:
        """Let a function of this process listen; what is returned takes it away again."""
        return self.open().add_function(event, hook, matcher=matcher)

    def reload(self, layers: Sequence[Layer]) -> None:
        """Use other settings from the next event on."""
        if self._made is not None or any(layer.values.get("hooks") for layer in layers):
            self.open().reload(layers)

    async def fire_session_start(self, source: StartSource) -> None:
        """Fire SessionStart, and add the messages of hooks to the conversation."""
        if self._made is not None:
            await self._made.fire_session_start(source)

    async def fire_session_end(self, reason: EndReason = "other") -> None:
        """Fire SessionEnd."""
        if self._made is not None:
            await self._made.fire_session_end(reason)

    async def late_words(self) -> str | None:
        """What the next hook in the background that may wake the model says."""
        return None if self._made is None else await self._made.late_words()

    def move(self, transcript_path: str) -> None:
        """The session continues with another conversation, in this file."""
        if self._made is not None:
            self._made.move(transcript_path)

    async def close(self) -> None:
        if self._made is not None:
            await self._made.close()
