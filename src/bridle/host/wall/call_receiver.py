"""Lets the kernel open files for reading where nothing is closed, with as little work as possible.

A program opens dozens of files of the system before it does anything, and each of these calls waits for
an answer.
"""

import fcntl
import os
import re
import struct

from bridle.host.wall.filters import OPENING, TO_WRITE

_RECEIVE, _SEND, _SET_FLAGS = 0xC0502100, 0xC0182101, 0x40082104
_SAME_PROCESSOR, _CONTINUE = 1, 1
_SIZE, _LONGEST, _MOST_KNOWN, _MOST_OPEN = 80, 256, 4_000, 16
_NOTHING = bytes(_SIZE)
_HEAD = struct.Struct("=QIIiIQ6Q")
_ANSWER = struct.Struct("=QqiI")
_LEADS_ELSEWHERE = re.compile(
    rb"/proc/(?:self|thread-self|\d+)(?:/task/\d+)?/(?:fd|cwd|root|exe|map_files)(?:/.*)?"
    rb"|/dev/(?:fd(?:/.*)?|std(?:in|out|err))"
)
_SYSTEM = (b"/proc/", b"/sys/", b"/dev/")


class AllowedPaths:
    """Paths that the kernel decides about alone: it lets the command read nothing in the working folders."""

    def __init__(self, free: tuple[str, ...]) -> None:
        self._free = (*map(os.fsencode, free), *_SYSTEM)
        """Beginnings of paths."""
        self._known: dict[bytes, bool] = {}

    def covers(self, path: bytes) -> bool:
        """Whether nothing on the way to a path can be closed."""
        known = self._known.get(path)
        if known is None:
            plain = path.startswith(self._free) and b"/../" not in path and not path.endswith(b"/..")
            known = plain and _LEADS_ELSEWHERE.fullmatch(path) is None
            if len(self._known) < _MOST_KNOWN:
                self._known[path] = known
        return known


class CallReceiver:
    """Receives the calls of one command, and answers those that open free paths."""

    def __init__(self, listener: int, free: AllowedPaths | None, launcher: int) -> None:
        self._listener = listener
        self._free = free
        self._launcher = launcher
        column = 1 if os.uname().machine in ("aarch64", "arm64") else 0
        self._paths = {
            numbers[column]: (index, flags)
            for numbers, index, flags in zip(OPENING.values(), (0, 1), (1, 2), strict=True)
        }
        """Which arguments of a call are the path and the flags."""
        self._data, self._reply = bytearray(_SIZE), bytearray(_ANSWER.size)
        self._memories: dict[int, int] = {}
        """A descriptor for the memory of each task, as it was when that was opened. Once the task has started
        another program it shows nothing, or the memory of its parent: the answer is then slower, or one that
        the kernel's rules for reading keep from doing harm."""
        self.waits = _ends_waiting()
        """Whether waiting for a call ends with the command."""
        try:
            # The command runs on where it is answered; kernels before 6.6 do not know of it.
            fcntl.ioctl(listener, _SET_FLAGS, _SAME_PROCESSOR)
        except OSError:
            pass  # It is slower then, and nothing else.

    def receive(self) -> bytearray | None:
        """The next call that someone else must answer; None when there was none to wait for."""
        while (data := self._next()) is not None and self._is_answered(data):
            if not self.waits:
                return None
        return data

    def _next(self) -> bytearray | None:
        self._data[:] = _NOTHING
        try:
            fcntl.ioctl(self._listener, _RECEIVE, self._data)
        except OSError:
            return None
        return self._data

    def _is_answered(self, data: bytearray) -> bool:
        """Whether a call opens a free path, and is let through."""
        id, task, _, number, _, _, *arguments = _HEAD.unpack_from(data)
        if self._free is None or task == self._launcher or (places := self._paths.get(number)) is None:
            return False
        at, flags = places
        if arguments[flags] & TO_WRITE or not self._free.covers(self._text(task, arguments[at])):
            return False
        _ANSWER.pack_into(self._reply, 0, id, 0, 0, _CONTINUE)
        while True:
            try:
                fcntl.ioctl(self._listener, _SEND, self._reply)
            except InterruptedError:
                continue  # Stopped and continued: nothing was done yet.
            except OSError:
                pass  # The command was killed meanwhile.
            return True

    def close(self) -> None:
        for memory in self._memories.values():
            os.close(memory)
        self._memories.clear()

    def _text(self, task: int, address: int) -> bytes:
        """The path at an address of the command; nothing for one that is long or cannot be read."""
        try:
            if (memory := self._memories.get(task)) is not None:
                if found := os.pread(memory, _LONGEST, address):
                    path, end, _ = found.partition(b"\0")
                    return path if end else b""
                os.close(self._memories.pop(task))
            if len(self._memories) >= _MOST_OPEN:
                self.close()
            memory = self._memories[task] = os.open(f"/proc/{task}/mem", os.O_RDONLY | os.O_CLOEXEC)
            path, end, _ = os.pread(memory, _LONGEST, address).partition(b"\0")
        except (OSError, OverflowError):
            return b""
        return path if end else b""


def _ends_waiting() -> bool:
    """Whether the kernel ends the waiting for calls when no one is left to make one, as 6.11 and later do."""
    found = re.match(r"(\d+)\.(\d+)", os.uname().release)
    return found is not None and (int(found[1]), int(found[2])) >= (6, 11)
