"""Words from one agent to another."""

from typing import Literal, Protocol

from msgspec import Struct

from bridle.types.services.service import Service


class AgentMessage(Struct, frozen=True, kw_only=True):
    """A message on its way."""

    id: str
    sender: str
    """The name by which an answer reaches whoever wrote it."""
    text: str
    summary: str = ""
    sent: float
    """Seconds since the epoch."""


class Delivery(Struct, frozen=True, kw_only=True):
    """What became of a message for one of its receivers."""

    to: str
    how: Literal["delivered", "resumed", "sent"]
    """Put into the mailbox of somebody at work, wakes somebody who had ended, or is with another session."""


class Contact(Struct, frozen=True, kw_only=True):
    """Somebody who can be written to."""

    address: str
    """What to give as `to`."""
    kind: Literal["main", "agent", "session"]
    status: str
    about: str = ""
    agent_id: str | None = None
    agent_type: str | None = None


class Messages(Protocol):
    """Writing to other agents, for the tools that do it."""

    async def send(self, *, to: str, text: str, summary: str, notify_when_idle: bool) -> tuple[Delivery, ...]:
        """Deliver a message; what became of it, for each receiver.

        Raises:
            ToolError: there is nobody, or they cannot take it.
        """
        ...

    async def contacts(self) -> tuple[Contact, ...]:
        """Everybody who can be written to."""
        ...


MESSAGES: Service[Messages] = Service("messages", missing="There are no agents to write to in this session.")
