"""Amazon's binary event stream: messages with headers and a payload, guarded by two checksums."""

from struct import Struct as Layout
from zlib import crc32

from bridle.types.errors import StreamBroken

_PRELUDE = 12
_TRAILER = 4
_HEAD = Layout(">III")
"""Size of the message, size of its headers, and the checksum of both."""
_NUMBER = Layout(">I")
_LARGEST = 32 * 1024 * 1024
_SIZES = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
"""Bytes of a header's value by its type, for the types of fixed size."""
_BYTES, _TEXT = 6, 7


Message = tuple[dict[str, str], bytes]
"""Those headers whose value is text, which are all that say what the message is, and the payload."""


class MessageReader:
    """Takes bytes as they arrive and gives back the messages that became whole."""

    __slots__ = ("_headers", "_raw", "_rest")

    def __init__(self) -> None:
        self._rest = b""
        self._raw = b""
        self._headers: dict[str, str] = {}
        """The headers of the last message and their bytes: most messages have the same."""

    def feed(self, chunk: bytes) -> list[Message]:
        """Every message that `chunk` completes.

        Raises:
            StreamBroken: a checksum is wrong, or the bytes are no such messages.
        """
        data = self._rest + chunk if self._rest else chunk
        at, size = 0, len(data)
        whole: list[Message] = []
        unpack, number = _HEAD.unpack_from, _NUMBER.unpack_from
        while size - at >= _PRELUDE:
            total, headers, check = unpack(data, at)
            begun = crc32(data[at : at + 8])
            if begun != check:
                raise _broken("damaged header")
            if total > _LARGEST or headers > total - _PRELUDE - _TRAILER:
                raise _broken("invalid sizes")
            end = at + total
            if size < end:
                break
            tail = end - _TRAILER
            # The second checksum continues where the first ended.
            if crc32(data[at + 8 : tail], begun) != number(data, tail)[0]:
                raise _broken("damaged content")
            start = at + _PRELUDE + headers
            raw = data[at + _PRELUDE : start]
            if raw != self._raw:
                self._raw, self._headers = raw, _headers(raw)
            whole.append((self._headers, data[start:tail]))
            at = end
        self._rest = data[at:]
        return whole


def write(headers: dict[str, str], payload: bytes) -> bytes:
    """One message, as the service writes it."""
    fields = b"".join(
        bytes([len(name.encode())]) + name.encode() + bytes([_TEXT]) + len(data).to_bytes(2, "big") + data
        for name, value in headers.items()
        for data in (value.encode(),)
    )
    total = _PRELUDE + len(fields) + len(payload) + _TRAILER
    prelude = total.to_bytes(4, "big") + len(fields).to_bytes(4, "big")
    guarded = prelude + crc32(prelude).to_bytes(4, "big") + fields + payload
    return guarded + crc32(guarded).to_bytes(4, "big")


def _headers(data: bytes) -> dict[str, str]:
    found: dict[str, str] = {}
    at = 0
    try:
        while at < len(data):
            name_end = at + 1 + data[at]
            name = data[at + 1 : name_end].decode()
            kind = data[name_end]
            at = name_end + 1
            if kind in (_BYTES, _TEXT):
                size = int.from_bytes(data[at : at + 2], "big")
                if kind == _TEXT:
                    found[name] = data[at + 2 : at + 2 + size].decode()
                at += 2 + size
            else:
                at += _SIZES[kind]
    except (IndexError, KeyError, UnicodeDecodeError) as error:
        raise _broken("invalid headers") from error
    return found


def _broken(why: str) -> StreamBroken:
    return StreamBroken(f"The service sent an invalid message: {why}. Try again.", retryable=True)
