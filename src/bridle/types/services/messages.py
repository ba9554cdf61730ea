"""Messages from one agent to another."""

from typing import Literal, Protocol

from msgspec import Struct

from bridle.types.services.service import Service


class AgentMessage(Struct, frozen=True, kw_only=True):
    """A message to an agent."""

    id: str
    sender: str
    """The address of the sender, for an answer."""
    text: str
    summary: str = ""
    sent: float
    """Seconds since the epoch."""


class Delivery(Struct, frozen=True, kw_only=True):
    """What became of a message for one of its receivers."""

    to: str
    how: Literal["delivered", "resumed", "sent"]
    """Put into the mailbox of a running agent, resumed one that had ended, or sent to another session."""


class Contact(Struct, frozen=True, kw_only=True):
    """A receiver that messages can be sent to."""

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
            ToolError: there is no such receiver, or it cannot take the message.
        """
        ...

    async def contacts(self) -> tuple[Contact, ...]:
        """Every receiver that messages can be sent to."""
        ...


MESSAGES: Service[Messages] = Service("messages", missing="There are no agents to write to in this session.")
