"""Builds the walls around a command from the inside, then becomes it; run as a script, importing little.

    python -I -S launch.py PLAN TOKEN CWD KEPT,DESCRIPTORS PROGRAM ARGUMENT...

PLAN is a file with what `bridle.host.sandbox.plan.make_spec` says. Whatever fails here ends with 125 and one
sentence, and the command does not run.
"""

from __future__ import annotations

import _socket
import ctypes
import marshal
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    # At run time this would be the most expensive import of all.
    from collections.abc import Callable
    from typing import Any, NoReturn

FAILED = 125

_OPEN_TREE, _MOVE_MOUNT, _OPENAT2, _MOUNT_SETATTR = 428, 429, 437, 442
_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446
_HERE = -100
_EMPTY_PATH, _RECURSIVE, _CLONE = 0x1000, 0x8000, 0x1
_ONTO_DESCRIPTOR, _FROM_DESCRIPTOR = 0x40, 0x04
_NO_SYMLINKS = 0x04
_READ_ONLY, _NO_SETUID = 0x1, 0x2
_MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_RDONLY, _MS_REC, _MS_PRIVATE = 2, 4, 8, 1, 0x4000, 1 << 18
_NEW_MOUNTS, _NEW_IPC, _NEW_USER, _NEW_PIDS, _NEW_NETWORK = (
    0x20000,
    0x8000000,
    0x10000000,
    0x20000000,
    0x40000000,
)
_PR_SET_DUMPABLE, _PR_SET_SECCOMP, _PR_CAPBSET_DROP, _PR_SET_SECUREBITS = 4, 22, 24, 28
_PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 36, 38
_NO_ROOT_LOCKED = 0b1111
_NEW_LISTENER, _WAIT_UNTIL_KILLED = 1 << 3, 1 << 5
_SIGHUP, _SIGINT, _SIGPIPE, _SIGTERM, _SIGXFSZ = 1, 2, 13, 15, 25
_USUAL, _IGNORED = ctypes.c_void_p(0), ctypes.c_void_p(1)
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_CHANGES_TO_FOLDERS = 0x1FF0
"""Removing and making of every kind."""
_REFER, _TRUNCATE, _DEVICE_CONTROL = 1 << 13, 1 << 14, 1 << 15
_ON_FILES = _WRITE_FILE | _READ_FILE | _EXECUTE | _TRUNCATE | _DEVICE_CONTROL

_libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    """Set up what the plan says and run the command in it."""
    spec_file, token, cwd, kept, *argv = sys.argv[1:]
    with open(spec_file, "rb") as file:
        spec: dict[str, Any] = marshal.loads(file.read())
    keep = sorted({0, 1, 2, *(int(number) for number in kept.split(",") if number)})
    try:
        lease = _connect(spec["door"]) if spec["door"] else None
        if spec["stage"] == "whole":
            _leave_namespaces(spec)
    except OSError as error:
        _fail(error)
    reading, writing = os.pipe()
    if (inner := os.fork()) == 0:
        os.close(reading)
        _inside(spec, token, lease, cwd=cwd, keep=keep, argv=argv, report=writing)
    os.close(writing)
    _libc.signal(_SIGINT, _USUAL)
    _close_all_but((0, 1, 2, reading))
    said = os.read(reading, 16)
    if not said:
        # Either the walls could not be built, which was said, or somebody killed what holds them.
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
                _mount_all(spec)
            _raise_loopback()
        if lease is not None:
            _hand_over(lease, token, spec["ports"])
        _drop_privileges()
        _check(_libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), "adopting orphans")
        _check(_libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0), "closing this process to others")
        mine, theirs = _socket.socketpair() if spec["oversight"] else (None, None)
        if mine is not None and spec["landlock"] is not None:
            # What is done for the command is done with its rights; it enters walls of its own besides.
            _landlock({**spec["landlock"], "scoped": False})
        if (command := os.fork()) == 0:
            _check(_libc.prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0), "opening the command's own memory to it")
            _become(spec, cwd, keep, argv, theirs)
    except OSError as error:
        _fail(error)
    if theirs is not None:
        theirs.close()
    for number in (_SIGINT, _SIGTERM, _SIGHUP):
        _libc.signal(number, _IGNORED)
    null = os.open("/dev/null", os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)
    kept = (channel.fileno() for channel in (lease, mine) if channel is not None)
    _close_all_but((0, 1, 2, report, *kept))

    def tell(status: int) -> None:
        try:
            os.write(report, str(_code(status)).encode())
        except OSError:
            pass  # Whoever waited for it was killed.
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


def _oversee(
    channel: _socket.socket, command: int, tell: Callable[[int], None], spec: dict[str, Any]
) -> None:
    """Do for the command what it may not do by itself; the code for that is read while it starts."""
    names: dict[str, Any] = {"__name__": "overseer"}
    with open(spec["code"], "rb") as file:
        exec(marshal.load(file), names)
    names["oversee"](channel, command, tell, spec)


def _become(
    spec: dict[str, Any], cwd: str, keep: list[int], argv: list[str], overseer: _socket.socket | None
) -> NoReturn:
    for number in (_SIGINT, _SIGPIPE, _SIGXFSZ):
        _libc.signal(number, _USUAL)
    try:
        # Also when it is the same directory: the one that was inherited lies outside of the new mounts.
        os.chdir(cwd)
        _close_all_but([*keep, *((overseer.fileno(),) if overseer else ())])
        if spec["landlock"] is not None:
            _landlock(spec["landlock"])
        if overseer is None:
            _filter_calls(spec["filter"])
        else:
            _filter_overseen_calls(spec, overseer)
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
    _check(_libc.unshare(flags), "making namespaces")
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
            file.write(text)


def _mount_all(spec: dict[str, Any]) -> None:
    """Everything read-only, then the layers over it, the outer ones first."""
    _check(_libc.mount(None, b"/", None, _MS_REC | _MS_PRIVATE, None), "separating mounts")
    layers = [(kind, path, _copy(source, needed=kind != "writable")) for kind, path, source in spec["layers"]]
    devices = [(name, _copy(f"/dev/{name}", needed=True)) for name in _DEVICES]
    _set_attributes(_HERE, "/", _RECURSIVE, set=_READ_ONLY | _NO_SETUID)
    _mount_proc(required=spec["proc"])
    _mount_devices(devices)
    hidden: list[str] = []
    for kind, path, tree in layers:
        if tree is None:
            continue
        folder = os.stat(tree).st_mode & 0o170000 == 0o040000
        if kind == "hidden" and folder:
            mode = "0111" if any(other.startswith(path + "/") for _, other, _ in layers) else "0000"
            _mount("tmpfs", path, "tmpfs", _MS_NOSUID | _MS_NODEV, f"mode={mode}")
            hidden.append(path)
            continue
        if kind == "writable":
            _make_writable(tree)
        else:
            _set_attributes(tree, "", _EMPTY_PATH | _RECURSIVE, set=_READ_ONLY | _NO_SETUID)
        _place(tree, path, folder=folder)
    for path in hidden:
        _set_attributes(_HERE, path, 0, set=_READ_ONLY)


def _copy(path: str, *, needed: bool) -> int | None:
    """A detached copy of a tree; no link is followed, whoever may have put one there."""
    try:
        found = _open(path)
    except OSError:
        if needed:
            raise
        return None
    try:
        flags = _CLONE | _RECURSIVE | _EMPTY_PATH | os.O_CLOEXEC
        return _check(_libc.syscall(_OPEN_TREE, found, b"", flags), f"copying {path}")
    finally:
        os.close(found)


def _open(path: str) -> int:
    how = (ctypes.c_uint64 * 3)(os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, 0, _NO_SYMLINKS)
    found = _libc.syscall(_OPENAT2, _HERE, os.fsencode(path), ctypes.byref(how), ctypes.sizeof(how))
    if found < 0 and ctypes.get_errno() == 40:
        # The last component is a link, and meant itself; its folder must not be behind one.
        parent = _open(os.path.dirname(path))
        try:
            return os.open(os.path.basename(path), os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
        finally:
            os.close(parent)
    return _check(found, f"finding {path}")


def _place(tree: int, path: str, *, folder: bool) -> None:
    try:
        onto = _open(path)
    except FileNotFoundError:
        # Below a hidden folder or the new /dev; anywhere else nothing can be made any more.
        os.makedirs(path if folder else os.path.dirname(path), 0o755, exist_ok=True)
        if not folder:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        onto = _open(path)
    flags = _FROM_DESCRIPTOR | _ONTO_DESCRIPTOR
    _check(_libc.syscall(_MOVE_MOUNT, tree, b"", onto, b"", flags), f"placing {path}")
    os.close(onto)
    os.close(tree)


def _make_writable(tree: int) -> None:
    try:
        _set_attributes(tree, "", _EMPTY_PATH | _RECURSIVE, set=_NO_SETUID, clear=_READ_ONLY)
    except PermissionError:
        try:
            _set_attributes(tree, "", _EMPTY_PATH, set=_NO_SETUID, clear=_READ_ONLY)
        except PermissionError:
            pass  # It was read-only before, and stays so.


def _set_attributes(base: int, path: str, flags: int, *, set: int, clear: int = 0) -> None:
    attributes = (ctypes.c_uint64 * 4)(set, clear, 0, 0)
    size = ctypes.sizeof(attributes)
    done = _libc.syscall(_MOUNT_SETATTR, base, os.fsencode(path), flags, ctypes.byref(attributes), size)
    _check(done, f"changing mounts {path}".strip())


def _mount(source: str, path: str, kind: str, flags: int, options: str = "") -> None:
    done = _libc.mount(
        source.encode(), os.fsencode(path), kind.encode(), ctypes.c_ulong(flags), options.encode()
    )
    _check(done, f"mounting {path}")


def _mount_proc(*, required: bool) -> None:
    try:
        _mount("proc", "/proc", "proc", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC | _MS_RDONLY)
    except OSError:
        if required:
            raise


def _mount_devices(devices: list[tuple[str, int | None]]) -> None:
    _mount("tmpfs", "/dev", "tmpfs", _MS_NOSUID | _MS_NOEXEC, "mode=0755")
    for name, tree in devices:
        assert tree is not None
        os.close(os.open(f"/dev/{name}", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        _place(tree, f"/dev/{name}", folder=False)
    for name, target in (
        ("fd", "/proc/self/fd"),
        ("stdin", "/proc/self/fd/0"),
        ("stdout", "/proc/self/fd/1"),
        ("stderr", "/proc/self/fd/2"),
        ("ptmx", "pts/ptmx"),
    ):
        os.symlink(target, f"/dev/{name}")
    os.mkdir("/dev/shm", 0o1777)
    _mount("tmpfs", "/dev/shm", "tmpfs", _MS_NOSUID | _MS_NODEV, "mode=1777")
    os.mkdir("/dev/pts", 0o755)
    _mount("devpts", "/dev/pts", "devpts", _MS_NOSUID | _MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620")
    _set_attributes(_HERE, "/dev", 0, set=_READ_ONLY)


def _raise_loopback() -> None:
    with _Socket(_socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM)) as channel:
        request = ctypes.create_string_buffer(b"lo".ljust(16, b"\0") + b"\x41\x00", 40)
        _check(_libc.ioctl(channel.fileno(), 0x8914, request), "raising the loopback interface")


class _Socket:
    def __init__(self, channel: _socket.socket) -> None:
        self._channel = channel

    def __enter__(self) -> _socket.socket:
        return self._channel

    def __exit__(self, *_: object) -> None:
        self._channel.close()


def _connect(door: str) -> _socket.socket:
    lease = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    lease.connect(door)
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
        raise ConnectionRefusedError(111, "the session did not take over the network")
    for listener in listeners:
        listener.close()


def _drop_privileges() -> None:
    for capability in range(64):
        _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)
    _libc.prctl(_PR_SET_SECUREBITS, _NO_ROOT_LOCKED, 0, 0, 0)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    _check(_libc.capset(ctypes.byref(header), ctypes.byref((ctypes.c_uint32 * 6)())), "dropping capabilities")
    _check(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "giving up new privileges")


def _landlock(rules: dict[str, Any]) -> None:
    version = _libc.syscall(_LANDLOCK_CREATE, None, 0, 1)
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
    ruleset = _check(
        _libc.syscall(_LANDLOCK_CREATE, ctypes.byref(attributes), size, 0), "asking for Landlock"
    )
    for paths, rights in ((rules["writable"], writing), (rules["readable"] or (), reading)):
        for path in paths:
            _permit(ruleset, path, rights & (writing | reading))
    for number in (0, 1, 2):
        # What is open already may be opened again by its name under /dev.
        _permit_open(ruleset, number, (writing | reading) & _ON_FILES)
    _check(_libc.syscall(_LANDLOCK_RESTRICT, ruleset, 0), "entering Landlock")
    os.close(ruleset)


def _permit(ruleset: int, path: str, rights: int) -> None:
    try:
        found = _open(path)
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
    _check(_libc.syscall(_LANDLOCK_ADD, ruleset, 1, rule, 0), "adding to Landlock")


def _filter_calls(program: bytes) -> None:
    code = ctypes.create_string_buffer(program, len(program))
    head = (ctypes.c_uint64 * 2)(len(program) // 8, ctypes.addressof(code))
    _check(_libc.prctl(_PR_SET_SECCOMP, 2, ctypes.byref(head), 0, 0), "filtering system calls")


def _filter_overseen_calls(spec: dict[str, Any], overseer: _socket.socket) -> None:
    """Filter calls, with some of them left to another process to do."""
    program = spec["filter"]
    code = ctypes.create_string_buffer(program, len(program))
    head = (ctypes.c_uint64 * 2)(len(program) // 8, ctypes.addressof(code))
    flags = _NEW_LISTENER | _WAIT_UNTIL_KILLED
    listener = _check(
        _libc.syscall(spec["oversight"]["seccomp"], 1, flags, ctypes.byref(head)), "handing over system calls"
    )
    rights = bytes(ctypes.c_int(listener))
    overseer.sendmsg([b"l"], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, rights)])


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


def _check(result: int, doing: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{doing}: {os.strerror(number)}")
    return result


def _fail(error: OSError) -> NoReturn:
    _say(f"The sandbox could not be set up, so the command did not run: {error.strerror or error}")
    os._exit(FAILED)


def _say(text: str) -> None:
    os.write(2, f"{text}\n".encode(errors="replace"))


if __name__ == "__main__":
    main()
