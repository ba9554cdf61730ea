"""How messages travel: what every transport does for the protocol above it."""

from collections.abc import Mapping
from typing import Any, Protocol

import msgspec
from msgspec import Raw, Struct

from bridle.host.jsonrpc import NO_HEADERS, Message
from bridle.mcp.errors import ConnectionLost
from bridle.types.text import decode_json, whole_escapes

LONGEST_MESSAGE = 64 * 1024 * 1024
_LARGE = 256 * 1024
"""A list of tools that is longer is not turned into values as a whole: they take many times its size."""


class Receiver(Protocol):
    """Receives what comes in."""

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
    """Whether each request has a stream of its own, whose end tells the server that no one waits."""

    async def open(self, receiver: Receiver) -> None:
        """Begin to listen.

        Raises:
            McpError: the server cannot be reached or started.
        """
        ...

    async def send(self, message: Message, headers: Mapping[str, str] = NO_HEADERS) -> None:
        """Hand a message over, with these headers where the transport has any.

        A transport that gets the answer to a request on the same way returns when the answer is in;
        cancelling then tells the server that no one waits any more.

        Raises:
            McpError: it cannot be delivered, or there will be no answer.
        """
        ...

    async def close(self) -> None:
        """Release everything, also when `open` has failed."""
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
    """The JSON value in `data`; the entries of a very long list of tools are left to be read one by one.

    Raises:
        ValueError: it is not JSON.
    """
    try:
        if len(data) > _LARGE:
            return _decode_large(data)
        return decode_json(data)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(str(error)) from error


def entry_of(listed: Any) -> Any:
    """An entry of a list, read if that was left for later; None when it cannot be."""
    if not isinstance(listed, Raw):
        return listed
    try:
        return decode_json(bytes(listed))
    except (msgspec.DecodeError, RecursionError):
        return None


class _Answer(Struct, frozen=True):
    id: int
    result: dict[str, Raw]
    method: Raw | None = None


def _decode_large(data: bytes) -> Any:
    try:
        listing = _listing(data)
    except msgspec.DecodeError:
        data = whole_escapes(data)
        listing = _listing(data)
    return decode_json(data) if listing is None else listing


def _listing(data: bytes) -> Any:
    """An answer that lists tools, each as the bytes that it came in; None when the message is another."""
    try:
        answer = msgspec.json.decode(data, type=_Answer)
        if answer.method is not None or "tools" not in answer.result:
            return None
        tools = msgspec.json.decode(answer.result.pop("tools"), type=list[Raw])
    except msgspec.ValidationError:
        return None
    others = {key: msgspec.json.decode(value) for key, value in answer.result.items()}
    return {"id": answer.id, "result": {**others, "tools": tools}}
