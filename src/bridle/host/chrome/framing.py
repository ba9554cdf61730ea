"""Messages of native messaging: a length of four bytes, the lowest first, then so many bytes of JSON."""

import struct
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

LARGEST = 1024 * 1024
"""A browser takes no message from a host that is longer, and this end takes none either."""
LONGEST_PART = 128 * 1024
"""Characters; each may take six bytes once it stands in JSON inside of JSON."""
MOST_PARTS = 256
_HEAD = struct.Struct("<I")
_object = msgspec.json.Decoder(dict[str, Any])


class BadFrame(Exception):
    """The other end sends something else; nothing after it can be read."""


class Frames:
    """Puts messages together from what arrives."""

    def __init__(self) -> None:
        self._held = bytearray()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The messages that are whole by now.

        Raises:
            BadFrame: a message is empty or longer than any may be.
        """
        self._held += data
        while len(self._held) >= _HEAD.size:
            (length,) = _HEAD.unpack_from(self._held)
            if not 0 < length <= LARGEST:
                raise BadFrame(f"invalid message length: {length}")
            end = _HEAD.size + length
            if len(self._held) < end:
                return
            payload = bytes(self._held[_HEAD.size : end])
            del self._held[:end]
            yield payload


def frame(payload: bytes) -> bytes:
    """A message as it is sent.

    Raises:
        BadFrame: the other end would not take it.
    """
    if not 0 < len(payload) <= LARGEST:
        raise BadFrame(f"invalid message length: {len(payload)}")
    return _HEAD.pack(len(payload)) + payload


def read_message(payload: bytes) -> dict[str, Any]:
    """The values of a message.

    Raises:
        BadFrame: it is no JSON object, or too deep.
    """
    try:
        return _object.decode(payload)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadFrame("a message is not a JSON object") from error


def write_message(values: Mapping[str, Any]) -> bytes:
    """The frame of a message that is known to be short."""
    return frame(msgspec.json.encode(values))


def write_request(values: Mapping[str, Any]) -> Iterator[bytes]:
    """The frames of a request: it is cut into parts where it is long.

    Raises:
        BadFrame: it is longer than any request may be.
    """
    text = msgspec.json.encode(values).decode()
    if len(text) <= LONGEST_PART:
        yield frame(text.encode())
        return
    pieces = [text[at : at + LONGEST_PART] for at in range(0, len(text), LONGEST_PART)]
    if len(pieces) > MOST_PARTS:
        raise BadFrame("the request is too long")
    head = {"id": values["id"], "session": values.get("session")}
    for number, piece in enumerate(pieces):
        yield write_message({**head, "part": number, "parts": len(pieces), "text": piece})


class Parts:
    """Joins the parts of long messages."""

    def __init__(self, most: int = MOST_PARTS * LONGEST_PART) -> None:
        self._most = most
        """Characters that may wait for their other parts."""
        self._held: dict[int | str, list[str]] = {}

    def join(self, message: dict[str, Any]) -> dict[str, Any] | None:
        """The whole message; None while parts of it are missing.

        Raises:
            BadFrame: the parts are not in order, or there are too many.
        """
        if "parts" not in message:
            return message
        match message:
            case {"id": int() | str() as key, "part": int(part), "parts": int(parts), "text": str(text)}:
                held = self._held.setdefault(key, [])
            case _:
                raise BadFrame("part of a message is incomplete")
        if part != len(held) or not part < parts <= MOST_PARTS or len(text) > LONGEST_PART:
            raise BadFrame("part of a message is out of order")
        held.append(text)
        if sum(len(piece) for pieces in self._held.values() for piece in pieces) > self._most:
            raise BadFrame("a message is too long")
        if len(held) < parts:
            return None
        whole = read_message("".join(self._held.pop(key)).encode("utf-8", "surrogatepass"))
        # The parts carry the number under which this end asked.
        return {**whole, "id": key}
