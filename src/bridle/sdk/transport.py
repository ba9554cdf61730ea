"""The way to an agent in another process, as programs for the official Agent SDK write one."""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from typing import Any


class Transport(ABC):
    """The interface of a connection to another process; a session in this process accepts none."""

    @abstractmethod
    async def connect(self) -> None:
        """Make ready to write and read."""

    @abstractmethod
    async def write(self, data: str) -> None:
        """Send a line."""

    @abstractmethod
    def read_messages(self) -> AsyncIterator[dict[str, Any]]:
        """The messages of the other side, as they come."""

    @abstractmethod
    async def close(self) -> None:
        """End the connection, in a time that it bounds itself."""

    @abstractmethod
    def is_ready(self) -> bool:
        """Whether a line could be sent now."""

    @abstractmethod
    async def end_input(self) -> None:
        """Nothing more will be sent."""
