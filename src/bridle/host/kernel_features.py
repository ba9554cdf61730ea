"""What the kernel of this machine offers to confine programs with."""

import ctypes
import os
import subprocess
import sys

from msgspec import Struct

from bridle.host.sandbox.bubblewrap import find_bubblewrap

_LANDLOCK, _ASK_FOR_VERSION = 444, 1
_SECCOMP = {"x86_64": 317, "aarch64": 277}
_ASK_FOR_SIZES = 3
_NEW_USER = 0x10000000
_SECONDS = 10


class Features(Struct, frozen=True, kw_only=True):
    """Each as it was found by trying."""

    landlock: int = 0
    """The version of its interface, 0 where there is none."""
    notifications: bool = False
    """System calls of a program can be answered by another (seccomp)."""
    namespaces: bool = False
    """This user may make user namespaces."""
    bubblewrap: str | None = None
    bubblewrap_version: str = ""


def find_features(*, bubblewrap: str | None = None) -> Features:
    """What there is; `bubblewrap` is where the managed settings say that it is."""
    if sys.platform != "linux":
        return Features()
    program = find_bubblewrap(bubblewrap)
    return Features(
        landlock=_landlock(),
        notifications=_notifications(),
        namespaces=_namespaces(),
        bubblewrap=program,
        bubblewrap_version=""
        if program is None
        else _said_by(program, "--version").removeprefix("bubblewrap "),
    )


def _landlock() -> int:
    return max(0, ctypes.CDLL(None).syscall(_LANDLOCK, None, ctypes.c_size_t(0), _ASK_FOR_VERSION))


def _notifications() -> bool:
    number = _SECCOMP.get(os.uname().machine)
    sizes = (ctypes.c_uint16 * 3)()
    return number is not None and ctypes.CDLL(None).syscall(number, _ASK_FOR_SIZES, 0, sizes) == 0


def _namespaces() -> bool:
    """Tried in a process of its own, because there is no way back."""
    code = f"import ctypes; print(ctypes.CDLL(None).unshare({_NEW_USER}))"
    return _said_by(sys.executable, "-I", "-S", "-c", code) == "0"


def _said_by(*argv: str) -> str:
    try:
        done = subprocess.run(
            argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS, check=False, cwd="/",
            env={"PATH": "/usr/bin:/bin"},
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode(errors="replace").strip() if done.returncode == 0 else ""
