"""The view of the file system that a command gets: everything read-only, with layers over it."""

from __future__ import annotations

import ctypes
import os

from bridle.host.sandbox.inside.kernel import EMPTY_PATH, HERE, check, find, libc

TYPE_CHECKING = False
if TYPE_CHECKING:
    # At run time this would be the most expensive import of all.
    from typing import Any

_OPEN_TREE, _MOVE_MOUNT, _MOUNT_SETATTR = 428, 429, 442
_RECURSIVE, _CLONE = 0x8000, 0x1
_ONTO_DESCRIPTOR, _FROM_DESCRIPTOR = 0x40, 0x04
_READ_ONLY, _NO_SETUID = 0x1, 0x2
_MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_RDONLY, _MS_REC, _MS_PRIVATE = 2, 4, 8, 1, 0x4000, 1 << 18
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")


def mount_all(spec: dict[str, Any]) -> None:
    """Everything read-only, then the layers over it, the outer ones first."""
    check(libc.mount(None, b"/", None, _MS_REC | _MS_PRIVATE, None), "separating mounts")
    layers = [(kind, path, _copy(source, needed=kind != "writable")) for kind, path, source in spec["layers"]]
    devices = [(name, _copy(f"/dev/{name}", needed=True)) for name in _DEVICES]
    _set_attributes(HERE, "/", _RECURSIVE, set=_READ_ONLY | _NO_SETUID)
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
            _set_attributes(tree, "", EMPTY_PATH | _RECURSIVE, set=_READ_ONLY | _NO_SETUID)
        _place(tree, path, folder=folder)
    for path in hidden:
        _set_attributes(HERE, path, 0, set=_READ_ONLY)


def _copy(path: str, *, needed: bool) -> int | None:
    """A detached copy of a tree; no link is followed, no matter who made it."""
    try:
        found = find(path)
    except OSError:
        if needed:
            raise
        return None
    try:
        flags = _CLONE | _RECURSIVE | EMPTY_PATH | os.O_CLOEXEC
        return check(libc.syscall(_OPEN_TREE, found, b"", flags), f"copying {path}")
    finally:
        os.close(found)


def _place(tree: int, path: str, *, folder: bool) -> None:
    try:
        onto = find(path)
    except FileNotFoundError:
        # Below a hidden folder or the new /dev; anywhere else nothing can be made any more.
        os.makedirs(path if folder else os.path.dirname(path), 0o755, exist_ok=True)
        if not folder:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        onto = find(path)
    flags = _FROM_DESCRIPTOR | _ONTO_DESCRIPTOR
    check(libc.syscall(_MOVE_MOUNT, tree, b"", onto, b"", flags), f"placing {path}")
    os.close(onto)
    os.close(tree)


def _make_writable(tree: int) -> None:
    try:
        _set_attributes(tree, "", EMPTY_PATH | _RECURSIVE, set=_NO_SETUID, clear=_READ_ONLY)
    except PermissionError:
        try:
            _set_attributes(tree, "", EMPTY_PATH, set=_NO_SETUID, clear=_READ_ONLY)
        except PermissionError:
            pass  # It was read-only before, and stays so.


def _set_attributes(base: int, path: str, flags: int, *, set: int, clear: int = 0) -> None:
    attributes = (ctypes.c_uint64 * 4)(set, clear, 0, 0)
    size = ctypes.sizeof(attributes)
    done = libc.syscall(_MOUNT_SETATTR, base, os.fsencode(path), flags, ctypes.byref(attributes), size)
    check(done, f"changing mounts {path}".strip())


def _mount(source: str, path: str, kind: str, flags: int, options: str = "") -> None:
    done = libc.mount(
        source.encode(), os.fsencode(path), kind.encode(), ctypes.c_ulong(flags), options.encode()
    )
    check(done, f"mounting {path}")


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
    _set_attributes(HERE, "/dev", 0, set=_READ_ONLY)
