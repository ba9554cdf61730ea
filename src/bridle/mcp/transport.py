"""How messages travel: what every transport does for the protocol above it."""

from collections.abc import Mapping
from typing import Any, Protocol

import msgspec

from bridle.mcp.faults import ConnectionLost
from bridle.types.text import decode_json

Message = Mapping[str, Any]
"""One JSON-RPC request, notification or response as plain values."""

NO_HEADERS: Mapping[str, str] = {}
LONGEST_MESSAGE = 64 * 1024 * 1024


class Receiver(Protocol):
    """Who is told what comes in."""

    def take(self, message: Any) -> None:
        """One decoded JSON value; never fails, whatever it is."""
        ...

    def lose(self, error: ConnectionLost) -> None:
        """Nothing will come any more."""
        ...

    def note(self, text: str) -> None:
        """Something that the server says to people: a line of standard error, noise between messages."""
        ...


class Transport(Protocol):
    """A way to one server; opened once, closed once."""

    streams: bool
    """Whether each request has a stream of its own, whose end tells the server that nobody waits."""

    async def open(self, receiver: Receiver) -> None:
        """Begin to listen.

        Raises:
            McpError: the server cannot be reached or started.
        """
        ...

    async def send(self, message: Message, headers: Mapping[str, str] = NO_HEADERS) -> None:
        """Hand a message over, with these headers where the transport has any.

        A transport that gets the answer to a request on the same way returns when the answer is in;
        cancelling then tells the server that nobody waits any more.

        Raises:
            McpError: it cannot be delivered, or there will be no answer.
        """
        ...

    async def close(self) -> None:
        """Let go of everything, also when `open` has failed."""
        ...

    def agree(self, revision: str) -> None:
        """Both sides have agreed on this revision of the protocol; empty before the handshake."""
        ...

    def begin(self) -> None:
        """The handshake is over: from now on the server may speak on its own."""
        ...


def encode(message: Message) -> bytes:
    """A message as one line of JSON, without the line end."""
    return msgspec.json.encode(message)


def decode(data: bytes) -> Any:
    """The JSON value in `data`.

    Raises:
        ValueError: it is not JSON.
    """
    try:
        return decode_json(data)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(str(error)) from error
