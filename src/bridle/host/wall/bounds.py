"""How far a judged command may change anything."""

import errno
import os
import os.path
import re
from collections import defaultdict
from itertools import pairwise
from typing import Any

from bridle.host.sandbox.inside.names import Names
from bridle.host.wall.closed_files import ClosedFiles
from bridle.types.sandbox import View

_DEVICES = frozenset(f"/dev/{name}" for name in ("null", "zero", "full", "tty", "stdin", "stdout", "stderr"))
_DESCRIPTOR = re.compile(r"/proc/(\d+)/fd/\d+")
_CACHES = (".cache", ".npm/_logs", ".npm/_cacache", ".npm/_update-notifier-last-checked", ".local/state")
"""Below the home: programs do without writing there, and say nothing."""
_SHARED_CACHES = re.compile(r"/tmp/hsperfdata_[^/]+(?:/.*)?")


class OutOfBounds(OSError):
    """The command tried more than it was judged to do."""

    def __init__(self, target: str) -> None:
        super().__init__(errno.EACCES, "more than the command was judged to do")
        self.target = target


class Bounds(Names):
    """Whether a name may be made, changed or removed; asked for every hop on the way to it."""

    def __init__(self, view: View, *, temporary: str, home: str, closed: ClosedFiles | None = None) -> None:
        edited = tuple(os.path.realpath(root) for root in view.roots) if view.level == "edit" else ()
        # What is protected is asked here and not there; all that is not named is empty.
        given = {"roots": (*edited, temporary), "free": (temporary,), "alone": True}
        super().__init__(defaultdict[str, Any](tuple, given))
        self._temporary = temporary
        self._edited = edited
        self._kept_names = view.protected_names
        self._kept_folders = tuple(os.path.realpath(folder) for folder in view.protected)
        self._caches = tuple(os.path.join(home, name) for name in _CACHES)
        self._closed_files = closed
        self._session = 0
        self.beyond: str | None = None
        """The last path that was found to be out of bounds."""

    most_moved = 100_000

    @property
    def depends_on_folders(self) -> bool:
        """Always: a folder that is moved takes protected names in it along."""
        return True

    def begin(self, task: int) -> None:
        """From now on a task of the command asks."""
        self.beyond = None
        self._session = _session_of(task)

    def is_protected(self, path: str) -> bool:
        """Whether nothing at this path may be changed."""
        self.beyond = None if self._is_within(path) else path
        return self.beyond is not None

    def refuse_protected(self, path: str) -> None:
        """Raises OSError for a path that is out of bounds."""
        if self.is_protected(path):
            self.refuse(path)

    def refuse_configuration(self, path: str) -> None:
        """Raises OSError where a folder or link would bring along a protected `git` of its own."""
        if not self.is_protected(path):
            self.refuse_protected(f"{path}/git")

    def refuse(self, path: str) -> None:
        """Raises Beyond, or a plain OSError where the command would have failed anyway or can do without."""
        self.beyond = None
        dispensable = _SHARED_CACHES.fullmatch(path) or any(_within(path, cache) for cache in self._caches)
        if dispensable or _would_fail(path):
            raise PermissionError(errno.EACCES, "out of reach")
        raise OutOfBounds(path)

    def _is_within(self, path: str) -> bool:
        if not path.startswith("/") or path in _DEVICES or path.startswith("/dev/fd/"):
            return True  # Pipes and the like have no name; where a descriptor leads is looked at again.
        if (descriptor := _DESCRIPTOR.fullmatch(path)) is not None:
            return _session_of(int(descriptor[1])) == self._session != 0
        if _within(path, self._temporary):
            return True
        if not any(_within(path, root) for root in self._edited):
            return False
        if self._closed_files is not None and self._closed_files.covers(path):
            return False
        return not self._is_kept(path)

    def _is_kept(self, path: str) -> bool:
        names = [name.casefold() for name in path.split("/")]
        for name, following in pairwise([*names, ""]):
            # Work trees are made for editing; the rest of the folder is configuration.
            if name in self._kept_names and (name, following) != (".claude", "worktrees"):
                return True
            if (name, following) == (".config", "git"):
                return True
        return any(
            _within(path, folder) and not _within(path, os.path.join(folder, "worktrees"))
            for folder in self._kept_folders
        )


def _session_of(task: int) -> int:
    try:
        return os.getsid(task)
    except OSError:
        return 0


def _would_fail(path: str) -> bool:
    """Whether the file system itself keeps the path from being changed."""
    while not os.path.exists(path):
        path = os.path.dirname(path)
    return not os.access(path, os.W_OK)


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
