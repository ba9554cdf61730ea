"""Which closed files there are: found in one walk, and kept up to date by what the kernel tells."""

import os
import os.path
import stat
import struct
from collections.abc import Iterable, Sequence
from functools import lru_cache
from threading import Lock

from bridle.host.sandbox.inside.kernel import libc
from bridle.host.wall.closed_files import ClosedFiles

_CREATED, _MOVED_HERE, _OVERFLOW, _IS_FOLDER = 0x100, 0x80, 0x4000, 0x40000000
_ONLY_FOLDERS, _NO_LINKS = 0x01000000, 0x02000000
_HEAD = struct.Struct("=iIII")
_MOST_FOLDERS = 20_000
_MOST_FOUND = 1_000
_CHUNK = 256 * 1024


class ClosedIndex:
    """The closed files below some folders; git's own folders are left out."""

    def __init__(self, closed: ClosedFiles, roots: Iterable[str]) -> None:
        self._closed = closed
        self._roots = tuple(roots)
        self._events = -1
        self._lock = Lock()
        self._folders: dict[int, str] = {}
        self._found: dict[str, tuple[int, int]] = {}
        """Closed files and folders, each with what it is."""
        self._inodes: set[int] = set()
        self._is_whole = self._build()

    def __del__(self) -> None:
        self.close()

    def paths(self) -> tuple[str, ...] | None:
        """Every closed path that is there now; None when there is too much to keep an eye on."""
        with self._lock:
            if self._is_whole:
                self._is_whole = self._update()
            if not self._is_whole:
                return None
            named = (path for path in self._closed.literal if path not in self._found)
            return tuple(path for path in (*self._found, *named) if os.path.lexists(path))

    def close(self) -> None:
        if self._events >= 0:
            os.close(self._events)
            self._events = -1
        self._is_whole = False

    def _build(self) -> bool:
        self._folders.clear()
        self._found.clear()
        self._inodes.clear()
        if self._events >= 0:
            os.close(self._events)
        self._events = libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
        if self._events < 0 or not self._walk(self._roots):
            self.close()
            return False
        return True

    def _walk(self, folders: Iterable[str]) -> bool:
        """Note what is closed in these folders; False when they are too many."""
        before = len(self._found)
        if not self._search(folders):
            return False
        linked = any(_has_other_names(path) for path in list(self._found)[before:])
        # Another name of the same file may have been passed before that was known.
        return self._search(self._roots) if linked else True

    def _search(self, folders: Iterable[str]) -> bool:
        waiting = list(folders)
        while waiting:
            folder = waiting.pop()
            # Watched first and listed then: nothing is missed in between.
            if not self._watch(folder):
                return False
            try:
                entries = list(os.scandir(folder))
            except OSError:
                continue  # What we cannot list, commands cannot either.
            for entry in entries:
                if not entry.is_dir(follow_symlinks=False):
                    self._note(entry.path, entry.inode())
                elif not self._note(entry.path, 0) and entry.name != ".git":
                    waiting.append(entry.path)
        return len(self._found) <= _MOST_FOUND

    def _watch(self, folder: str) -> bool:
        mask = _CREATED | _MOVED_HERE | _ONLY_FOLDERS | _NO_LINKS
        number = libc.inotify_add_watch(self._events, os.fsencode(folder), mask)
        if number < 0:
            return not os.path.isdir(folder)
        self._folders[number] = folder
        return len(self._folders) <= _MOST_FOLDERS

    def _note(self, path: str, inode: int) -> bool:
        """Keep a path that is closed, or that is another name of a closed file."""
        if not self._closed.covers(path) and not (inode in self._inodes and self._is_known(path)):
            return False
        self._keep(path)
        if os.path.islink(path):
            target = os.path.realpath(path)
            if any(target.startswith(f"{root}/") for root in self._roots):
                self._keep(target)
        return True

    def _keep(self, path: str) -> None:
        self._found[path] = identity = _identity(path)
        self._inodes.add(identity[1])

    def _is_known(self, path: str) -> bool:
        return any(_identity(path)) and _identity(path) in self._found.values()

    def _update(self) -> bool:
        """Look at what was made or moved here since the last time."""
        while True:
            try:
                data = os.read(self._events, _CHUNK)
            except BlockingIOError:
                return len(self._found) <= _MOST_FOUND
            except OSError:
                return False
            at = 0
            while at < len(data):
                number, mask, _, length = _HEAD.unpack_from(data, at)
                name = os.fsdecode(data[at + _HEAD.size : at + _HEAD.size + length].rstrip(b"\0"))
                at += _HEAD.size + length
                if mask & _OVERFLOW:
                    return self._build()
                folder = self._folders.get(number)
                if folder is not None and name and not self._came(os.path.join(folder, name), mask):
                    return False

    def _came(self, path: str, mask: int) -> bool:
        if mask & _IS_FOLDER:
            return self._note(path, 0) or os.path.basename(path) == ".git" or self._walk((path,))
        self._note(path, _identity(path)[1])
        return True


def index_of(closed: ClosedFiles, roots: Sequence[str]) -> ClosedIndex:
    """The index for some folders, which need not be walked again while it is in use."""
    real = tuple(dict.fromkeys(os.path.realpath(root) for root in roots))
    return _index_of(closed, real, os.getpid())


@lru_cache(maxsize=4)
def _index_of(closed: ClosedFiles, roots: tuple[str, ...], _process: int) -> ClosedIndex:
    return ClosedIndex(closed, roots)


def _has_other_names(path: str) -> bool:
    try:
        facts = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISREG(facts.st_mode) and facts.st_nlink > 1


def _identity(path: str) -> tuple[int, int]:
    """Which file it is; nothing for what is no file, or not there."""
    try:
        facts = os.lstat(path)
    except OSError:
        return (0, 0)
    return (facts.st_dev, facts.st_ino) if stat.S_ISREG(facts.st_mode) else (0, 0)
