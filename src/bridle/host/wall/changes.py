"""Removes names and changes facts about files for judged commands, in their place."""

import ctypes
import errno
import os

from bridle.host.sandbox.inside.kernel import EMPTY_PATH, HERE, libc
from bridle.host.sandbox.inside.requests import Request
from bridle.host.sandbox.inside.targets import KIND, LINK, LOOK, MOST_LINKS, Target, find_target
from bridle.host.wall.bounds import Bounds

_REMOVE_FOLDER, _NO_FOLLOW = 0x200, 0x100
_TIMES = 32
_UTIMENSAT = {"x86_64": 280, "aarch64": 88, "arm64": 88}


class Changes:
    """Each method does one system call and leaves the answer to its caller."""

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds

    def unlink(self, request: Request) -> bool:
        return self._removed(request, None, 0, folder=False)

    def rmdir(self, request: Request) -> bool:
        return self._removed(request, None, 0, folder=True)

    def unlinkat(self, request: Request) -> bool:
        return self._removed(request, 0, 1, folder=bool(request.integer(2) & _REMOVE_FOLDER))

    def _removed(self, request: Request, base: int | None, path: int, *, folder: bool) -> bool:
        spot = find_target(request, *request.given(base, path))
        try:
            self._look_at(spot)
            (os.rmdir if folder else os.unlink)(spot.name, dir_fd=spot.folder)
        finally:
            spot.close()
        return False

    def chmod(self, request: Request) -> bool:
        return self._with_mode(self._at(request, None, 0), request.integer(1))

    def fchmod(self, request: Request) -> bool:
        return self._with_mode(self._held(request, 0), request.integer(1))

    def fchmodat(self, request: Request) -> bool:
        return self._with_mode(self._at(request, 0, 1), request.integer(2))

    def fchmodat2(self, request: Request) -> bool:
        return self._with_mode(self._at(request, 0, 1, flags=request.integer(3)), request.integer(2))

    def _with_mode(self, found: int, mode: int) -> bool:
        try:
            if os.fstat(found).st_mode & KIND == LINK:
                raise OSError(errno.ENOTSUP, "links have no mode")
            os.chmod(f"/proc/self/fd/{found}", mode & 0o7777)
        finally:
            os.close(found)
        return False

    def chown(self, request: Request) -> bool:
        return self._with_owner(self._at(request, None, 0), request, 1)

    def lchown(self, request: Request) -> bool:
        return self._with_owner(self._at(request, None, 0, flags=_NO_FOLLOW), request, 1)

    def fchown(self, request: Request) -> bool:
        return self._with_owner(self._held(request, 0), request, 1)

    def fchownat(self, request: Request) -> bool:
        return self._with_owner(self._at(request, 0, 1, flags=request.integer(4)), request, 2)

    def _with_owner(self, found: int, request: Request, first: int) -> bool:
        try:
            done = libc.fchownat(found, b"", request.integer(first), request.integer(first + 1), EMPTY_PATH)
            if done < 0:
                raise OSError(ctypes.get_errno(), "changing the owner")
        finally:
            os.close(found)
        return False

    def utimensat(self, request: Request) -> bool:
        no_path = request.arguments[1] == 0
        found = self._held(request, 0) if no_path else self._at(request, 0, 1, flags=request.integer(3))
        try:
            times = request.memory(2, _TIMES) if request.arguments[2] else None
            number = _UTIMENSAT[os.uname().machine]
            if libc.syscall(number, found, b"", times, EMPTY_PATH) < 0:
                raise OSError(ctypes.get_errno(), "changing the times")
        finally:
            os.close(found)
        return False

    def _at(self, request: Request, base: int | None, path: int, *, flags: int = 0) -> int:
        """What a path leads to, every hop of it within bounds."""
        if flags & EMPTY_PATH and base is not None and not request.text(path):
            return self._held(request, base)
        folder, text = request.given(base, path)
        for _ in range(MOST_LINKS):
            spot = find_target(request, folder, text)
            try:
                self._look_at(spot)
                found = os.open(spot.name.rstrip("/"), LOOK, dir_fd=spot.folder)
                if os.fstat(found).st_mode & KIND != LINK or flags & _NO_FOLLOW:
                    return found
                text = os.readlink("", dir_fd=found)
                os.close(found)
                folder = os.dup(spot.folder)
            finally:
                spot.close()
        raise OSError(errno.ELOOP, "too many links")

    def _held(self, request: Request, index: int) -> int:
        """What a descriptor of the command stands for."""
        if request.integer(index) == HERE:
            raise OSError(errno.EBADF, "no descriptor")
        found = request.folder(index)
        try:
            self._bounds.refuse_protected(os.readlink(f"/proc/self/fd/{found}"))
        except OSError:
            os.close(found)
            raise
        return found

    def _look_at(self, spot: Target) -> None:
        if spot.descriptors:
            raise OSError(errno.EACCES, "not through a descriptor")
        self._bounds.refuse_protected(spot.path)
