"""Builds the walls around a command from the inside, then becomes it; run before every command.

    LAUNCHER PLAN TOKEN CWD KEPT,DESCRIPTORS PROGRAM ARGUMENT...

PLAN is a file with what `bridle.host.sandbox.plan.make_spec` says. Whatever fails here ends with 125 and one
sentence, and the command does not run.
"""

from __future__ import annotations

import _socket
import ctypes
import marshal
import os
import sys

from bridle.host.sandbox.inside.kernel import check, libc, load
from bridle.host.sandbox.inside.mounts import mount_all
from bridle.host.sandbox.inside.rights import (
    drop_privileges,
    enter_landlock,
    filter_calls,
    filter_overseen_calls,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

FAILED = 125

_NEW_MOUNTS, _NEW_IPC, _NEW_USER, _NEW_PIDS, _NEW_NETWORK = 1 << 17, 1 << 27, 1 << 28, 1 << 29, 1 << 30
_PR_SET_DUMPABLE, _PR_SET_CHILD_SUBREAPER = 4, 36
_SIGHUP, _SIGINT, _SIGPIPE, _SIGTERM, _SIGXFSZ = 1, 2, 13, 15, 25
_USUAL, _IGNORED = ctypes.c_void_p(0), ctypes.c_void_p(1)


def main() -> None:
    """Set up what the plan says and run the command in it."""
    spec_file, token, cwd, kept, *argv = sys.argv[1:]
    with open(spec_file, "rb") as file:
        spec: dict[str, Any] = marshal.loads(file.read())
    keep = sorted({0, 1, 2, *(int(number) for number in kept.split(",") if number)})
    try:
        lease = _connect(spec["socket"]) if spec["socket"] else None
        if spec["stage"] == "whole":
            _leave_namespaces(spec)
    except OSError as error:
        _fail(error)
    reading, writing = os.pipe()
    if (inner := os.fork()) == 0:
        os.close(reading)
        _inside(spec, token, lease, cwd=cwd, keep=keep, argv=argv, report=writing)
    os.close(writing)
    libc.signal(_SIGINT, _USUAL)
    _close_all_but((0, 1, 2, reading))
    said = os.read(reading, 16)
    if not said:
        # Either the walls could not be built, which was said, or the process that holds them was killed.
        status = os.waitpid(inner, 0)[1]
        said = str(_code(status) or FAILED).encode()
    os._exit(int(said))


def _inside(
    spec: dict[str, Any],
    token: str,
    lease: _socket.socket | None,
    *,
    cwd: str,
    keep: list[int],
    argv: list[str],
    report: int,
) -> NoReturn:
    """Finish the walls, start the command, and stay until all that came of it has ended."""
    try:
        if spec["stage"] == "whole":
            if spec["filesystem"]:
                mount_all(spec)
            _raise_loopback()
        if lease is not None:
            _hand_over(lease, token, spec["ports"])
        drop_privileges()
        check(libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), "adopting orphans")
        check(libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0), "closing this process to others")
        mine, theirs = _socket.socketpair() if spec["oversight"] else (None, None)
        if mine is not None and spec["landlock"] is not None:
            # What is done for the command is done with its rights; it enters walls of its own besides.
            enter_landlock(_for_overseer(spec["landlock"]))
        if (command := os.fork()) == 0:
            check(libc.prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0), "opening the command's own memory to it")
            _become(spec, cwd, keep, argv, theirs)
    except OSError as error:
        _fail(error)
    if theirs is not None:
        theirs.close()
    for number in (_SIGINT, _SIGTERM, _SIGHUP):
        libc.signal(number, _IGNORED)
    null = os.open("/dev/null", os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)
    kept = (channel.fileno() for channel in (lease, mine) if channel is not None)
    _close_all_but((0, 1, 2, report, *kept))

    def tell(status: int) -> None:
        try:
            os.write(report, str(_code(status)).encode())
        except OSError:
            pass  # The process that waited for it was killed.
        os.close(report)

    if mine is not None:
        _oversee(mine, command, tell, spec["oversight"])
    while True:
        try:
            pid, status = os.wait()
        except ChildProcessError:
            os._exit(0)
        if pid == command:
            tell(status)


def _for_overseer(rules: dict[str, Any]) -> dict[str, Any]:
    """The rights of the command, and a look at the processes that come of it."""
    readable = rules["readable"] and (*rules["readable"], "/proc")
    return {**rules, "readable": readable, "own_process": False, "scoped": False}


def _oversee(
    channel: _socket.socket, command: int, tell: Callable[[int], None], spec: dict[str, Any]
) -> None:
    """Do for the command what it may not do directly; the code for that is read while it starts."""
    load(spec["code"])
    from bridle.host.sandbox.inside.overseer import oversee

    oversee(channel, command, tell, spec)


def _become(
    spec: dict[str, Any], cwd: str, keep: list[int], argv: list[str], overseer: _socket.socket | None
) -> NoReturn:
    for number in (_SIGINT, _SIGPIPE, _SIGXFSZ):
        libc.signal(number, _USUAL)
    try:
        # Also when it is the same directory: the one that was inherited lies outside of the new mounts.
        os.chdir(cwd)
        _close_all_but([*keep, *((overseer.fileno(),) if overseer else ())])
        if spec["landlock"] is not None:
            enter_landlock(spec["landlock"])
        if overseer is None:
            filter_calls(spec["filter"])
        else:
            filter_overseen_calls(spec, overseer)
    except OSError as error:
        _fail(error)
    try:
        os.execvp(argv[0], argv)
    except OSError as error:
        _say(f"{argv[0]} cannot be started: {error.strerror}")
        os._exit(127 if isinstance(error, FileNotFoundError) else 126)


def _leave_namespaces(spec: dict[str, Any]) -> None:
    uid, gid = os.getuid(), os.getgid()
    flags = _NEW_USER | _NEW_MOUNTS | _NEW_PIDS | _NEW_NETWORK | _NEW_IPC
    check(libc.unshare(flags), "making namespaces")
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
            file.write(text)


def _raise_loopback() -> None:
    with _Socket(_socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM)) as channel:
        request = ctypes.create_string_buffer(b"lo".ljust(16, b"\0") + b"\x41\x00", 40)
        check(libc.ioctl(channel.fileno(), 0x8914, request), "raising the loopback interface")


class _Socket:
    def __init__(self, channel: _socket.socket) -> None:
        self._channel = channel

    def __enter__(self) -> _socket.socket:
        return self._channel

    def __exit__(self, *_: object) -> None:
        self._channel.close()


def _connect(socket_path: str) -> _socket.socket:
    lease = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    lease.connect(socket_path)
    return lease


def _hand_over(lease: _socket.socket, token: str, ports: list[int]) -> None:
    """Give the listening sockets of this network away, so that nothing in here has to forward anything."""
    listeners: list[_socket.socket] = []
    for port in ports:
        listener = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
        listener.bind(("127.0.0.1", port))
        listener.listen(128)
        listeners.append(listener)
    numbers = (ctypes.c_int * len(listeners))(*(listener.fileno() for listener in listeners))
    rights = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, bytes(numbers))] if listeners else []
    lease.sendmsg([token.encode()], rights)
    if lease.recv(1) != b"k":
        raise ConnectionRefusedError(111, "the session did not set up the network")
    for listener in listeners:
        listener.close()


def _close_all_but(keep: list[int] | tuple[int, ...]) -> None:
    low = 0
    for number in sorted(set(keep)):
        if low < number:  # Python 3.11 closes everything when the range is empty.
            os.closerange(low, number)
        low = number + 1
    os.closerange(low, 0x7FFFFFFF)


def _code(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    return 128 - code if code < 0 else code


def _fail(error: OSError) -> NoReturn:
    _say(f"Can't set up the sandbox, so the command did not run: {error.strerror or error}")
    os._exit(FAILED)


def _say(text: str) -> None:
    os.write(2, f"{text}\n".encode(errors="replace"))
