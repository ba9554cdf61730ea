"""Makes and changes files and names for confined commands in their place, so that protected ones stay.

The kernel stops a command where it would open a file for writing, or make, remove or change what has a name,
and asks here. Letting the call continue after a look at its path would not do: the command could change the
path in between. So the call is done here, with the rights of the command, on what was looked at.
"""

from __future__ import annotations

import ctypes
import errno
import os
import select

from bridle.host.sandbox.inside.changes import Changes
from bridle.host.sandbox.inside.creations import Creations
from bridle.host.sandbox.inside.kernel import check, libc
from bridle.host.sandbox.inside.names import Names
from bridle.host.sandbox.inside.openings import Openings
from bridle.host.sandbox.inside.requests import Request, receive

TYPE_CHECKING = False
if TYPE_CHECKING:
    import _socket
    from collections.abc import Callable
    from typing import Any

_BLOCK, _CHILD_ENDED = 0, 17
_SIGNALS = 128
"""Bytes in a set of signals."""


class Overseer:
    """Answers requests one after the other, so that no name changes between the look and the deed."""

    def __init__(self, listener: int, calls: dict[int, str], names: Names) -> None:
        self._listener = listener
        openings, makings, changes = Openings(names), Creations(names), Changes(names)
        known: dict[str, Callable[[Request], bool]] = {
            "open": openings.open, "creat": openings.creat, "openat": openings.openat,
            "truncate": openings.truncate, "mkdir": makings.mkdir, "mkdirat": makings.mkdirat,
            "mknod": makings.mknod, "mknodat": makings.mknodat, "symlink": makings.symlink,
            "symlinkat": makings.symlinkat, "link": makings.link, "linkat": makings.linkat,
            "rename": makings.rename, "renameat": makings.renameat, "renameat2": makings.renameat2,
            "unlink": changes.unlink, "unlinkat": changes.unlinkat, "rmdir": changes.rmdir,
            "chmod": changes.chmod, "fchmod": changes.fchmod, "fchmodat": changes.fchmodat,
            "chown": changes.chown, "lchown": changes.lchown, "fchown": changes.fchown,
            "fchownat": changes.fchownat, "utime": changes.utime, "utimes": changes.utimes,
            "futimesat": changes.futimesat, "utimensat": changes.utimensat, "setxattr": changes.setxattr,
            "lsetxattr": changes.lsetxattr, "fsetxattr": changes.fsetxattr,
            "removexattr": changes.removexattr, "lremovexattr": changes.lremovexattr,
            "fremovexattr": changes.fremovexattr,
        }  # fmt: skip
        self._calls = {number: known[name] for number, name in calls.items()}
        self.retry = openings.retry

    def attend(self) -> None:
        """Take one request and answer it."""
        if (request := receive(self._listener)) is None:
            return
        try:
            answered = self._calls[request.number](request)
        except OSError as error:
            request.answer(error.errno or errno.EPERM)
        else:
            if not answered:
                request.answer()


def oversee(
    channel: _socket.socket, command: int, report: Callable[[int], None], spec: dict[str, Any]
) -> None:
    """Answer for a command and all that comes of it until the last of them has ended."""
    _, rights, _, _ = channel.recvmsg(1, 64)
    channel.close()
    listener = int.from_bytes(rights[0][2][:4], "little") if rights else -1
    endings = _endings()
    overseer = Overseer(listener, spec["calls"], Names(spec))
    ready = select.poll()
    ready.register(endings, select.POLLIN)
    if listener >= 0:
        ready.register(listener, select.POLLIN)
    while not _all_ended(command, report):
        for descriptor, event in ready.poll(overseer.retry()):
            if descriptor == endings:
                os.read(endings, 4096)
            elif event & select.POLLIN:
                overseer.attend()
            elif event & select.POLLHUP:
                ready.unregister(listener)


def _endings() -> int:
    """Where the ends of children can be read.

    As signals they would interrupt an answer to the kernel half way, which then goes wrong.
    """
    signals = (ctypes.c_uint8 * _SIGNALS)()
    signals[(_CHILD_ENDED - 1) // 8] = 1 << (_CHILD_ENDED - 1) % 8
    libc.pthread_sigmask(_BLOCK, ctypes.byref(signals), None)
    return check(libc.signalfd(-1, ctypes.byref(signals), os.O_CLOEXEC), "watching for the ends of children")


def _all_ended(command: int, report: Callable[[int], None]) -> bool:
    while True:
        try:
            ended, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return True
        if not ended:
            return False
        if ended == command:
            report(status)
