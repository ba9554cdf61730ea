"""The kernel's Landlock, as far as the second wall needs it."""

import ctypes
import os
import sys
from collections.abc import Iterable

from bridle.host.sandbox.inside.kernel import check, libc

quick = ctypes.PyDLL(None, use_errno=True)
"""For calls that never wait: other threads do not get their turn between two of them."""

_CREATE, _ADD, _RESTRICT = 444, 445, 446
_EXECUTE, _WRITE, _READ, _LIST = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_MAKE_DEVICE, _MAKE_SOCKET = (1 << 6) | (1 << 11), 1 << 9
_CHANGE_FOLDERS = 0x1FF0
_REFER, _TRUNCATE, _DEVICE = 1 << 13, 1 << 14, 1 << 15
_ON_FILES = _EXECUTE | _WRITE | _READ | _TRUNCATE | _DEVICE
_KIND, _FOLDER, _REGULAR, _CHARACTERS = 0o170000, 0o040000, 0o100000, 0o020000

SEE = _READ | _LIST
RUN = SEE | _EXECUTE
CHANGE = _WRITE | (_CHANGE_FOLDERS & ~_MAKE_DEVICE & ~_MAKE_SOCKET) | _REFER | _TRUNCATE
USE = _READ | _WRITE | _TRUNCATE | _DEVICE
"""For devices that lead nowhere, such as /dev/null."""


def version() -> int:
    """The version of Landlock that this kernel has; less than 1 when it has none."""
    return libc.syscall(_CREATE, None, 0, 1)


def make_rules(places: Iterable[tuple[str, int]]) -> int:
    """A descriptor of rules that any thread may restrict itself with: everything but these places is closed.

    Raises:
        OSError: the kernel has no Landlock.
    """
    has = version()
    handled = _EXECUTE | _WRITE | _READ | _LIST | _CHANGE_FOLDERS
    for since, right in ((2, _REFER), (3, _TRUNCATE), (5, _DEVICE)):
        handled |= right if has >= since else 0
    tcp = 0b11 if has >= 4 else 0
    scopes = 0b11 if has >= 6 else 0
    attributes = (ctypes.c_uint64 * 3)(handled, tcp, scopes)
    size = 24 if has >= 6 else 16 if has >= 4 else 8
    rules = check(libc.syscall(_CREATE, ctypes.byref(attributes), size, 0), "asking for Landlock")
    try:
        for path, rights in places:
            _permit(rules, path, rights & handled)
    except OSError:
        os.close(rules)
        raise
    return rules


def make_read_rules(places: Iterable[str]) -> int:
    """A descriptor of rules that close every file to reading but those in these places.

    Raises:
        OSError: the kernel has no Landlock.
    """
    attributes = (ctypes.c_uint64 * 1)(_READ)
    rules = check(libc.syscall(_CREATE, ctypes.byref(attributes), 8, 0), "asking for Landlock")
    try:
        for path in places:
            _permit(rules, path, _READ)
    except OSError:
        os.close(rules)
        raise
    return rules


def restrict(rules: int) -> None:
    """Restrict this thread and all that it starts, for good."""
    check(quick.syscall(_RESTRICT, rules, 0), "entering Landlock")


def _permit(rules: int, path: str, rights: int) -> None:
    try:
        found = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return  # What is gone needs no right.
    try:
        kind = os.fstat(found).st_mode & _KIND
        if kind not in (_FOLDER, _REGULAR, _CHARACTERS):
            return
        rights = rights if kind == _FOLDER else rights & _ON_FILES
        if not rights:
            return
        rule = ctypes.create_string_buffer(
            rights.to_bytes(8, sys.byteorder) + found.to_bytes(4, sys.byteorder, signed=True), 12
        )
        check(libc.syscall(_ADD, rules, 1, rule, 0), "adding to Landlock")
    finally:
        os.close(found)
