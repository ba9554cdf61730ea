"""Calls to the kernel that Python has no names for, and how code gets inside."""

from __future__ import annotations

import ctypes
import errno
import marshal
import os
import sys

HERE = -100
EMPTY_PATH = 0x1000
_OPENAT2, _NO_SYMLINKS = 437, 0x04

libc = ctypes.CDLL(None, use_errno=True)


def check(result: int, doing: str) -> int:
    """The result, or the error that it stands for."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{doing}: {os.strerror(number)}")
    return result


def open_without_links(folder: int, path: str, flags: int) -> int:
    """A descriptor, or -1 with the error number set: no link on the way is followed."""
    how = (ctypes.c_uint64 * 3)(flags | os.O_CLOEXEC, 0, _NO_SYMLINKS)
    return libc.syscall(_OPENAT2, folder, os.fsencode(path), ctypes.byref(how), ctypes.sizeof(how))


def find(path: str) -> int:
    """A path as it stands: its folder must not be behind a link, its last component may be one.

    Raises:
        OSError: it is not there, or behind a link.
    """
    found = open_without_links(HERE, path, os.O_PATH | os.O_NOFOLLOW)
    if found < 0 and ctypes.get_errno() == errno.ELOOP:
        parent = find(os.path.dirname(path))
        try:
            return os.open(os.path.basename(path), os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
        finally:
            os.close(parent)
    return check(found, f"finding {path}")


def load(path: str) -> None:
    """Run the modules of a bundle, in order; afterwards they can be imported by their names."""
    with open(path, "rb") as file:
        for name, code in marshal.load(file):
            module = sys.modules[name] = type(sys)(name)
            exec(code, module.__dict__)
