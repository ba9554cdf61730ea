"""Removes names and changes modes, owners, times and attributes for confined commands in their place."""

from __future__ import annotations

import ctypes
import errno
import os
import struct

from bridle.host.sandbox.inside.kernel import EMPTY_PATH, HERE, libc
from bridle.host.sandbox.inside.targets import KIND, LINK, LOOK, MOST_LINKS, find_target, where

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from bridle.host.sandbox.inside.names import Names
    from bridle.host.sandbox.inside.requests import Request

    Change = Callable[[str], None]

_NO_FOLLOW, _REMOVE_FOLDER = 0x100, 0x200
_LARGEST_ATTRIBUTE = 65536
_TIMES = 32
"""Bytes of two times."""


class Changes:
    """Each method does one system call and leaves the answer to its caller."""

    def __init__(self, names: Names) -> None:
        self._names = names

    def unlink(self, request: Request) -> bool:
        return self._removed(request, None, 0, folder=False)

    def rmdir(self, request: Request) -> bool:
        return self._removed(request, None, 0, folder=True)

    def unlinkat(self, request: Request) -> bool:
        return self._removed(request, 0, 1, folder=bool(request.integer(2) & _REMOVE_FOLDER))

    def _removed(self, request: Request, base: int | None, path: int, *, folder: bool) -> bool:
        spot = find_target(request, *request.given(base, path))
        try:
            if spot.descriptors:
                raise OSError(errno.EPERM, "no file")
            if self._names.is_protected(spot.path):
                os.stat(spot.name, dir_fd=spot.folder, follow_symlinks=False)
                raise OSError(errno.EROFS, "protected")
            if folder:
                os.rmdir(spot.name, dir_fd=spot.folder)
            else:
                os.unlink(spot.name, dir_fd=spot.folder)
        finally:
            spot.close()
        return False

    def chmod(self, request: Request) -> bool:
        return self._changed(request, None, 0, _mode(request, 1))

    def fchmodat(self, request: Request) -> bool:
        return self._changed(request, 0, 1, _mode(request, 2))

    def fchmod(self, request: Request) -> bool:
        return self._changed(request, 0, None, _mode(request, 1))

    def chown(self, request: Request) -> bool:
        return self._changed(request, None, 0, _owner(request, 1))

    def lchown(self, request: Request) -> bool:
        return self._changed(request, None, 0, _owner(request, 1), flags=_NO_FOLLOW)

    def fchownat(self, request: Request) -> bool:
        return self._changed(request, 0, 1, _owner(request, 2), flags=request.integer(4))

    def fchown(self, request: Request) -> bool:
        return self._changed(request, 0, None, _owner(request, 1))

    def utime(self, request: Request) -> bool:
        data = request.data(request.arguments[1], 16) if request.arguments[1] else None
        return self._timed(request, None, 0, data and _times(data, "=qq", 0))

    def utimes(self, request: Request) -> bool:
        data = request.data(request.arguments[1], _TIMES) if request.arguments[1] else None
        return self._timed(request, None, 0, data and _times(data, "=qqqq", 1000))

    def futimesat(self, request: Request) -> bool:
        data = request.data(request.arguments[2], _TIMES) if request.arguments[2] else None
        return self._timed(
            request, 0, 1 if request.arguments[1] else None, data and _times(data, "=qqqq", 1000)
        )

    def utimensat(self, request: Request) -> bool:
        data = request.data(request.arguments[2], _TIMES) if request.arguments[2] else None
        path = 1 if request.arguments[1] else None
        return self._timed(request, 0, path, data, flags=request.integer(3))

    def _timed(
        self, request: Request, base: int | None, path: int | None, times: bytes | None, *, flags: int = 0
    ) -> bool:
        def change(place: str) -> None:
            _checked(libc.utimensat(HERE, place.encode(), times, 0))

        return self._changed(request, base, path, change, flags=flags)

    def setxattr(self, request: Request) -> bool:
        return self._changed(request, None, 0, _attribute(request))

    def lsetxattr(self, request: Request) -> bool:
        return self._changed(request, None, 0, _attribute(request), flags=_NO_FOLLOW)

    def fsetxattr(self, request: Request) -> bool:
        return self._changed(request, 0, None, _attribute(request))

    def removexattr(self, request: Request) -> bool:
        return self._changed(request, None, 0, _without_attribute(request))

    def lremovexattr(self, request: Request) -> bool:
        return self._changed(request, None, 0, _without_attribute(request), flags=_NO_FOLLOW)

    def fremovexattr(self, request: Request) -> bool:
        return self._changed(request, 0, None, _without_attribute(request))

    def _changed(
        self, request: Request, base: int | None, path: int | None, change: Change, *, flags: int = 0
    ) -> bool:
        """Change what a path or a descriptor leads to, unless it is protected."""
        found = self._found(request, base, path, flags)
        try:
            self._names.refuse_change(where(found), nameless=os.stat(found).st_nlink == 0)
            change(f"/proc/self/fd/{found}")
        finally:
            os.close(found)
        return False

    def _found(self, request: Request, base: int | None, path: int | None, flags: int) -> int:
        if path is None:
            return request.folder(base)
        folder, text = request.given(base, path)
        if not text and flags & EMPTY_PATH:
            return folder
        for _ in range(MOST_LINKS):
            spot = find_target(request, folder, text)
            try:
                found = os.open(
                    spot.name, LOOK & ~(os.O_NOFOLLOW if spot.descriptors else 0), dir_fd=spot.folder
                )
                if flags & _NO_FOLLOW or os.fstat(found).st_mode & KIND != LINK:
                    return found
                try:
                    folder, text = os.dup(spot.folder), os.readlink("", dir_fd=found)
                finally:
                    os.close(found)
            finally:
                spot.close()
        raise OSError(errno.ELOOP, "too many links")


def _mode(request: Request, index: int) -> Change:
    return lambda place: os.chmod(place, request.integer(index) & 0o7777)


def _owner(request: Request, index: int) -> Change:
    return lambda place: os.chown(place, request.integer(index), request.integer(index + 1))


def _attribute(request: Request) -> Change:
    name, size = request.text(1), request.arguments[3]
    if size > _LARGEST_ATTRIBUTE:
        raise OSError(errno.E2BIG, "too large")
    value = request.data(request.arguments[2], size) if size else b""
    return lambda place: os.setxattr(place, name, value, request.integer(4))


def _without_attribute(request: Request) -> Change:
    name = request.text(1)
    return lambda place: os.removexattr(place, name)


def _times(data: bytes, form: str, nanoseconds: int) -> bytes:
    """Two times as the newest of the calls takes them; `nanoseconds` are in one unit of their fractions."""
    numbers = struct.unpack(form, data)
    if nanoseconds == 0:
        return struct.pack("=qqqq", numbers[0], 0, numbers[1], 0)
    if not all(0 <= fraction < 1_000_000 for fraction in numbers[1::2]):
        raise OSError(errno.EINVAL, "no time")
    return struct.pack("=qqqq", numbers[0], numbers[1] * nanoseconds, numbers[2], numbers[3] * nanoseconds)


def _checked(result: int) -> None:
    if result < 0:
        raise OSError(ctypes.get_errno(), "changing")
