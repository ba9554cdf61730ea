"""Collects which paths below some folders change, as the kernel reports it."""

import asyncio
import ctypes
import errno
import os
import struct
import sys
from collections.abc import Callable, Iterable

_MODIFY, _ATTRIB, _CLOSED, _FROM, _TO, _CREATE, _DELETE = 0x2, 0x4, 0x8, 0x40, 0x80, 0x100, 0x200
_OVERFLOW, _IGNORED, _ONLY_FOLDER, _DO_NOT_FOLLOW, _IS_FOLDER = (
    0x4000,
    0x8000,
    0x1000000,
    0x2000000,
    0x40000000,
)
_EVENTS = _MODIFY | _ATTRIB | _CLOSED | _FROM | _TO | _CREATE | _DELETE | _ONLY_FOLDER | _DO_NOT_FOLLOW
_HEAD = struct.Struct("iIII")
_PIECE = 1024 * 1024


class TreeWatch:
    """Changed paths below folders; folders that are made later are watched as well."""

    def __init__(self, skips: Callable[[str], bool]) -> None:
        """`skips` tells which folders are of no interest.

        Raises:
            OSError: the kernel offers nothing of the kind.
        """
        if sys.platform != "linux":
            raise OSError(errno.ENOSYS, "there is no inotify here")
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._file = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._file < 0:
            raise OSError(ctypes.get_errno(), "inotify cannot be used")
        self._skips = skips
        self._folders: dict[int, str] = {}
        self._changed: set[str] = set()
        self._moved: set[str] = set()
        self._lost = False
        self._loop: asyncio.AbstractEventLoop | None = None

    def add(self, folders: Iterable[str]) -> None:
        """Watch these folders, each without those below it.

        Raises:
            OSError: there are more than the user may watch.
        """
        for folder in folders:
            self._watch(folder)

    def follow(self) -> None:
        """Take reports as they come, so that a long command cannot fill the queue."""
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._file, self._read)

    def take(self) -> tuple[set[str], set[str], bool]:
        """The paths that something happened to, the folders that went away, and whether reports were lost."""
        self._read()
        found = (self._changed, self._moved, self._lost)
        self._changed, self._moved, self._lost = set(), set(), False
        return found

    def close(self) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.remove_reader(self._file)
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _watch(self, folder: str) -> None:
        number = self._libc.inotify_add_watch(self._file, os.fsencode(folder), _EVENTS)
        if number >= 0:
            self._folders[number] = folder
            return
        fault = ctypes.get_errno()
        if fault not in (errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.ELOOP):
            raise OSError(fault, os.strerror(fault), folder)

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self._file, _PIECE)
            except BlockingIOError:
                return
            at = 0
            while at < len(data):
                number, mask, _, size = _HEAD.unpack_from(data, at)
                at += _HEAD.size
                name = data[at : at + size].rstrip(b"\0")
                at += size
                self._take(number, mask, os.fsdecode(name))

    def _take(self, number: int, mask: int, name: str) -> None:
        if mask & _OVERFLOW:
            self._lost = True
            return
        if mask & _IGNORED:
            self._folders.pop(number, None)
            return
        folder = self._folders.get(number)
        if folder is None:
            return
        path = f"{folder}/{name}" if name else folder
        self._changed.add(path)
        if not mask & _IS_FOLDER or not name:
            return
        if mask & (_FROM | _DELETE):
            self._moved.add(path)
            self._folders = {
                known: place
                for known, place in self._folders.items()
                if place != path and not place.startswith(f"{path}/")
            }
        if mask & (_TO | _CREATE) and not self._skips(path):
            self._enter(path)

    def _enter(self, folder: str) -> None:
        """A folder that is new here: what is in it already was not reported."""
        try:
            self._watch(folder)
        except OSError:
            self._lost = True  # One more than may be watched: a look at everything makes up for it.
            return
        try:
            entries = list(os.scandir(folder))
        except OSError:
            return
        for entry in entries:
            self._changed.add(entry.path)
            if entry.is_dir(follow_symlinks=False) and not self._skips(entry.path):
                self._enter(entry.path)
