"""Lines of JSON over a pipe or a socket: one reader and one writer for everything that speaks in lines."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import TypeVar

import msgspec

from bridle.host.streams import read_chunks

T = TypeVar("T")

_LONGEST_INPUT_LINE = 256 * 1024 * 1024
_MOST_UNREAD = 64 * 1024 * 1024


class BadLine(ValueError):
    """A line that is too long, was cut off, or is not what is spoken here."""


def to_line(value: object) -> bytes:
    """A value as one line of JSON, with the line end."""
    return msgspec.json.encode(value) + b"\n"


class LineBuffer:
    """Takes bytes as they come and gives out whole lines, without their ends."""

    def __init__(self, longest: int, *, cut: bool = False) -> None:
        self._longest = longest
        self._cut = cut
        """A line that is too long is given out in pieces instead of being an error."""
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that are whole now; `is_overfull` tells of one that does not end."""
        *lines, rest = chunk.split(b"\n")
        if lines:
            lines[0] = b"".join((*self._parts, lines[0]))
            self._parts, self._size = [], 0
        if rest:
            self._parts.append(rest)
            self._size += len(rest)
        if self._cut and self.is_overfull:
            lines.append(self.rest())
        return lines

    @property
    def is_overfull(self) -> bool:
        """Whether the line that has begun is longer than any may be."""
        return self._size > self._longest

    def rest(self) -> bytes:
        """What stands after the last line end; it is taken out."""
        rest = b"".join(self._parts)
        self._parts, self._size = [], 0
        return rest


async def read_lines(descriptor: int, *, read: bytes = b"") -> AsyncIterator[bytes]:
    """Lines of a descriptor without their ends, until it is closed; a last line needs no end.

    `read` is what was taken from the descriptor already.
    """
    buffer = LineBuffer(_LONGEST_INPUT_LINE)
    for line in buffer.feed(read):
        yield line
    async for chunk in read_chunks(descriptor):
        for line in buffer.feed(chunk):
            yield line
        if buffer.is_overfull:
            break
    if rest := buffer.rest():
        yield rest


class JsonLines:
    """One end of a connection that speaks in lines, in both directions.

    The longest line is the limit that the reader was made with.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def read(self, decode: Callable[[bytes], T]) -> T | None:
        """The next message; None at the end.

        Raises:
            BadLine: what comes is no such message.
            OSError: the connection is broken.
        """
        try:
            line = await self._reader.readline()
            message = decode(line) if line.endswith(b"\n") else None
        except (ValueError, RecursionError) as error:
            raise BadLine(str(error)) from error
        if line and message is None:
            raise BadLine("a line was cut off")
        return message

    def write(self, message: object) -> bool:
        """Send a message without waiting; whether it may still be read.

        A connection whose other end has stopped reading is given up.
        """
        if self._writer.is_closing():
            return False
        self._writer.write(to_line(message))
        if self._writer.transport.get_write_buffer_size() > _MOST_UNREAD:
            self._writer.transport.abort()
            return False
        return True

    async def send(self, message: object) -> None:
        """Send a message, and wait while the other end does not keep up.

        Raises:
            OSError: the connection is broken.
        """
        self._writer.write(to_line(message))
        await self._writer.drain()

    async def close(self) -> None:
        self._writer.close()
        try:
            await self._writer.wait_closed()
        except OSError:
            pass  # The other end was quicker.
