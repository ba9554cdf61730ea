"""Standard input and output for an event loop: never blocks it, never loses a byte, notices a closed pipe."""

import asyncio
import os
import select
from collections.abc import AsyncIterator, Callable

from bridle.host.stdio import for_terminal

_PIECE = select.PIPE_BUF
"""What a descriptor that is ready for writing takes without blocking."""

_READ_SIZE = 65_536


class Output:
    """Writes in the background; `drain` waits until everything is out. A terminal is not steered by it."""

    def __init__(self, descriptor: int, *, on_closed: Callable[[OSError], None] = lambda _: None) -> None:
        self._descriptor = descriptor
        self._on_closed = on_closed
        self._is_terminal = os.isatty(descriptor)
        self._pending = bytearray()
        self._scheduled = False
        self._idle: asyncio.Event | None = None
        self.closed = False

    def write(self, data: bytes) -> None:
        """Queue some text; it goes out before the loop next waits, as far as the reader keeps up."""
        if self.closed:
            return
        self._pending += for_terminal(data) if self._is_terminal else data
        if not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._flush)

    async def drain(self) -> None:
        """Return when all that was written has been taken by the reader, or there is no reader any more."""
        while self._pending and not self.closed:
            self._idle = asyncio.Event()
            await self._idle.wait()

    def _flush(self) -> None:
        loop = asyncio.get_running_loop()
        while self._pending and not self.closed:
            if not _ready(self._descriptor):
                loop.add_writer(self._descriptor, self._resume)
                return
            self._write_piece()
        self._scheduled = False
        if self._idle is not None:
            self._idle.set()

    def _resume(self) -> None:
        asyncio.get_running_loop().remove_writer(self._descriptor)
        self._flush()

    def _write_piece(self) -> None:
        try:
            written = os.write(self._descriptor, self._pending[:_PIECE])
        except OSError as error:
            # The reader is gone, or the disk is full.
            self.closed = True
            self._pending.clear()
            self._on_closed(error)
        else:
            del self._pending[:written]


async def read_chunks(descriptor: int) -> AsyncIterator[bytes]:
    """Whatever arrives on a descriptor, as it arrives."""
    loop = asyncio.get_running_loop()
    while True:
        readable = asyncio.Event()
        try:
            loop.add_reader(descriptor, readable.set)
        except PermissionError:
            pass  # A regular file: always readable, and no selector takes it.
        else:
            try:
                await readable.wait()
            finally:
                loop.remove_reader(descriptor)
        chunk = os.read(descriptor, _READ_SIZE)
        if not chunk:
            return
        yield chunk


def read_all(descriptor: int, *, patience: float | None = None) -> bytes | None:
    """Everything up to the end of input, or None when nothing has come within `patience` seconds."""
    if patience is not None:
        try:
            ready, _, _ = select.select([descriptor], [], [], patience)
        except OSError:
            return None
        if not ready:
            return None
    pieces: list[bytes] = []
    while chunk := os.read(descriptor, _READ_SIZE):
        pieces.append(chunk)
    return b"".join(pieces)


def _ready(descriptor: int) -> bool:
    poller = select.poll()
    poller.register(descriptor, select.POLLOUT)
    return bool(poller.poll(0))
