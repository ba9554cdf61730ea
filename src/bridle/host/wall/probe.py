"""What this kernel offers to hold judged commands with."""

import os
import subprocess
import sys
from functools import cache
from typing import Literal

from msgspec import Struct

from bridle.host.sandbox.bubblewrap import find_bubblewrap
from bridle.host.sandbox.syscall_filter import is_known

Way = Literal["landlock", "bubblewrap", "filter", "nothing"]
_TRIAL_SECONDS = 5


class KernelSupport(Struct, frozen=True):
    """What works on this machine."""

    landlock: bool = False
    calls: bool = False
    """System calls can be filtered and looked at."""
    bubblewrap: bool = False

    def way(self, level: Literal["read", "edit"]) -> Way:
        """How a command of a level is held.

        Bubblewrap cannot keep a protected name from being made, and the filter does not see what is read.
        """
        if self.landlock:
            return "landlock"
        if self.bubblewrap and (level == "read" or not self.calls):
            return "bubblewrap"
        return "filter" if self.calls else "nothing"


class WallSupport(Struct, frozen=True):
    """How judged commands are held on this machine, for people."""

    way: Way
    holds: tuple[str, ...]
    """What is held, each as a few words."""
    lacks: tuple[str, ...]
    """What is not, and why."""

    @property
    def sentence(self) -> str:
        """One or two sentences for a report."""
        lacking = f" Not covered: {'; '.join(self.lacks)}." if self.lacks else ""
        if self.way == "nothing":
            return f"Commands judged harmless run without a second wall: {'; '.join(self.lacks)}."
        return f"Commands judged harmless are confined by {self.way}: {', '.join(self.holds)}.{lacking}"


@cache
def means() -> KernelSupport:
    """What works here, tried for real; the kernel does not change while we run."""
    if not sys.platform.startswith("linux") or not is_known(os.uname().machine):
        return KernelSupport()
    if _starts(landlock=True):
        return KernelSupport(landlock=True, calls=True)
    return KernelSupport(calls=_starts(landlock=False), bubblewrap=_bubblewrap_works())


def describe() -> WallSupport:
    """What `doctor security` says about the second wall."""
    from bridle.host.wall.landlock import version

    has = means()
    network = "network, signals and other processes (seccomp)"
    match has.way("read"):
        case "landlock":
            newest = version()
            lacks = () if newest >= 6 else ("abstract sockets of helpers, because Landlock is too old",)
            return WallSupport("landlock", (f"files (Landlock {newest})", network, "environment"), lacks)
        case "bubblewrap":
            edits = () if has.calls else ("protected names that do not exist yet, in accept-edits mode",)
            return WallSupport("bubblewrap", ("files", "network", "processes", "environment"), edits)
        case "filter":
            lacks = ("file reads, because this kernel has no Landlock and bubblewrap does not work",)
            return WallSupport("filter", ("file changes", network, "environment"), lacks)
        case "nothing":
            return WallSupport("nothing", (), (_why_nothing(),))


def _why_nothing() -> str:
    if not sys.platform.startswith("linux"):
        return f"{sys.platform} has neither Landlock nor bubblewrap"
    if not is_known(os.uname().machine):
        return f"{os.uname().machine} processors are not supported"
    return "the kernel refuses Landlock and seccomp, and bubblewrap is missing or may not make namespaces"


def _starts(*, landlock: bool) -> bool:
    """Whether a program starts behind rules and a filter, or behind the filter alone."""
    from bridle.host.wall.bounds import Bounds
    from bridle.host.wall.landlock import RUN, make_rules, version
    from bridle.host.wall.supervisor import Supervisor
    from bridle.types.sandbox import View

    if landlock and version() < 1:
        return False
    bounds = Bounds(View(level="read", roots=()), temporary="/nonexistent", home="/nonexistent")
    null = os.open("/dev/null", os.O_RDWR | os.O_CLOEXEC)
    rules = -1
    try:
        rules = make_rules([("/", RUN)]) if landlock else -1
        child = Supervisor(rules if landlock else None, bounds, outputs=()).spawn(
            lambda: subprocess.Popen(
                ["/bin/sh", "-c", ":"], stdin=null, stdout=null, stderr=null, env={}, start_new_session=True
            )
        )
        return child.wait(_TRIAL_SECONDS) == 0
    except (OSError, subprocess.TimeoutExpired):
        return False
    finally:
        os.close(null)
        if rules >= 0:
            os.close(rules)


def _bubblewrap_works() -> bool:
    if (program := find_bubblewrap(None)) is None:
        return False
    argv = [
        program,
        "--unshare-all",
        "--ro-bind",
        "/",
        "/",
        "--dev",
        "/dev",
        "--proc",
        "/proc",
        "/bin/sh",
        "-c",
        ":",
    ]
    try:
        done = subprocess.run(argv, capture_output=True, timeout=_TRIAL_SECONDS, check=False, env={})
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
