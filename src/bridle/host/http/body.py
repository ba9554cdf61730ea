"""The body of an HTTP response taken out of its framing and its packing.

h11 could do it, at four times the price for a stream of small chunks.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from bridle.types.errors import BridleError

_SIZE_LINE = rb"([0-9a-fA-F]{1,15})[ \t]*(?:;[^\r\n]*)?"
_LONGEST_LINE = 16 * 1024


class BodyFault(BridleError):
    """The bytes are not the body that the head promised."""


class Framing(Protocol):
    """Takes bytes as they come and gives back what belongs to the body."""

    ended: bool
    """Whether the body is whole."""
    reusable: bool
    """Whether the connection can carry another response after this one."""

    def feed(self, data: bytes) -> bytes:
        """The part of the body in `data`; empty `data` is the end of the connection.

        Raises:
            BodyFault: the framing is damaged, or the connection ended too early.
        """
        ...


def framing(status: int, method: str, headers: Mapping[str, str]) -> Framing:
    """How the body of such a response is delimited."""
    if method == "HEAD" or status in (204, 304):
        return Counted(0)
    if "transfer-encoding" in headers:
        return Chunked()
    if "content-length" in headers:
        return Counted(int(headers["content-length"]))
    return UntilClosed()


class Counted:
    """A body of a known length."""

    def __init__(self, length: int) -> None:
        self._left = length
        self.ended = length == 0
        self.reusable = True

    def feed(self, data: bytes) -> bytes:
        if not data and not self.ended:
            raise BodyFault("The response was cut off.")
        if len(data) > self._left:
            self.reusable = False
        taken = data[: self._left]
        self._left -= len(taken)
        self.ended = self._left == 0
        return taken


class UntilClosed:
    """A body that ends with its connection."""

    def __init__(self) -> None:
        self.ended = False
        self.reusable = False

    def feed(self, data: bytes) -> bytes:
        self.ended = not data
        return data


class Chunked:
    """A body in chunks, each with its size before it."""

    def __init__(self) -> None:
        self._size_line = re.compile(_SIZE_LINE)
        self._rest = b""
        self._left = 0
        """Bytes of the current chunk that have not come."""
        self._after_chunk = False
        self._in_trailer = False
        self.ended = False
        self.reusable = True

    def feed(self, data: bytes) -> bytes:
        if not data and not self.ended:
            raise BodyFault("The response was cut off.")
        buffer = self._rest + data if self._rest else data
        parts: list[bytes] = []
        position = 0
        while not self.ended:
            if self._left:
                part = buffer[position : position + self._left]
                parts.append(part)
                position += len(part)
                self._left -= len(part)
                self._after_chunk = True
                if self._left:
                    break
            end = buffer.find(b"\r\n", position)
            if end < 0:
                break
            self._read_line(buffer[position:end])
            position = end + 2
        self._keep(buffer[position:])
        return b"".join(parts)

    def _read_line(self, line: bytes) -> None:
        if self._after_chunk:
            if line:
                raise BodyFault("A chunk of the response is longer than its stated size.")
            self._after_chunk = False
        elif self._in_trailer:
            self.ended = not line
        elif (match := self._size_line.fullmatch(line)) is None:
            raise BodyFault("A chunk of the response has no readable size.")
        else:
            self._left = int(match[1], 16)
            self._in_trailer = self._left == 0

    def _keep(self, rest: bytes) -> None:
        if self.ended:
            self.reusable = not rest
        elif len(rest) > _LONGEST_LINE:
            raise BodyFault("A chunk of the response has no readable size.")
        self._rest = rest


def unpacking(encoding: str | None) -> Callable[[bytes, bool], Iterable[bytes]]:
    """A function of some bytes, and whether they are the last, that gives them unpacked.

    Raises:
        BodyFault: this encoding was not asked for, and it cannot be read.
    """
    match (encoding or "identity").strip().lower():
        case "identity":
            return _as_it_is
        case "gzip" | "x-gzip" | "deflate":
            return _Inflate()
        case other:
            raise BodyFault(f"The response has the unsupported encoding {other[:40]!r}.")


def _as_it_is(data: bytes, _last: bool) -> Iterable[bytes]:
    return (data,) if data else ()


class _Inflate:
    """Unpacks in bounded steps, so that a small response cannot become a huge one in memory."""

    _STEP = 1024 * 1024
    _WRAPPED, _BARE = 47, -15
    """Some hosts leave out the wrapping that deflate should have."""

    def __init__(self) -> None:
        import zlib  # Few services pack what they send to us.

        self._error = zlib.error
        self._new = zlib.decompressobj
        self._unpacker = self._new(self._WRAPPED)
        self._first: bytes | None = b""
        """What has come until the wrapping is known."""

    def __call__(self, data: bytes, last: bool) -> Iterable[bytes]:
        while data:
            unpacked = self._step(data)
            if unpacked:
                yield unpacked
            data = self._unpacker.unconsumed_tail
            if self._unpacker.eof:
                data = self._unpacker.unused_data
                self._unpacker = self._new(self._WRAPPED) if data else self._unpacker
        if last and not self._unpacker.eof:
            raise BodyFault("The response was cut off.")

    def _step(self, data: bytes) -> bytes:
        first = self._first
        try:
            unpacked = self._unpacker.decompress(data, self._STEP)
        except self._error as error:
            if first is None:
                raise BodyFault(f"Can't decompress the response ({error}).") from error
            self._first, self._unpacker = None, self._new(self._BARE)
            return self._step(first + data)
        # Two bytes tell how it is wrapped.
        self._first = first + data if first is not None and len(first + data) < 2 else None
        return unpacked
