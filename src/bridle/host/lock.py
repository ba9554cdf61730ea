"""Advisory locks between processes, gone with the process that holds them."""

import asyncio
import errno
import fcntl
import os
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from bridle.types.errors import BridleError

_FIRST_PAUSE = 0.002
_LONGEST_PAUSE = 0.1
_WITHOUT_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS)


class Locked(BridleError):
    """Another process kept the lock for longer than we would wait."""

    def __init__(self, message: str, *, holder: int | None) -> None:
        super().__init__(message)
        self.holder = holder


class FileLock:
    """A lock on a file made for it, which names its holder; `with` waits, and so does `async with`."""

    def __init__(self, path: str, *, seconds: float = 5.0) -> None:
        self.path = path
        self._seconds = seconds
        self._fd: int | None = None

    def try_acquire(self) -> bool:
        """Take the lock if it is free, without waiting."""
        if self._fd is not None:
            return False
        # Links are refused: writing our process id must not damage a file that another user chose.
        fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        if not lock_fd(fd):
            os.close(fd)
            return False
        os.ftruncate(fd, 0)
        os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
        self._fd = fd
        return True

    def release(self) -> None:
        """Let the next one in; harmless when the lock is not held."""
        if self._fd is not None:
            fd, self._fd = self._fd, None
            os.ftruncate(fd, 0)
            os.close(fd)

    def holder(self) -> int | None:
        """The process that has the lock, when that is known."""
        try:
            with open(self.path, encoding="ascii", errors="replace") as file:
                return int(file.read(20))
        except (OSError, ValueError):
            return None

    def __enter__(self) -> Self:
        for pause in _pauses(self._seconds):
            if self.try_acquire():
                return self
            time.sleep(pause)
        raise self._refusal()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    async def __aenter__(self) -> Self:
        for pause in _pauses(self._seconds):
            if self.try_acquire():
                return self
            await asyncio.sleep(pause)
        raise self._refusal()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def _refusal(self) -> Locked:
        holder = self.holder()
        who = "another process" if holder is None else f"process {holder}"
        return Locked(f"{self.path} is in use by {who}; try again when it has finished.", holder=holder)


@contextmanager
def locked_folder(folder: str, *, seconds: float = 5.0) -> Generator[None]:
    """Hold a folder itself, so that no lock file is left in it.

    Raises:
        OSError: there is no such folder.
        Locked: another process keeps it for too long.
    """
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for pause in _pauses(seconds):
            if lock_fd(fd):
                break
            time.sleep(pause)
        else:
            raise Locked(
                f"{folder} is in use by another process; try again when it has finished.", holder=None
            )
        yield
    finally:
        os.close(fd)


def _pauses(seconds: float) -> Iterator[float]:
    # A blocking flock cannot be given up after a while, so waiting is a series of ever longer pauses.
    deadline = time.monotonic() + seconds
    pause = _FIRST_PAUSE
    while (left := deadline - time.monotonic()) > 0:
        yield min(pause, left)
        pause = min(pause * 2, _LONGEST_PAUSE)
    yield 0.0


def lock_fd(fd: int) -> bool:
    """Lock an open file for as long as it stays open; False when another process has it locked."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in _WITHOUT_LOCKS:
            raise
        # Some network filesystems have no locks; refusing to work there would help no one.
    return True
