"""Makes, links and moves names for confined commands in their place."""

from __future__ import annotations

import ctypes
import errno
import os

from bridle.host.sandbox.inside.kernel import EMPTY_PATH, libc
from bridle.host.sandbox.inside.targets import FOLDER, KIND, LINK, find_target, where

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bridle.host.sandbox.inside.names import Names
    from bridle.host.sandbox.inside.requests import Request
    from bridle.host.sandbox.inside.targets import Target

_RENAMEAT2 = {"x86_64": 316, "aarch64": 276, "arm64": 276}
_FOLLOW, _EXCHANGE = 0x400, 2


class Creations:
    """Each method does one system call and leaves the answer to its caller."""

    def __init__(self, names: Names) -> None:
        self._names = names

    def mkdir(self, request: Request) -> bool:
        return self._made_folder(request, None, 0, request.integer(1))

    def mkdirat(self, request: Request) -> bool:
        return self._made_folder(request, 0, 1, request.integer(2))

    def _made_folder(self, request: Request, base: int | None, path: int, mode: int) -> bool:
        spot = self._new(request, base, path)
        try:
            os.umask(request.mask())
            os.mkdir(spot.name, mode, dir_fd=spot.folder)
        finally:
            spot.close()
        return False

    def mknod(self, request: Request) -> bool:
        return self._made_node(request, None, 0, request.integer(1), request.arguments[2])

    def mknodat(self, request: Request) -> bool:
        return self._made_node(request, 0, 1, request.integer(2), request.arguments[3])

    def _made_node(self, request: Request, base: int | None, path: int, mode: int, device: int) -> bool:
        spot = self._new(request, base, path)
        try:
            os.umask(request.mask())
            os.mknod(spot.name, mode, device & 0xFFFFFFFF, dir_fd=spot.folder)
        finally:
            spot.close()
        return False

    def symlink(self, request: Request) -> bool:
        return self._made_link(request, None, 1)

    def symlinkat(self, request: Request) -> bool:
        return self._made_link(request, 1, 2)

    def _made_link(self, request: Request, base: int | None, path: int) -> bool:
        target = request.text(0)
        spot = self._new(request, base, path)
        try:
            self._names.refuse_configuration(spot.path)
            os.symlink(target, spot.name, dir_fd=spot.folder)
        finally:
            spot.close()
        return False

    def link(self, request: Request) -> bool:
        return self._linked(request, (None, 0), (None, 1), flags=0)

    def linkat(self, request: Request) -> bool:
        return self._linked(request, (0, 1), (2, 3), flags=request.integer(4))

    def _linked(
        self, request: Request, old: tuple[int | None, int], new: tuple[int | None, int], *, flags: int
    ) -> bool:
        target = self._new(request, *new)
        try:
            held, path = request.given(*old)
            if flags & EMPTY_PATH and not path:
                try:
                    self._names.refuse_protected(where(held))
                    os.link(f"/proc/self/fd/{held}", target.name, dst_dir_fd=target.folder)
                finally:
                    os.close(held)
                return False
            source = find_target(request, held, path)
            try:
                self._names.refuse_protected(source.path)
                if source.descriptors:
                    self._names.refuse_protected(os.readlink(source.name, dir_fd=source.folder))
                os.link(
                    source.name, target.name, src_dir_fd=source.folder, dst_dir_fd=target.folder,
                    follow_symlinks=bool(flags & _FOLLOW),
                )  # fmt: skip
            finally:
                source.close()
        finally:
            target.close()
        return False

    def rename(self, request: Request) -> bool:
        return self._renamed(request, (None, 0), (None, 1), flags=0)

    def renameat(self, request: Request) -> bool:
        return self._renamed(request, (0, 1), (2, 3), flags=0)

    def renameat2(self, request: Request) -> bool:
        return self._renamed(request, (0, 1), (2, 3), flags=request.integer(4))

    def _renamed(
        self, request: Request, old: tuple[int | None, int], new: tuple[int | None, int], *, flags: int
    ) -> bool:
        source, target = self._new(request, *old), None
        try:
            target = self._new(request, *new)
            for one, other in ((source, target), (target, source))[: 2 if flags & _EXCHANGE else 1]:
                self._may_move(one, other)
            done = libc.syscall(
                _RENAMEAT2[os.uname().machine], source.folder, os.fsencode(source.name), target.folder,
                os.fsencode(target.name), flags,
            )  # fmt: skip
            if done < 0:
                raise OSError(ctypes.get_errno(), "renaming")
        finally:
            source.close()
            if target is not None:
                target.close()
        return False

    def _may_move(self, source: Target, target: Target) -> None:
        """A folder brings along what is in it, and that was not looked at everywhere."""
        try:
            kind = os.stat(source.name, dir_fd=source.folder, follow_symlinks=False).st_mode & KIND
        except OSError:
            return  # The renaming will say what is wrong.
        if kind == FOLDER and self._names.is_free(target.path) and not self._names.is_free(source.path):
            # What is protected must not be carried to where nothing is.
            self._refuse_closed_inside(source, source.path)
        if kind == FOLDER and self._names.depends_on_folders:
            self._refuse_closed_inside(source, source.path, target.path)
        if kind == FOLDER and self._names.is_free(source.path) and not self._names.is_free(target.path):
            # Programs copy then, and each name is looked at.
            raise OSError(errno.EXDEV, "moving out of a folder of packages")
        if target.name.rstrip("/").casefold() != ".config":
            return
        if kind == LINK:
            self._names.refuse_configuration(target.path)
        elif kind == FOLDER:
            seen = os.open(source.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=source.folder)
            try:
                if any(name.casefold() == "git" for name in os.listdir(seen)):
                    self._names.refuse_configuration(target.path)
            finally:
                os.close(seen)

    def _refuse_closed_inside(self, source: Target, *places: str) -> None:
        """Raises OSError when anything in a folder is closed, as seen from any of these places."""
        count = 0
        start = f"/proc/self/fd/{source.folder}/{source.name}"
        for folder, folders, files in os.walk(start):
            below = folder[len(start) :]
            for name in (*folders, *files):
                for place in places:
                    self._names.refuse_protected(f"{place}{below}/{name}")
                count += 1
            if count > self._names.most_moved:
                # Programs copy then, and each name is looked at.
                raise OSError(errno.EXDEV, "moving a large folder")

    def _new(self, request: Request, base: int | None, path: int) -> Target:
        """Where a name is to be made or removed."""
        spot = find_target(request, *request.given(base, path))
        if spot.descriptors or self._names.is_protected(spot.path):
            spot.close()
            raise OSError(errno.EROFS, "protected")
        return spot
