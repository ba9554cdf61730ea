"""Opens files for confined commands in their place, without ever waiting for anyone."""

from __future__ import annotations

import ctypes
import errno
import os

from bridle.host.sandbox.inside.devices import PendingPipe, is_own_terminal, may_wait, open_terminal
from bridle.host.sandbox.inside.targets import (
    FOLDER,
    KIND,
    LINK,
    LOOK,
    MOST_LINKS,
    PIPE,
    REGULAR,
    find_target,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bridle.host.sandbox.inside.names import Names
    from bridle.host.sandbox.inside.requests import Request
    from bridle.host.sandbox.inside.targets import Target

_RETRY = 10
"""Milliseconds."""


class Openings:
    """Each method does one system call; True means that it was answered, or will be."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._late: list[PendingPipe] = []
        """Openings of pipes that have no other end yet."""

    def retry(self) -> int | None:
        """Try the openings again that have to wait; in how many milliseconds the next try is due."""
        self._late = [late for late in self._late if not late.is_over()]
        return _RETRY if self._late else None

    def open(self, request: Request) -> bool:
        return self._opened(request, None, 0, flags=request.integer(1), mode=request.integer(2))

    def creat(self, request: Request) -> bool:
        flags = os.O_CREAT | os.O_WRONLY | os.O_TRUNC
        return self._opened(request, None, 0, flags=flags, mode=request.integer(1))

    def openat(self, request: Request) -> bool:
        return self._opened(request, 0, 1, flags=request.integer(2), mode=request.integer(3))

    def _opened(self, request: Request, base: int | None, path: int, *, flags: int, mode: int) -> bool:
        found = self._found(request, base, path, flags=flags, mode=mode)
        if found is None:
            return True
        try:
            request.give(found, closes=bool(flags & os.O_CLOEXEC))
        finally:
            os.close(found)
        return True

    def _found(self, request: Request, base: int | None, path: int, *, flags: int, mode: int) -> int | None:
        """What to give for a path; None when that is answered later."""
        folder, text = request.given(base, path)
        for _ in range(MOST_LINKS):
            spot = find_target(request, folder, text)
            try:
                self._names.refuse_protected(spot.path)
                found = self._at(request, spot, flags, mode)
                if not isinstance(found, str):
                    return found
                folder, text = os.dup(spot.folder), found
            finally:
                spot.close()
        raise OSError(errno.ELOOP, "too many links")

    def _at(self, request: Request, spot: Target, flags: int, mode: int) -> int | str | None:
        """What to give for a spot, or the path to continue with from there."""
        if spot.descriptors:
            return self._reopened(request, f"/proc/self/fd/{spot.folder}/{spot.name}", flags)
        try:
            seen = os.open(spot.name.rstrip("/"), LOOK, dir_fd=spot.folder)
        except FileNotFoundError:
            return self._created(request, spot, flags, mode)
        try:
            kind = os.fstat(seen).st_mode & KIND
            if flags & os.O_CREAT and flags & os.O_EXCL:
                raise OSError(errno.EEXIST, "it already exists")
            if kind == LINK:
                if flags & os.O_NOFOLLOW:
                    raise OSError(errno.ELOOP, "a link")
                return os.readlink("", dir_fd=seen)
            if kind == FOLDER and flags & os.O_CREAT:
                raise OSError(errno.EISDIR, "a directory")
            if kind != FOLDER and spot.name.endswith("/"):
                raise OSError(errno.ENOTDIR, "not a directory")
            return self._reopened(request, f"/proc/self/fd/{seen}", flags, mode)
        finally:
            os.close(seen)

    def _created(self, request: Request, spot: Target, flags: int, mode: int) -> int | str:
        if not flags & os.O_CREAT:
            raise OSError(errno.ENOENT, "it does not exist")
        os.umask(request.mask())
        exactly = flags | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            return os.open(spot.name, exactly, mode & 0o7777, dir_fd=spot.folder)
        except FileExistsError:
            if flags & os.O_EXCL:
                raise
            return spot.name  # Another process was quicker.

    def _reopened(self, request: Request, path: str, flags: int, mode: int = 0) -> int | None:
        """Open what is there already; only pipes are waited for, as the kernel does."""
        place = os.readlink(path)
        # A descriptor that was opened for reading may be of a protected file.
        self._names.refuse_protected(place)
        flags = flags & ~(os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW) | os.O_CLOEXEC | os.O_NOCTTY
        info = os.stat(path)
        kind = info.st_mode & KIND
        if kind in (REGULAR, FOLDER):
            if flags & os.O_TMPFILE == os.O_TMPFILE:
                os.umask(request.mask())
            return os.open(path, flags, mode)
        if kind == PIPE and place.startswith("/") and may_wait(flags):
            waiting = PendingPipe(request, path, flags)
            if not waiting.is_over():
                self._late.append(waiting)
            return None
        quick = flags | os.O_NONBLOCK
        found = open_terminal(request.task, quick) if is_own_terminal(info) else os.open(path, quick)
        os.set_blocking(found, not flags & os.O_NONBLOCK)
        return found

    def truncate(self, request: Request) -> bool:
        try:
            found = self._found(request, None, 0, flags=os.O_WRONLY | os.O_NONBLOCK, mode=0)
        except OSError as error:
            if error.errno == errno.ENXIO:
                raise OSError(errno.EINVAL, "neither a file nor a folder") from error
            raise
        assert found is not None
        try:
            os.ftruncate(found, ctypes.c_int64(request.arguments[1]).value)
        finally:
            os.close(found)
        return False
