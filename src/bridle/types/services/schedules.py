"""Prompts that are sent automatically at a time."""

import asyncio
from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from bridle.types.services.service import Service


class Clock(Protocol):
    """The time of day, and waiting for it."""

    def now(self) -> float:
        """Seconds since the epoch."""
        ...

    async def wait(self, event: asyncio.Event, seconds: float) -> None:
        """Return when the event is set or the seconds are over."""
        ...


class Scheduled(Struct, frozen=True, kw_only=True):
    """A prompt with the times at which it comes."""

    id: str
    cron: str
    prompt: str
    recurring: bool = True
    durable: bool = False
    """Kept in the project's file, so that it outlives the session."""
    created: float
    """Seconds since the epoch."""
    permanent: bool = False
    """It never expires."""
    words: str = ""
    """Its times as a person says them."""
    approved: bool = True
    """False for one that a project brings and the user has not approved as it is: it does not come."""


class Wakeup(Struct, frozen=True, kw_only=True):
    """The one moment at which a session takes up its own work again."""

    at: float
    seconds: float
    reason: str
    prompt: str


class Schedules(Protocol):
    """The prompts of one session that will come."""

    async def create(self, cron: str, prompt: str, *, recurring: bool, durable: bool) -> Scheduled:
        """Let a prompt come at the times that a cron expression names.

        Raises:
            ToolError: it cannot be read, never comes, or there are too many.
        """
        ...

    async def delete(self, id: str) -> Scheduled:
        """Let a prompt come no more.

        Raises:
            ToolError: there is none of that id.
        """
        ...

    def all(self) -> Sequence[Scheduled]: ...

    def wake_in(self, seconds: float, *, reason: str, prompt: str) -> Wakeup:
        """Let one prompt come after a while, in place of the one that was to come before.

        Raises:
            ToolError: the session ends before.
        """
        ...

    def stop_waking(self) -> Wakeup | None:
        """Let it come no more; what would have come."""
        ...


SCHEDULES: Service[Schedules] = Service("schedules", missing="Nothing can be scheduled in this session.")
