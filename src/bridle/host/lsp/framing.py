"""Messages of the Language Server Protocol as bytes."""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from bridle.types.errors import BridleError

LONGEST_MESSAGE = 32 * 1024 * 1024
_LONGEST_HEAD = 64 * 1024
_LENGTH = re.compile(rb"(?:^|\n)Content-Length:[ \t]*(\d{1,12})[ \t]*\r?\n", re.IGNORECASE)


class LspFault(BridleError):
    """A language server cannot be used, or did not answer; the text says why."""


def encode(message: Mapping[str, Any]) -> bytes:
    """A message with its head."""
    body = msgspec.json.encode(message)
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


class Frames:
    """Takes bytes as they come and gives out whole messages."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._wanted: int | None = None
        """The length of the message whose head has been read."""

    def feed(self, chunk: bytes) -> list[dict[str, Any]]:
        """The messages that are whole now; what is printed between them is passed over.

        Raises:
            LspFault: what comes is not the protocol.
        """
        self._buffer += chunk
        found: list[dict[str, Any]] = []
        while self._has_head() and self._wanted is not None and len(self._buffer) >= self._wanted:
            body = bytes(self._buffer[: self._wanted])
            del self._buffer[: self._wanted]
            self._wanted = None
            found.append(_decode(body))
        return found

    def _has_head(self) -> bool:
        if self._wanted is not None:
            return True
        match = _LENGTH.search(self._buffer)
        if (len(self._buffer) if match is None else match.start()) > _LONGEST_HEAD:
            raise LspFault("it does not speak the Language Server Protocol")
        end = -1 if match is None else self._buffer.find(b"\n\r\n", match.end() - 1)
        if match is None or end < 0:
            return False
        length = int(match[1])
        if length > LONGEST_MESSAGE:
            raise LspFault(f"it sent a message of more than {LONGEST_MESSAGE >> 20} MiB")
        del self._buffer[: end + 3]
        self._wanted = length
        return True


def _decode(body: bytes) -> dict[str, Any]:
    try:
        return msgspec.json.decode(body, type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError) as error:
        raise LspFault(f"it sent a message that is not JSON: {error}") from error
