"""Keeps the places of protected paths that do not exist, so that there is something to hold."""

import errno
import fcntl
import os
import os.path
import stat
from collections.abc import Iterable
from hashlib import sha256

from bridle.host.sandbox.guards import Guard


class MissingPaths:
    """Empty sockets and folders that stand where nothing may be made while commands run.

    Git does not see them and nothing reads them. Sessions in the same folder share them: the last one to
    leave takes them away, also those that a killed session left behind.
    """

    def __init__(self, registry: str) -> None:
        self._registry = registry
        self._locks: dict[str, int] = {}

    def place(self, root: str, guards: Iterable[Guard]) -> None:
        """Stand in for whatever is missing.

        Raises:
            OSError: a place cannot be reserved although commands could take it.
        """
        lock = self._lock(root)
        for guard in guards:
            if not guard.present and not os.path.lexists(guard.path):
                _make(guard, lock)

    def remove(self) -> None:
        """Leave the folders as they were, unless another session still needs its guards there."""
        for lock in self._locks.values():
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                pass  # Another session will do it.
            else:
                _clear(lock)
            os.close(lock)
        self._locks.clear()

    def _lock(self, root: str) -> int:
        if (lock := self._locks.get(root)) is None:
            os.makedirs(self._registry, 0o700, exist_ok=True)
            path = os.path.join(self._registry, sha256(os.fsencode(root)).hexdigest()[:32])
            lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            # Waits while another session takes its stand-ins away, which is a matter of a millisecond.
            fcntl.flock(lock, fcntl.LOCK_SH)
            self._locks[root] = lock
        return lock


def _make(guard: Guard, lock: int) -> None:
    try:
        if guard.folder:
            os.mkdir(guard.path, 0o755)
        else:
            _make_file(guard.path)
    except FileExistsError:
        return  # Another session or the user was quicker; it is held all the same.
    except OSError as error:
        if error.errno == errno.EROFS or not os.access(os.path.dirname(guard.path), os.W_OK):
            return  # Where we can make nothing, commands cannot either.
        raise
    os.lseek(lock, 0, os.SEEK_END)
    os.write(lock, b"%d\0%s\0" % (os.lstat(guard.path).st_ino, os.fsencode(guard.path)))


def _make_file(path: str) -> None:
    try:
        os.mknod(path, stat.S_IFSOCK | 0o600)
    except FileExistsError:
        raise
    except OSError:
        # File systems of other worlds have no sockets.
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))


def _clear(lock: int) -> None:
    os.lseek(lock, 0, os.SEEK_SET)
    with os.fdopen(os.dup(lock), "rb") as file:
        words = file.read().split(b"\0")
    # What was made last may lie in what was made first.
    for number, path in reversed(list(zip(words[0::2], words[1::2], strict=False))):
        if number.isdigit():
            _remove(os.fsdecode(path), inode=int(number))
    os.ftruncate(lock, 0)


def _remove(path: str, *, inode: int) -> None:
    try:
        found = os.lstat(path)
        if found.st_ino != inode:
            return
        if stat.S_ISDIR(found.st_mode):
            os.rmdir(path)
        elif stat.S_ISSOCK(found.st_mode) or (stat.S_ISREG(found.st_mode) and found.st_size == 0):
            os.unlink(path)
    except OSError:
        pass  # Gone, or in use by another process meanwhile and so not ours any more.
