"""Confines commands on Linux: with bubblewrap, by namespaces of our own, or by Landlock alone."""

import asyncio
import marshal
import os
import os.path
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Literal

from msgspec import Struct

from bridle.host.files import write_new
from bridle.host.sandbox.bubblewrap import bubblewrap_argv
from bridle.host.sandbox.denials import DeniedFiles
from bridle.host.sandbox.guards import DEEPEST, deep_in
from bridle.host.sandbox.launcher_socket import LauncherSocket
from bridle.host.sandbox.masking.copies import NOTHING, Copies, FileOverlays
from bridle.host.sandbox.missing_paths import MissingPaths
from bridle.host.sandbox.plan import HTTP_PORT, SOCKS_PORT, Plan, Stage, draw, make_spec, standing
from bridle.host.sandbox.policy import Policy, own_files
from bridle.host.sandbox.private_dir import PrivateDir
from bridle.host.sandbox.proxy import Proxy
from bridle.host.sandbox.syscall_filter import is_known
from bridle.types.errors import ToolError
from bridle.types.sandbox import NOTHING_DENIED, Denials

Way = Literal["bubblewrap", "direct", "landlock"]

_STAGES: dict[Way, Stage] = {"bubblewrap": "inner", "direct": "whole", "landlock": "landlock"}
_START = """
import marshal, sys
for name, code in marshal.load(open(sys.argv.pop(1), "rb")):
    module = sys.modules[name] = type(sys)(name)
    exec(code, module.__dict__)
module.main()
"""
_TRIAL_SECONDS = 10
_SEARCH_LASTS = 10.0
_LONGEST_COMPLAINT = 300


class LinuxWalls:
    """The walls of one session; made inside its event loop."""

    def __init__(
        self,
        policy: Policy,
        way: Way,
        *,
        private: PrivateDir,
        roots: Callable[[], tuple[str, ...]],
        registry: str,
        proxy: Proxy | None,
        bubblewrap: str | None = None,
        python: str = sys.executable,
        oversees: bool = True,
        copies: Copies | None = None,
    ) -> None:
        self.way: Way = way
        self._copies = copies
        self._oversees = oversees
        self.ports: tuple[int, int] | None = (
            (HTTP_PORT, SOCKS_PORT) if proxy is not None and way != "landlock" else None
        )
        self._policy = policy
        self._private = private
        self._roots = roots
        self._bubblewrap = bubblewrap
        self._python = python
        self._search = _Search(DEEPEST if oversees else None)
        self._denied = DeniedFiles()
        self._stand_ins = MissingPaths(registry)
        network = policy.network
        self._door = LauncherSocket(
            private.socket_path,
            proxy=proxy,
            instead=(network.http_port, network.socks_port),
            on_empty=self._stand_ins.remove,
        )

    def wrap(
        self,
        argv: Sequence[str],
        *,
        cwd: str,
        keep: tuple[int, ...],
        denials: Denials = NOTHING_DENIED,
        search: str = "",
    ) -> tuple[str, ...]:
        """The command line that runs another inside.

        Raises:
            ToolError: something protected or denied cannot be held.
        """
        policy = self._denied.narrowed(
            self._policy, denials, search=search, shell=argv[0], oversees=self._oversees
        )
        plan = _draw(
            policy,
            self._roots(),
            self._private,
            self._python,
            deep=self._search.deep,
            covers=self._covers(),
        )
        token = os.urandom(16).hex()
        self._door.expect(token)
        if self._policy.filesystem:
            self._hold(plan)
        # Bubblewrap follows links, so it cannot keep one from being replaced, and starts our Python inside.
        needs_own = plan.links or os.path.realpath(self._python) in plan.hidden
        way = "direct" if needs_own and self.way == "bubblewrap" else self.way
        return compose(
            policy, plan, way, argv, private=self._private, cwd=cwd, keep=keep, token=token,
            bubblewrap=self._bubblewrap, python=self._python, overseen=self._oversees,
        )  # fmt: skip

    async def close(self) -> None:
        await self._door.close()
        self._stand_ins.remove()

    def _covers(self) -> FileOverlays:
        if self._copies is None:
            return NOTHING
        # Where nothing can be mounted, nothing can take the place of a file.
        return self._copies.all_hidden() if self.way == "landlock" else self._copies.cover()

    def _hold(self, plan: Plan) -> None:
        if self.way == "landlock":
            return
        for root, guards in plan.guards:
            try:
                self._stand_ins.place(root, guards)
            except OSError as error:
                raise ToolError(
                    f"The sandbox can't protect files in {root}: {error.strerror}. "
                    "Free up space there or run without the sandbox."
                ) from error


class _Search:
    """Remembers for a moment what was found deep in a folder."""

    def __init__(self, deepest: int | None) -> None:
        self._deepest = deepest
        self._found: dict[str, tuple[float, tuple[str, ...]]] = {}

    def deep(self, root: str) -> tuple[str, ...]:
        when, found = self._found.get(root, (0.0, ()))
        if time.monotonic() - when > _SEARCH_LASTS or not when:
            found = deep_in(root, deepest=self._deepest)
            self._found[root] = (time.monotonic(), found)
        return found


class SandboxSupport(Struct, frozen=True):
    """What this machine lets us build on."""

    way: Way
    oversees: bool
    """The kernel asks us before a command makes a name."""


async def find_support(
    policy: Policy, *, private: PrivateDir, bubblewrap: str | None, python: str = sys.executable
) -> SandboxSupport | str:
    """The first way that works here, tried for real; a sentence for people when none does."""
    machine = os.uname().machine
    if not is_known(machine):
        return f"{machine} processors are not supported"
    ways: tuple[Way, ...] = (
        ("direct", "landlock") if bubblewrap is None else ("bubblewrap", "direct", "landlock")
    )
    complaints: list[str] = []
    for way in ways:
        complaint = ""
        for oversees in (True, False) if policy.filesystem else (False,):
            support = SandboxSupport(way, oversees)
            complaint = await asyncio.to_thread(_try, policy, support, private, bubblewrap, python)
            if complaint is None:
                return support
        complaints.append(f"{way}: {complaint}")
    return "; ".join(complaints)


def compose(
    policy: Policy,
    plan: Plan,
    way: Way,
    argv: Sequence[str],
    *,
    private: PrivateDir,
    cwd: str,
    keep: tuple[int, ...],
    token: str,
    bubblewrap: str | None,
    python: str,
    overseen: bool,
) -> tuple[str, ...]:
    """Write the plan down for the launcher, and the command line that starts it.

    No token means no launcher socket.
    """
    proc = not policy.weaker_nesting
    machine = os.uname().machine
    spec = make_spec(
        policy, plan, stage=_STAGES[way], private=private, machine=machine, proc=proc, overseen=overseen
    )
    if not token:
        spec = {**spec, "socket": "", "ports": []}
    data = marshal.dumps(spec)
    path = os.path.join(private.folder, f"plan-{sha256(data).hexdigest()[:24]}")
    try:
        write_new(path, data)
    except FileExistsError:
        pass  # An earlier command ran under the same plan.
    kept = ",".join(map(str, keep))
    inner = (python, "-I", "-S", "-c", _START, private.launcher, path, token, cwd, kept, *argv)
    if way != "bubblewrap":
        return inner
    assert bubblewrap is not None
    return bubblewrap_argv(
        bubblewrap, inner, layers=standing(plan), filesystem=policy.filesystem, fresh_proc=proc
    )


def _draw(
    policy: Policy,
    roots: tuple[str, ...],
    private: PrivateDir,
    python: str,
    *,
    deep: Callable[[str], tuple[str, ...]] = deep_in,
    covers: FileOverlays = NOTHING,
) -> Plan:
    return draw(policy, roots=roots, own=(*own_files(), python), private=private, deep=deep, covers=covers)


def _try(
    policy: Policy, support: SandboxSupport, private: PrivateDir, bubblewrap: str | None, python: str
) -> str | None:
    plan = _draw(policy, (), private, python, deep=lambda _: ())
    argv = compose(
        policy, plan, support.way, ("/bin/sh", "-c", f": > {private.temporary}/trial"), private=private,
        cwd="/", keep=(), token="", bubblewrap=bubblewrap, python=python, overseen=support.oversees,
    )  # fmt: skip
    try:
        done = subprocess.run(
            argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=_TRIAL_SECONDS, check=False, cwd="/",
            env={"PATH": "/usr/bin:/bin"},
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)[:_LONGEST_COMPLAINT]
    if done.returncode == 0:
        return None
    said = done.stderr.decode(errors="replace").strip().rpartition(": ")
    return (said[2] or said[0] or f"code {done.returncode}")[-_LONGEST_COMPLAINT:]
