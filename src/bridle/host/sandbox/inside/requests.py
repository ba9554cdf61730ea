"""A system call that waits for its answer."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import struct

from bridle.host.sandbox.inside.kernel import HERE, libc

_RECEIVE, _SEND, _IS_VALID, _ADD_DESCRIPTOR = 0xC0502100, 0xC0182101, 0x40082102, 0x40182103
_LONGEST, _PAGE = 4096, 4096
_CONTINUE = 1


class Request:
    """What a confined task asked of the kernel."""

    def __init__(self, listener: int, data: bytearray) -> None:
        self.id, self.task, _, self.number = struct.unpack_from("=QIIi", data)
        self.arguments: tuple[int, ...] = struct.unpack_from("=6Q", data, 32)
        self._listener = listener

    def integer(self, index: int) -> int:
        return ctypes.c_int(self.arguments[index] & 0xFFFFFFFF).value

    def text(self, index: int) -> str:
        """The path that an argument points to."""
        address = self.arguments[index]
        first = _PAGE - address % _PAGE
        buffer = ctypes.create_string_buffer(_LONGEST)
        local = (ctypes.c_uint64 * 2)(ctypes.addressof(buffer), _LONGEST)
        # What lies behind the end of its page may not be there.
        remote = (ctypes.c_uint64 * 4)(address, first, address + first, _LONGEST - first)
        count = 2 if first < _LONGEST else 1
        read = libc.process_vm_readv(self.task, ctypes.byref(local), 1, ctypes.byref(remote), count, 0)
        if read < 0:
            raise OSError(ctypes.get_errno(), "reading the path")
        whole, end, _ = buffer.raw[:read].partition(b"\0")
        if not end:
            raise OSError(errno.ENAMETOOLONG, "reading the path")
        return os.fsdecode(whole)

    def data(self, address: int, size: int) -> bytes:
        """What the task has in its memory."""
        buffer = ctypes.create_string_buffer(size)
        local = (ctypes.c_uint64 * 2)(ctypes.addressof(buffer), size)
        remote = (ctypes.c_uint64 * 2)(address, size)
        read = libc.process_vm_readv(self.task, ctypes.byref(local), 1, ctypes.byref(remote), 1, 0)
        if read != size:
            raise OSError(errno.EFAULT, "reading what was given")
        return buffer.raw

    def folder(self, index: int | None) -> int:
        """The directory that a path is relative to."""
        number = HERE if index is None else self.integer(index)
        name = "cwd" if number == HERE else f"fd/{number}"
        try:
            return os.open(f"/proc/{self.task}/{name}", os.O_PATH | os.O_CLOEXEC)
        except FileNotFoundError:
            raise OSError(errno.EBADF, "no such descriptor") from None

    def given(self, base: int | None, path: int) -> tuple[int, str]:
        """The directory and the path of a call, which still waits, so that they belong to it."""
        text, folder = self.text(path), self.folder(base)
        if not self.is_valid():
            os.close(folder)
            raise OSError(errno.EINTR, "the calling process has gone")
        return folder, text

    def mask(self) -> int:
        with open(f"/proc/{self.task}/status", "rb") as file:
            for line in file:
                if line.startswith(b"Umask:"):
                    return int(line[6:], 8)
        return 0o077

    def is_valid(self) -> bool:
        try:
            self._tell(_IS_VALID, struct.pack("=Q", self.id))
        except OSError:
            return False
        return True

    def answer(self, error: int = 0, *, value: int = 0) -> None:
        try:
            self._tell(_SEND, struct.pack("=QqiI", self.id, value, -error, 0))
        except OSError:
            pass  # The command was killed meanwhile.

    def proceed(self) -> None:
        """Let the kernel do the call: only where all arguments are numbers, which no one can change."""
        try:
            self._tell(_SEND, struct.pack("=QqiI", self.id, 0, 0, _CONTINUE))
        except OSError:
            pass  # The command was killed meanwhile.

    def memory(self, index: int, size: int) -> bytes:
        """What an argument points to.

        Raises:
            OSError: it is not there.
        """
        buffer = ctypes.create_string_buffer(size)
        local = (ctypes.c_uint64 * 2)(ctypes.addressof(buffer), size)
        remote = (ctypes.c_uint64 * 2)(self.arguments[index], size)
        read = libc.process_vm_readv(self.task, ctypes.byref(local), 1, ctypes.byref(remote), 1, 0)
        if read != size:
            raise OSError(errno.EFAULT, "reading an argument")
        return buffer.raw

    def give(self, descriptor: int, *, closes: bool) -> None:
        """Answer with a descriptor of the command's own."""
        flags = os.O_CLOEXEC if closes else 0
        # Placed first and answered then: both at once, a signal at the wrong moment answers with 0 and
        # places nothing.
        try:
            placed = self._tell(_ADD_DESCRIPTOR, struct.pack("=QIIII", self.id, 0, descriptor, 0, flags))
        except OSError as error:
            self.answer(error.errno or errno.EMFILE)
        else:
            self.answer(value=placed)

    def _tell(self, kind: int, data: bytes) -> int:
        while True:
            try:
                return fcntl.ioctl(self._listener, kind, bytearray(data))
            except InterruptedError:
                pass  # Stopped and continued: nothing was done yet.


def receive(listener: int) -> Request | None:
    """The next request; None when the calling process was killed."""
    data = bytearray(80)
    try:
        fcntl.ioctl(listener, _RECEIVE, data)
    except OSError:
        return None
    return Request(listener, data)
