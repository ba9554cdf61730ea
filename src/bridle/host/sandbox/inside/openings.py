"""Opens files for confined commands in their place, without ever waiting for anybody."""

from __future__ import annotations

import ctypes
import errno
import os

from bridle.host.sandbox.inside.spots import FOLDER, KIND, LINK, LOOK, MOST_LINKS, REGULAR, find_spot

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from bridle.host.sandbox.inside.names import Names
    from bridle.host.sandbox.inside.requests import Request
    from bridle.host.sandbox.inside.spots import Spot

_RETRY = 10
"""Milliseconds."""


class Openings:
    """Each method does one system call; True means that it was answered, or will be."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._late: list[Callable[[], bool]] = []
        """Openings of pipes that nobody reads yet."""

    def retry(self) -> int | None:
        """Try the openings again that have to wait; in how many milliseconds the next try is due."""
        self._late = [late for late in self._late if not late()]
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
            spot = find_spot(request, folder, text)
            try:
                self._names.refuse_protected(spot.path)
                found = self._at(request, spot, flags, mode)
                if not isinstance(found, str):
                    return found
                folder, text = os.dup(spot.folder), found
            finally:
                spot.close()
        raise OSError(errno.ELOOP, "too many links")

    def _at(self, request: Request, spot: Spot, flags: int, mode: int) -> int | str | None:
        """What to give for a spot, or the path to go on with from there."""
        if spot.descriptors:
            return self._reopened(request, f"/proc/self/fd/{spot.folder}/{spot.name}", flags)
        try:
            seen = os.open(spot.name.rstrip("/"), LOOK, dir_fd=spot.folder)
        except FileNotFoundError:
            return self._created(request, spot, flags, mode)
        try:
            kind = os.fstat(seen).st_mode & KIND
            if flags & os.O_CREAT and flags & os.O_EXCL:
                raise OSError(errno.EEXIST, "it exists")
            if kind == LINK:
                if flags & os.O_NOFOLLOW:
                    raise OSError(errno.ELOOP, "a link")
                return os.readlink("", dir_fd=seen)
            if kind == FOLDER and flags & os.O_CREAT:
                raise OSError(errno.EISDIR, "a directory")
            if kind != FOLDER and spot.name.endswith("/"):
                raise OSError(errno.ENOTDIR, "not a directory")
            return self._reopened(request, f"/proc/self/fd/{seen}", flags, mode, kind=kind)
        finally:
            os.close(seen)

    def _created(self, request: Request, spot: Spot, flags: int, mode: int) -> int | str:
        if not flags & os.O_CREAT:
            raise OSError(errno.ENOENT, "it does not exist")
        os.umask(request.mask())
        exactly = flags | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            return os.open(spot.name, exactly, mode & 0o7777, dir_fd=spot.folder)
        except FileExistsError:
            if flags & os.O_EXCL:
                raise
            return spot.name  # Somebody was quicker.

    def _reopened(
        self, request: Request, path: str, flags: int, mode: int = 0, *, kind: int = 0
    ) -> int | None:
        """Open what is there already, without ever waiting for somebody at the other end."""
        # A descriptor that was opened for reading may be of a protected file.
        self._names.refuse_protected(os.readlink(path))
        flags = flags & ~(os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW) | os.O_CLOEXEC | os.O_NOCTTY
        if kind in (REGULAR, FOLDER):
            if flags & os.O_TMPFILE == os.O_TMPFILE:
                os.umask(request.mask())
            return os.open(path, flags, mode)
        if _is_terminal_of_another(path, request.task):
            raise OSError(errno.ENXIO, "no terminal")
        try:
            return _unblocked(os.open(path, flags | os.O_NONBLOCK), flags)
        except OSError as error:
            if error.errno != errno.ENXIO or flags & os.O_NONBLOCK:
                raise
        # A pipe that nobody reads yet: the command waits, and so must nobody else.
        held = os.open(path, os.O_PATH | os.O_CLOEXEC)
        self._late.append(lambda: _open_late(request, held, flags))
        return None

    def truncate(self, request: Request) -> bool:
        found = self._found(request, None, 0, flags=os.O_WRONLY, mode=0)
        if found is not None:
            try:
                os.ftruncate(found, ctypes.c_int64(request.arguments[1]).value)
            finally:
                os.close(found)
        return False


def _is_terminal_of_another(path: str, task: int) -> bool:
    """`/dev/tty` is another one in another session."""
    return os.readlink(path) == "/dev/tty" and os.getsid(task) != os.getsid(0)


def _unblocked(descriptor: int, flags: int) -> int:
    os.set_blocking(descriptor, not flags & os.O_NONBLOCK)
    return descriptor


def _open_late(request: Request, held: int, flags: int) -> bool:
    """Whether there is nothing more to wait for."""
    if not request.is_valid():
        os.close(held)
        return True
    try:
        found = _unblocked(os.open(f"/proc/self/fd/{held}", flags | os.O_NONBLOCK), flags)
    except OSError as error:
        if error.errno == errno.ENXIO:
            return False
        os.close(held)
        request.answer(error.errno or errno.EPERM)
        return True
    os.close(held)
    try:
        request.give(found, closes=bool(flags & os.O_CLOEXEC))
    finally:
        os.close(found)
    return True
