"""The way out to a terminal: never blocks, and keeps what is not taken at once."""

import asyncio
import errno
import os
import select
import time
from collections.abc import Callable

_FLUSH_SECONDS = 1.0
_CLOGGED = 64 * 1024
_GONE = (errno.EIO, errno.ENXIO, errno.EPIPE, errno.EBADF)


class TerminalWriter:
    """Bytes in the order in which they were written; `lost` is called when the terminal is gone."""

    def __init__(self, fd: int, *, lost: Callable[[], None]) -> None:
        self._shared_fd = fd
        self._own_fd: int | None = None
        self._lost = lost
        self._pending = bytearray()
        self._drained: asyncio.Future[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def is_clogged(self) -> bool:
        """Whether the terminal does not keep up."""
        return len(self._pending) > _CLOGGED

    def open(self) -> None:
        """Take the terminal once more, so that only our own writes do not block."""
        try:
            flags = os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC
            self._own_fd = os.open(os.ttyname(self._shared_fd), flags)
        except OSError:
            self._own_fd = None

    def close(self) -> None:
        """Give it back and wake every waiter."""
        self._wake()
        if self._own_fd is not None:
            os.close(self._own_fd)
            self._own_fd = None

    def follow(self, loop: asyncio.AbstractEventLoop) -> None:
        """Send what is kept whenever the terminal takes more."""
        self._loop = loop

    def leave(self) -> None:
        """Let the loop be."""
        if self._loop is not None and not self._loop.is_closed() and self._own_fd is not None:
            self._loop.remove_writer(self._own_fd)
        self._loop = None

    def forget(self) -> None:
        """Drop what was not sent: the terminal is gone."""
        self._pending.clear()

    def write(self, data: bytes) -> None:
        """Send, or keep it for later."""
        if self._pending:
            self._pending += data
            return
        left = self._send(data)
        if left:
            self._pending += left
            if self._loop is not None and self._own_fd is not None:
                self._loop.add_writer(self._own_fd, self._send_rest)

    async def drained(self) -> None:
        """Wait until everything was taken."""
        if self._pending:
            if self._drained is None:
                self._drained = asyncio.get_running_loop().create_future()
            await asyncio.shield(self._drained)

    def flush(self, last: bytes) -> None:
        """Send everything and this, as far as that can be done in a moment.

        Raises:
            OSError: the terminal is gone.
        """
        data = memoryview(bytes(self._pending) + last)
        self._pending.clear()
        deadline = time.monotonic() + _FLUSH_SECONDS
        while data:
            try:
                data = data[os.write(self._fd, data) :]
            except BlockingIOError:
                left = deadline - time.monotonic()
                if left <= 0 or not select.select([], [self._fd], [], left)[1]:
                    return

    @property
    def _fd(self) -> int:
        return self._shared_fd if self._own_fd is None else self._own_fd

    def _send(self, data: bytes) -> bytes:
        """Write what can be written now; returns the rest."""
        view = memoryview(data)
        while view:
            try:
                view = view[os.write(self._fd, view) :]
            except (BlockingIOError, InterruptedError):
                return bytes(view)
            except OSError as error:
                if error.errno not in _GONE:
                    raise
                self._lost()
                return b""
        return b""

    def _send_rest(self) -> None:
        left = self._send(bytes(self._pending))
        self._pending[:] = left
        if not left:
            if self._loop is not None and self._own_fd is not None:
                self._loop.remove_writer(self._own_fd)
            self._wake()

    def _wake(self) -> None:
        if self._drained is not None and not self._drained.done():
            self._drained.set_result(None)
        self._drained = None
