"""Appends to the chain of one session. Processes that share a session take turns record by record."""

import fcntl
import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from bridle.features.audit.keys import head_file
from bridle.features.audit.records import (
    FIRST,
    Key,
    Record,
    hash_of,
    read_head,
    read_record,
    write_head,
    write_record,
)
from bridle.host.files import make_folders
from bridle.host.lock import lock_fd

_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
_SEAL_AFTER = 256
_TRIES = 50
_PAUSE = 0.001
_UNKNOWN = -1
_TAIL = 64 * 1024


class Chain:
    """One file and its head. What cannot be written is counted, said once, and recorded later."""

    def __init__(
        self,
        path: str,
        session: str,
        key: Key,
        *,
        warn: Callable[[str], None],
        witness: str = "",
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.path = path
        self.session = session
        self.key = key
        self._warn = warn
        self._witness = witness
        self._now = now
        self._file: int | None = None
        self._head: int | None = None
        self._size = 0
        self._index = -1
        self._last = FIRST
        self._lost = 0
        self._told = False
        self._since_seal = 0
        self._closed = False

    def append(self, kind: str, data: Mapping[str, Any]) -> int | None:
        """Add a record; its index, None where it could not be written. Never raises for the disk."""
        try:
            index = self._append(kind, data)
        except OSError as error:
            self._lost += 1
            if not self._told:
                self._told = True
                self._warn(
                    f"Can't write the audit chain: {error.strerror}. The session continues without it."
                )
            return None
        if kind != "seal" and self._since_seal >= _SEAL_AFTER:
            self.seal()
        return index

    def seal(self, *, ended: bool = False) -> None:
        """Record what there is so far, and tell the witness."""
        self._since_seal = 0
        if self.append("seal", {"records": self._index + 1, "ended": ended}) is None or not self._witness:
            return
        line = f'{{"session":"{self.session}","index":{self._index},"head":"{self._last}"}}\n'.encode()
        try:
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            descriptor = os.open(self._witness, flags, 0o600)
            try:
                os.write(descriptor, line)
            finally:
                os.close(descriptor)
        except OSError as error:
            self._warn(f"Can't write the witness of the audit chain: {error.strerror} ({self._witness}).")
            self._witness = ""

    def close(self) -> None:
        """Seal the chain; nothing is appended after that."""
        if self._closed:
            return
        self.seal(ended=True)
        self._closed = True
        self._let_go()

    def _let_go(self) -> None:
        for descriptor in (self._file, self._head):
            if descriptor is not None:
                with suppress(OSError):
                    os.fsync(descriptor)
                os.close(descriptor)
        self._file = self._head = None

    def _append(self, kind: str, data: Mapping[str, Any]) -> int:
        if self._closed:
            raise OSError(9, "the session has ended")
        if self._file is not None and os.fstat(self._file).st_nlink == 0:
            self._let_go()
        file = self._open()
        self._lock(file)
        try:
            status = os.fstat(file)
            if status.st_size != self._size:
                self._follow(file, status.st_size)
            if self._lost:
                self._write(file, "gap", {"lost": self._lost})
                self._lost = 0
            return self._write(file, kind, data)
        finally:
            _unlock(file)

    def _write(self, file: int, kind: str, data: Mapping[str, Any]) -> int:
        index = self._index + 1
        at = self._now().isoformat(timespec="milliseconds")
        line = write_record(self.key, self.session, index=index, at=at, kind=kind, data=data, prev=self._last)
        whole = line + b"\n"
        written = 0
        try:
            written = os.pwrite(file, whole, self._size)
        finally:
            if written != len(whole):
                with suppress(OSError):
                    os.ftruncate(file, self._size)
        if written != len(whole):
            raise OSError(28, "no space left on the disk")
        self._size += len(whole)
        self._index, self._last = index, hash_of(line)
        self._since_seal += 1
        if self._head is not None:
            os.pwrite(self._head, write_head(self.key, self.session, index, self._last), 0)
        return index

    def _open(self) -> int:
        if self._file is None:
            make_folders(os.path.dirname(self.path), private=True)
            file = os.open(self.path, _FLAGS, 0o600)
            try:
                self._head = os.open(head_file(self.path), _FLAGS, 0o600)
            except OSError:
                os.close(file)
                raise
            self._file, self._size = file, _UNKNOWN
        return self._file

    def _lock(self, file: int) -> None:
        for _ in range(_TRIES):
            if lock_fd(file):
                return
            time.sleep(_PAUSE)
        raise OSError(11, "another process has locked it")

    def _follow(self, file: int, size: int) -> None:
        """Continue behind what an earlier or another process has written."""
        tail, torn = _last_line(file, size)
        record = read_record(self.key, self.session, tail) if tail else None
        end = size - torn
        if not self._fits(record, is_new=size == torn):
            self._set_aside(file)
            return
        self._size = end
        self._index, self._last = (-1, FIRST) if record is None else (record.i, hash_of(tail))
        if torn:
            os.ftruncate(file, end)
            self._write(file, "recovered", {"unfinished_bytes": torn})

    def _fits(self, record: Record | None, *, is_new: bool) -> bool:
        """Whether the end of the file is what a process left that was ended at any moment."""
        try:
            head = read_head(self.key, self.session, head_file(self.path))
        except ValueError:
            head = None
        if record is None:
            return is_new and head is None
        # A kill can leave the first record without a head, and no other: a head that is gone hides a cut.
        return record.i == 0 if head is None else head.index <= record.i

    def _set_aside(self, file: int) -> None:
        """Keep a chain that is not as it was left, and begin another one that names it."""
        aside = f"{self.path}.damaged-{os.urandom(4).hex()}"
        size = os.fstat(file).st_size
        os.rename(self.path, aside)
        with suppress(FileNotFoundError):
            os.rename(head_file(self.path), f"{aside}.head")
        self._warn(f"The audit chain was modified. The old file was moved to {aside}.")
        if self._head is not None:
            os.close(self._head)
        fresh = os.open(self.path, _FLAGS | os.O_EXCL, 0o600)
        # The descriptor keeps its number: the caller holds its lock.
        os.dup2(fresh, file, inheritable=False)
        os.close(fresh)
        lock_fd(file)
        self._head = os.open(head_file(self.path), _FLAGS, 0o600)
        self._size, self._index, self._last = 0, -1, FIRST
        self._write(file, "set_aside", {"file": os.path.basename(aside), "bytes": size})


def _last_line(file: int, size: int) -> tuple[bytes, int]:
    """The last whole line, and how many bytes of an unfinished one stand behind it."""
    take = _TAIL
    while True:
        start = max(0, size - take)
        data = os.pread(file, size - start, start)
        end = data.rfind(b"\n")
        begin = data.rfind(b"\n", 0, end) if end > 0 else -1
        if start == 0 or begin >= 0:
            torn = len(data) - (end + 1)
            return data[begin + 1 : max(0, end)], torn
        take *= 4


def _unlock(file: int) -> None:
    fcntl.flock(file, fcntl.LOCK_UN)
