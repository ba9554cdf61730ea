"""What a command gives up before it starts: capabilities, writing elsewhere, system calls."""

from __future__ import annotations

import _socket
import ctypes
import os
import sys

from bridle.host.sandbox.inside.kernel import check, find, libc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446
_PR_SET_SECCOMP, _PR_CAPBSET_DROP, _PR_SET_SECUREBITS, _PR_SET_NO_NEW_PRIVS = 22, 24, 28, 38
_NO_ROOT_LOCKED = 0b1111
_NEW_LISTENER, _WAIT_UNTIL_KILLED = 1 << 3, 1 << 5
_EXECUTE, _WRITE_FILE, _READ_FILE = 1 << 0, 1 << 1, 1 << 2
_CHANGES_TO_FOLDERS = 0x1FF0
"""Removing and making of every kind."""
_REFER, _TRUNCATE, _DEVICE_CONTROL = 1 << 13, 1 << 14, 1 << 15
_ON_FILES = _WRITE_FILE | _READ_FILE | _EXECUTE | _TRUNCATE | _DEVICE_CONTROL


def drop_privileges() -> None:
    for capability in range(64):
        libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)
    libc.prctl(_PR_SET_SECUREBITS, _NO_ROOT_LOCKED, 0, 0, 0)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    check(libc.capset(ctypes.byref(header), ctypes.byref((ctypes.c_uint32 * 6)())), "dropping capabilities")
    check(libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "giving up new privileges")


def enter_landlock(rules: dict[str, Any]) -> None:
    version = libc.syscall(_LANDLOCK_CREATE, None, 0, 1)
    if version < rules["least"]:
        raise OSError(38, "this kernel's Landlock is too old or off")
    if version < 1:
        return
    writing = _WRITE_FILE | _CHANGES_TO_FOLDERS
    for since, right in ((2, _REFER), (3, _TRUNCATE), (5, _DEVICE_CONTROL)):
        writing |= right if version >= since else 0
    reading = 0 if rules["readable"] is None else _READ_FILE | _EXECUTE
    tcp = 0b11 if rules["no_tcp"] and version >= 4 else 0
    scopes = 0b11 if rules["scoped"] and version >= 6 else 0
    attributes = (ctypes.c_uint64 * 3)(writing | reading, tcp, scopes)
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    ruleset = check(libc.syscall(_LANDLOCK_CREATE, ctypes.byref(attributes), size, 0), "asking for Landlock")
    for paths, rights in ((rules["writable"], writing), (rules["readable"] or (), reading)):
        for path in paths:
            _permit(ruleset, path, rights & (writing | reading))
    if rules.get("own_process"):
        _permit(ruleset, f"/proc/{os.getpid()}", reading)
    for number in (0, 1, 2):
        # What is open already may be opened again by its name under /dev.
        _permit_open(ruleset, number, (writing | reading) & _ON_FILES)
    check(libc.syscall(_LANDLOCK_RESTRICT, ruleset, 0), "entering Landlock")
    os.close(ruleset)


def _permit(ruleset: int, path: str, rights: int) -> None:
    try:
        found = find(path)
    except FileNotFoundError:
        return
    try:
        _permit_open(ruleset, found, rights)
    finally:
        os.close(found)


def _permit_open(ruleset: int, found: int, rights: int) -> None:
    kind = os.stat(found).st_mode & 0o170000
    if kind in (0o010000, 0o140000, 0o120000):
        return
    if kind != 0o040000:
        rights &= _ON_FILES
    rule = ctypes.create_string_buffer(
        rights.to_bytes(8, sys.byteorder) + found.to_bytes(4, sys.byteorder, signed=True), 12
    )
    check(libc.syscall(_LANDLOCK_ADD, ruleset, 1, rule, 0), "adding to Landlock")


def filter_calls(program: bytes) -> None:
    code = ctypes.create_string_buffer(program, len(program))
    head = (ctypes.c_uint64 * 2)(len(program) // 8, ctypes.addressof(code))
    check(libc.prctl(_PR_SET_SECCOMP, 2, ctypes.byref(head), 0, 0), "filtering system calls")


def filter_overseen_calls(spec: dict[str, Any], overseer: _socket.socket) -> None:
    """Filter calls, with some of them left to another process to do."""
    program = spec["filter"]
    code = ctypes.create_string_buffer(program, len(program))
    head = (ctypes.c_uint64 * 2)(len(program) // 8, ctypes.addressof(code))
    flags = _NEW_LISTENER | _WAIT_UNTIL_KILLED
    listener = check(
        libc.syscall(spec["oversight"]["seccomp"], 1, flags, ctypes.byref(head)), "handing over system calls"
    )
    rights = bytes(ctypes.c_int(listener))
    overseer.sendmsg([b"l"], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, rights)])
