"""The interfaces of agents in processes of their own, which another feature runs."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from bridle.engine.assignment import Assignment
from bridle.engine.turn import Turn
from bridle.types.permission import PermissionUpdate
from bridle.types.services.delegation import AgentCompleted
from bridle.types.services.messages import AgentMessage
from bridle.types.services.tasks import Task


class Inbox(Protocol):
    """Where messages to an agent are put."""

    def put(self, letter: AgentMessage) -> None: ...

    def tell(self, text: str, *, sender: str) -> None: ...


class Run(Protocol):
    """A running agent, in this process or in another."""

    over: asyncio.Event
    moved: asyncio.Event

    @property
    def lead(self) -> Turn: ...

    @property
    def work(self) -> Assignment: ...

    @property
    def task(self) -> Task: ...

    @property
    def mail(self) -> Inbox | None: ...

    def begin(self, stop: Callable[[], Awaitable[None]]) -> None: ...

    async def report(self) -> AgentCompleted: ...

    def settle(self) -> None: ...

    def move_to_background(self) -> bool: ...

    def hush(self) -> None: ...

    def take_rules(self, update: PermissionUpdate) -> None: ...


class AgentProcesses(Protocol):
    """Agents that have processes of their own."""

    def has(self, name: str) -> bool:
        """Whether one of this name is running or starting."""
        ...

    async def hire(self, turn: Turn, work: Assignment, *, resumes: str | None = None) -> Run | None:
        """Start one, or continue the conversation `resumes`; None where it works in this process."""
        ...

    def share(self, update: Mapping[str, Any], *, without: str | None = None) -> None:
        """Tell them of a change of rules."""
        ...

    async def end(self, agent_id: str) -> None:
        """End one; harmless when it has ended."""
        ...

    async def end_idle(self) -> int:
        """End all idle ones. Returns how many there were."""
        ...
