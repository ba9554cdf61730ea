"""Something outside that a session watches, each line of it being an event."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from bridle.types.sandbox import Refusal, View
from bridle.types.services.service import Service
from bridle.types.services.tasks import Task


class WatchedCommand(Struct, frozen=True, kw_only=True):
    """A program whose lines are events."""

    argv: Sequence[str]
    cwd: str
    env: Mapping[str, str]
    pass_fds: tuple[int, ...] = ()
    command: str
    """What people read for it."""
    view: View | None = None
    """What a command that only judgment allowed is held to."""
    refused: Callable[[Refusal], None] = lambda _: None
    """Called with what the view kept it from."""


class WatchedSocket(Struct, frozen=True, kw_only=True):
    """A web socket whose messages are events."""

    url: str
    protocols: tuple[str, ...] = ()


class Watch(Struct, frozen=True, kw_only=True):
    """What is to be watched, and for how long."""

    source: WatchedCommand | WatchedSocket
    description: str
    seconds: float | None
    """None for as long as the session lasts."""
    call_id: str
    name: str | None = None


class PluginMonitor(Struct, frozen=True, kw_only=True):
    """A command that a plugin wants watched."""

    plugin: str
    name: str
    command: str
    description: str
    when: str
    env: Mapping[str, str]


class Monitors(Protocol):
    """What a session watches."""

    @property
    def longest(self) -> float:
        """The most seconds that a call may watch something."""
        ...

    async def start(self, watch: Watch) -> Task:
        """Begin to watch, as a background job.

        Raises:
            ToolError: there are too many, or it cannot be begun.
        """
        ...


MONITORS: Service[Monitors] = Service("monitors", missing="Nothing can be watched in this session.")
