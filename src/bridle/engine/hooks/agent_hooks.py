"""The hooks of a session as an agent in it sees them."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from bridle.types.hooks.events import HookEvent
from bridle.types.hooks.outcome import AgentState, AskHost, EndReason, HookOutcome, Hooks, StartSource
from bridle.types.workspace import Workspace


class AgentHooks:
    """Says who the agent is with every event; words from the background go to the session."""

    def __init__(
        self,
        session: Hooks,
        *,
        fire: Callable[[HookEvent], Awaitable[HookOutcome]],
        notify: Callable[[HookEvent], None],
    ) -> None:
        self._session = session
        self._fire = fire
        self._notify = notify

    def listens_to(self, event: str) -> bool:
        return self._session.listens_to(event)

    async def fire(self, event: HookEvent) -> HookOutcome:
        return await self._fire(event)

    def notify(self, event: HookEvent) -> None:
        self._notify(event)

    def collect(self) -> tuple[str, ...]:
        return ()

    async def late_words(self) -> str | None:
        return None

    async def fire_session_start(self, source: StartSource) -> None:
        """An agent begins with SubagentStart."""

    async def fire_session_end(self, reason: EndReason = "other") -> None:
        """An agent ends with SubagentStop."""

    def begin_turn(self, prompt_id: str) -> None:
        """An agent works on the prompt of the session."""

    def for_agent(
        self,
        agent_id: str,
        agent_type: str,
        *,
        workspace: Workspace | None = None,
        standing: Callable[[], AgentState] | None = None,
    ) -> Hooks:
        return self._session.for_agent(agent_id, agent_type, workspace=workspace, standing=standing)

    def add_host_hooks(self, hooks: Mapping[str, Any], ask: AskHost) -> int:
        return self._session.add_host_hooks(hooks, ask)
