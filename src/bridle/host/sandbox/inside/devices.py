"""Opens pipes and terminals for confined commands: as the kernel would, and without anyone else waiting."""

from __future__ import annotations

import ctypes
import errno
import os
import select

from bridle.host.sandbox.inside.kernel import libc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bridle.host.sandbox.inside.requests import Request

_ONLY_READING, _ONLY_WRITING, _ACCESS = 0, 1, 3
_WITHOUT_WAITING = 2
_PSEUDO_TERMINALS = 136
_OWN_TERMINAL = os.makedev(5, 0)


class PendingPipe:
    """A pipe that is opened as soon as it has another end."""

    def __init__(self, request: Request, path: str, flags: int) -> None:
        self._request = request
        self._flags = flags
        self._reads = flags & _ACCESS == _ONLY_READING
        # A waiting reader counts as a reader, so the pipe stays open in between.
        how = flags | os.O_NONBLOCK if self._reads else os.O_PATH
        self._held = os.open(path, how | os.O_CLOEXEC)

    def is_over(self) -> bool:
        """Whether there is nothing more to wait for: it was opened, or no one wants it any more."""
        if not self._request.is_valid():
            os.close(self._held)
            return True
        try:
            found = self._try()
        except OSError as error:
            self._request.answer(error.errno or errno.EPERM)
        else:
            if found is None:
                return False
            os.set_blocking(found, True)
            try:
                self._request.give(found, closes=bool(self._flags & os.O_CLOEXEC))
            finally:
                os.close(found)
        os.close(self._held)
        return True

    def _try(self) -> int | None:
        if self._reads:
            return os.dup(self._held) if _has_writer(self._held) else None
        try:
            return os.open(f"/proc/self/fd/{self._held}", self._flags | os.O_NONBLOCK)
        except OSError as error:
            if error.errno == errno.ENXIO:
                return None
            raise


def may_wait(flags: int) -> bool:
    """Whether opening a named pipe with these flags waits for its other end."""
    return not flags & os.O_NONBLOCK and flags & _ACCESS in (_ONLY_READING, _ONLY_WRITING)


def is_own_terminal(info: os.stat_result) -> bool:
    """Whether this is `/dev/tty`, which is another device for each session."""
    return info.st_mode & 0o170000 == 0o020000 and info.st_rdev == _OWN_TERMINAL


def open_terminal(task: int, flags: int) -> int:
    """The controlling terminal of a task.

    Raises:
        OSError: it has none.
    """
    device = _terminal_of(task)
    if not device:
        raise OSError(errno.ENXIO, "no terminal")
    if os.getsid(task) == os.getsid(0):
        return os.open("/dev/tty", flags)
    # A terminal that the command made for itself.
    if os.major(device) != _PSEUDO_TERMINALS:
        raise OSError(errno.ENXIO, "no terminal")
    found = os.open(f"/dev/pts/{os.minor(device)}", flags)
    if os.fstat(found).st_rdev != device:
        os.close(found)
        raise OSError(errno.ENXIO, "no terminal")
    return found


def _terminal_of(task: int) -> int:
    """The number of the controlling terminal; 0 when there is none."""
    with open(f"/proc/{task}/stat", "rb") as file:
        number = int(file.read().rpartition(b")")[2].split()[4])
    return os.makedev(number >> 8 & 0xFFF, number & 0xFF | number >> 12 & 0xFFF00)


def _has_writer(pipe: int) -> bool:
    """Whether a pipe has a writer, or had one since it was opened."""
    ready = select.poll()
    ready.register(pipe, select.POLLIN)
    if ready.poll(0):
        return True
    reading, writing = os.pipe()
    try:
        # Copies what is there without taking it: nothing at all without a writer, else "try again".
        copied = libc.tee(pipe, writing, ctypes.c_size_t(1), _WITHOUT_WAITING)
        return copied > 0 or (copied < 0 and ctypes.get_errno() == errno.EAGAIN)
    finally:
        os.close(reading)
        os.close(writing)
