"""Tells whether files and folders are still as they were when something was concluded from them."""

import os
import os.path
import stat
import time
from collections.abc import Iterable

from msgspec import Struct

_TICK_NS = 100_000_000


class Stamps(Struct, frozen=True, array_like=True):
    """How everything was that a conclusion rests on; the paths may be below a folder."""

    files: dict[str, tuple[int, int]] = {}
    """Size and time of change."""
    folders: dict[str, int] = {}
    """The time of the last change; 0 for one that has to be looked into every time."""
    absent: tuple[str, ...] = ()
    """What was not there."""

    def hold(self, below: str = "/") -> bool:
        """Whether nothing has changed, gone or come.

        A start with a thousand files spends its time here: a call for each is all that it may cost, and one
        that begins at an open folder is a fifth cheaper.
        """
        status_of = os.stat
        try:
            folder = os.open(below, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            for path, changed in self.folders.items():
                if status_of(path, dir_fd=folder).st_ctime_ns != changed:
                    return False
            for path, (size, changed) in self.files.items():
                status = status_of(path, dir_fd=folder)
                if status.st_mtime_ns != changed or status.st_size != size:
                    return False
            return not any(os.access(path, os.F_OK, dir_fd=folder) for path in self.absent)
        except OSError:
            return False
        finally:
            os.close(folder)

    def are_settled(self) -> bool:
        """Whether every later change will be told by them."""
        return 0 not in self.folders.values()

    def relative(self, below: str) -> "Stamps":
        """The same with shorter paths where they are below a folder."""
        start = f"{below.rstrip('/')}/"
        return Stamps(
            {path.removeprefix(start): stamp for path, stamp in self.files.items()},
            {path.removeprefix(start): changed for path, changed in self.folders.items()},
            tuple(path.removeprefix(start) for path in self.absent),
        )


def stamps_of(paths: Iterable[str]) -> Stamps:
    """The stamps of paths; one that does not exist is told of by the folder where it would have to appear."""
    files: dict[str, tuple[int, int]] = {}
    folders: dict[str, int] = {}
    for path in paths:
        status = _status(path)
        if status is None:
            folder, changed = _folder_of_missing(path)
            folders[folder] = changed
        elif stat.S_ISDIR(status.st_mode):
            folders[path] = settled(status.st_ctime_ns)
        else:
            files[path] = status.st_size, status.st_mtime_ns
    return Stamps(files, folders)


def _folder_of_missing(path: str) -> tuple[str, int]:
    """The folder around it that exists, and its time of change."""
    if os.path.islink(path):
        return path, 0  # It may come to lead somewhere without a change of any folder.
    folder = os.path.dirname(path)
    status = _status(folder)
    return _folder_of_missing(folder) if status is None else (folder, settled(status.st_ctime_ns))


def merged(stamps: Iterable[Stamps]) -> Stamps:
    """All of them in one."""
    files: dict[str, tuple[int, int]] = {}
    folders: dict[str, int] = {}
    absent: dict[str, None] = {}
    for each in stamps:
        files |= each.files
        folders |= each.folders
        absent |= dict.fromkeys(each.absent)
    return Stamps(files, folders, tuple(absent))


def settled(changed: int) -> int:
    """A time of change that a later one differs from, else 0: files may have a clock of 10 ms a tick."""
    return changed if time.time_ns() - changed > _TICK_NS else 0


def _status(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except OSError:
        return None
