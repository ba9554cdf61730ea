"""The append-only file of one session."""

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from bridle.host.lock import lock_fd
from bridle.transcripts.line import encode_line
from bridle.types.errors import SessionError

Follow = Callable[[str, Sequence[Mapping[str, object]]], None]
"""Called with the file and its new lines."""


class Writer(Protocol):
    """Where a session's lines go."""

    def append(self, entries: Sequence[Mapping[str, object]]) -> None:
        """Add lines; they survive the death of this process from here on."""
        ...

    async def sync(self) -> None:
        """Make what was appended survive a power cut."""
        ...

    def sibling(self, path: str) -> "Writer":
        """Who writes another file in the same manner, such as the transcript of an agent."""
        ...

    def relocate(self, path: str) -> bool:
        """Move what was written to another place and write there; False when it stays where it is."""
        ...

    def close(self) -> None: ...


class NoTranscript:
    """Keeps nothing."""

    def append(self, entries: Sequence[Mapping[str, object]]) -> None:
        del entries

    async def sync(self) -> None:
        pass

    def sibling(self, path: str) -> "NoTranscript":
        del path
        return self

    def relocate(self, path: str) -> bool:
        del path
        return False

    def close(self) -> None:
        pass


class Transcript:
    """A file that is made by its first line, belongs to one writer at a time, and never holds half a batch.

    When the disk refuses, `warn` is called once and the lines wait in memory; later appends try again.
    """

    def __init__(self, path: str, *, warn: Callable[[str], None], durable: bool = True) -> None:
        self.path = path
        self._warn = warn
        self._durable = durable
        """Whether `sync` waits for the disk, which the work of an agent does not."""
        self._warned = False
        self._fd: int | None = None
        self._torn = False
        """The file ends in the middle of a line."""
        self._waiting: list[bytes] = []

    def claim(self) -> None:
        """Become the writer of this file now instead of at the first line.

        Raises:
            SessionError: another process is writing it.
        """
        try:
            self._open(create=False)
        except FileNotFoundError:
            pass  # The first line will make it.
        except OSError as error:
            self._complain(error)

    def append(self, entries: Sequence[Mapping[str, object]]) -> None:
        """Add lines in one write.

        Raises:
            SessionError: another process is writing this file.
        """
        if not entries:
            return
        self._waiting.append(b"".join([encode_line(entry) for entry in entries]))
        self._flush()

    async def sync(self) -> None:
        self._flush()
        if self._fd is None or not self._durable:
            return
        # A copy of the descriptor, since the file may be closed while the thread is running.
        fd = os.dup(self._fd)
        try:
            await asyncio.to_thread(_sync_and_close, fd)
        except OSError as error:
            self._complain(error)

    def sibling(self, path: str) -> "Transcript":
        return Transcript(path, warn=self._warn, durable=False)

    def relocate(self, path: str) -> bool:
        self._flush()
        try:
            _make_private_dir(os.path.dirname(path))
            if os.path.lexists(path):
                return False
            if os.path.lexists(self.path):
                os.rename(self.path, path)
        except OSError:
            return False
        self.path = path
        return True

    def close(self) -> None:
        """Let another process continue the session."""
        self._flush()
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _flush(self) -> None:
        try:
            while self._waiting:
                self._write(self._open(), self._waiting[0])
                del self._waiting[0]
        except SessionError:
            self._waiting.clear()
            raise
        except OSError as error:
            self._complain(error)

    def _open(self, *, create: bool = True) -> int:
        if self._fd is not None:
            return self._fd
        flags = os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        if create:
            _make_private_dir(os.path.dirname(self.path))
            flags |= os.O_CREAT
        fd = os.open(self.path, flags, 0o600)
        try:
            free = lock_fd(fd)
            size = os.fstat(fd).st_size
            self._torn = size > 0 and os.pread(fd, 1, size - 1) != b"\n"
        except OSError:
            os.close(fd)
            raise
        if not free:
            os.close(fd)
            raise SessionError(
                f"Another process is using session {_name(self.path)}: close it there, "
                "or add --fork-session to continue in a copy."
            )
        self._fd = fd
        return fd

    def _write(self, fd: int, batch: bytes) -> None:
        start = os.fstat(fd).st_size
        left = memoryview(b"\n" + batch if self._torn else batch)
        written = 0
        try:
            while left:
                count = os.write(fd, left)
                written += count
                left = left[count:]
        except OSError:
            if written:
                self._torn = not _cut_back(fd, start, written) or self._torn
            raise
        self._torn = False

    def _complain(self, error: OSError) -> None:
        if not self._warned:
            self._warned = True
            self._warn(
                f"Cannot save this session to {self.path} ({error.strerror}). It continues in memory; "
                "free some space or fix the permissions to save it."
            )


def _cut_back(fd: int, start: int, written: int) -> bool:
    """Take half a batch off the end again, unless another process has written behind it."""
    try:
        if os.fstat(fd).st_size != start + written:
            return False
        os.ftruncate(fd, start)
    except OSError:
        return False
    return True


def _sync_and_close(fd: int) -> None:
    try:
        # Not every system has fdatasync.
        (os.fdatasync if hasattr(os, "fdatasync") else os.fsync)(fd)
    finally:
        os.close(fd)


def _make_private_dir(path: str) -> None:
    if not path or os.path.isdir(path):
        return
    _make_private_dir(os.path.dirname(path))
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        if not os.path.isdir(path):
            raise


def _name(path: str) -> str:
    return os.path.splitext(os.path.basename(path))[0]


_LARGEST_FACTS = 1_000_000


def agent_facts(path: str) -> dict[str, Any] | None:
    """What is kept beside the transcript of an agent: who started it and as what; None where that is lost."""
    try:
        with open(path.removesuffix(".jsonl") + ".meta.json", "rb") as file:
            facts = msgspec.json.decode(file.read(_LARGEST_FACTS))
    except (OSError, msgspec.DecodeError):
        return None
    return facts if isinstance(facts, dict) else None
