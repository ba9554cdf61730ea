"""Tells whether files and folders are still as they were when something was concluded from them."""

import os
import os.path
import time
from collections.abc import Iterable

from msgspec import Struct

TICK_NS = 20_000_000
"""Longer than any step of the clock that files are stamped by, which may be 10 ms."""


class Stamps(Struct, frozen=True, array_like=True):
    """How everything was that a conclusion rests on; the paths may be below a folder."""

    changed: dict[str, int] = {}
    """When each file and folder last changed, in content or otherwise; 0 for one not to believe."""
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
            for path, changed in self.changed.items():
                if status_of(path, dir_fd=folder).st_ctime_ns != changed:
                    return False
            return not any(os.access(path, os.F_OK, dir_fd=folder) for path in self.absent)
        except OSError:
            return False
        finally:
            os.close(folder)

    def are_settled(self) -> bool:
        """Whether every later change will be told by them."""
        return 0 not in self.changed.values()

    def relative(self, below: str) -> "Stamps":
        """The same with shorter paths where they are below a folder."""
        start = f"{below.rstrip('/')}/"
        return Stamps(
            {path.removeprefix(start): changed for path, changed in self.changed.items()},
            tuple(path.removeprefix(start) for path in self.absent),
        )


def stamps_of(paths: Iterable[str]) -> Stamps:
    """The stamps of paths; one that does not exist is told of by the folder where it would have to appear."""
    return Stamps(dict(map(_stamp, paths)))


def _stamp(path: str) -> tuple[str, int]:
    try:
        return path, settled(os.stat(path).st_ctime_ns)
    except OSError:
        # A link to nowhere may come to lead somewhere without a change of any folder.
        return (path, 0) if os.path.islink(path) else _stamp(os.path.dirname(path))


def merged(stamps: Iterable[Stamps]) -> Stamps:
    """All of them in one."""
    changed: dict[str, int] = {}
    absent: dict[str, None] = {}
    for each in stamps:
        changed |= each.changed
        absent |= dict.fromkeys(each.absent)
    return Stamps(changed, tuple(absent))


def settled(changed: int) -> int:
    """A time of change that every later one differs from; 0 for one that is too new for that."""
    return changed if time.time_ns() - changed > TICK_NS else 0
