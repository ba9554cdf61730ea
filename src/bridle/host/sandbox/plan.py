"""Turns a policy into the mounts, rights and filters that hold it on this machine now."""

import os
import os.path
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal

from msgspec import Struct

from bridle.host.sandbox.guards import Guard, deep_in, guards_in, worktrees_in
from bridle.host.sandbox.masking.copies import NOTHING, FileOverlays
from bridle.host.sandbox.policy import (
    FILES,
    FILES_WHEN_PRESENT,
    FOLDERS,
    PACKAGES,
    Policy,
    is_within,
    is_within_any,
    real,
)
from bridle.host.sandbox.private_dir import PrivateDir
from bridle.host.sandbox.syscall_filter import call_filter, overseen_calls

Stage = Literal["whole", "inner", "landlock"]
"""Who builds the mounts: our launcher, bubblewrap around it, or none."""

Kind = Literal["writable", "fixed", "hidden"]

HTTP_PORT = 3128
SOCKS_PORT = 1080
"""Inside, where nothing else listens unless the command does."""

_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/tty")
_SCOPES_SINCE = 6
_ORDER: dict[Kind, int] = {"writable": 0, "hidden": 1, "fixed": 2}


class Layer(Struct, frozen=True):
    """A path with what is put there; later ones lie over earlier ones."""

    kind: Kind
    path: str
    source: str


class Plan(Struct, frozen=True, kw_only=True):
    roots: tuple[str, ...]
    """Everywhere that may be written, the session's temporary folder included."""
    guards: tuple[tuple[str, tuple[Guard, ...]], ...]
    """What is protected in each root."""
    layers: tuple[Layer, ...]
    hidden: tuple[str, ...]
    readable_again: tuple[str, ...]

    @property
    def links(self) -> tuple[str, ...]:
        """Protected paths that are links themselves, which not every helper can hold."""
        return tuple(guard.path for _, guards in self.guards for guard in guards if guard.link)


def draw(
    policy: Policy,
    *,
    roots: Iterable[str],
    own: Iterable[str],
    private: PrivateDir,
    covers: FileOverlays = NOTHING,
    deep: Callable[[str], tuple[str, ...]] = deep_in,
) -> Plan:
    """Find everything that a policy speaks of; `own` are our own files, which no one may change."""
    unreadable = (*real(policy.unreadable), *covers.hidden)
    hidden = tuple(path for path in dict.fromkeys(unreadable) if os.path.lexists(path) and path != "/")
    again = real(policy.readable_again)
    never = (*real(policy.never_writable), private.folder)
    wanted = (root for root in real((*roots, *policy.writable)) if os.path.exists(root))
    open_to_all = tuple(
        root
        for root in wanted
        if not is_within_any(root, never) and (not is_within_any(root, hidden) or is_within_any(root, again))
    )
    kept = (*never, *real(own))
    guards = tuple(
        (root, guards_in(root, never=kept, deep=deep(root))) for root in open_to_all if os.path.isdir(root)
    )
    closed = tuple(guard.path for _, found in guards for guard in found)
    allowed = tuple(path for root in open_to_all if (path := _unless_guarded(root, open_to_all, closed)))
    worktrees = tuple(path for root, _ in guards if (path := worktrees_in(root)))
    shown = tuple((path, copy) for path, copy in covers.shown if path not in hidden)
    return Plan(
        roots=(*allowed, *worktrees, private.temporary),
        guards=tuple((root, found) for root, found in guards if root in allowed),
        layers=_layers(allowed, worktrees, guards, hidden=hidden, again=again, shown=shown, private=private),
        hidden=hidden,
        readable_again=again,
    )


def make_spec(
    policy: Policy, plan: Plan, *, stage: Stage, private: PrivateDir, machine: str, proc: bool, overseen: bool
) -> dict[str, Any]:
    """The specification that the launcher reads."""
    alone = stage == "landlock"
    online = policy.network.mode == "proxy" and not alone
    overseen = overseen and policy.filesystem
    sockets = policy.network.all_unix_sockets
    return {
        "stage": stage,
        "filesystem": policy.filesystem,
        "proc": proc,
        "layers": [(layer.kind, layer.path, layer.source) for layer in standing(plan)],
        "landlock": _landlock(policy, plan, alone=alone) if policy.filesystem or alone else None,
        "filter": call_filter(
            machine,
            internet=not alone,
            unix_sockets=sockets,
            overseen=overseen,
            marking=not alone or not policy.filesystem or policy.weaker_nesting,
        ),
        "oversight": _oversight(plan, private, machine, alone=alone, denied=policy.unwritable)
        if overseen
        else None,
        "socket": private.socket_path,
        "ports": [HTTP_PORT, SOCKS_PORT] if online else [],
    }


def _oversight(
    plan: Plan, private: PrivateDir, machine: str, *, alone: bool, denied: tuple[str, ...]
) -> dict[str, Any]:
    seccomp, calls = overseen_calls(machine)
    guarded = (guard.path for _, guards in plan.guards for guard in guards)
    return {
        "code": private.overseer,
        "seccomp": seccomp,
        "calls": calls,
        "roots": list(plan.roots),
        "free": [private.temporary],
        "names": [name for name in (*FOLDERS, *FILES, *FILES_WHEN_PRESENT) if "/" not in name],
        "packages": list(PACKAGES),
        "closed": [*guarded, *plan.hidden],
        "open_again": [*plan.roots, *plan.readable_again],
        "alone": alone,
        "denied": list(denied),
    }


def standing(plan: Plan) -> tuple[Layer, ...]:
    """The layers, without those for places where nothing can be made anyway."""
    return tuple(layer for layer in plan.layers if layer.source == layer.path or os.path.lexists(layer.path))


def _unless_guarded(root: str, roots: tuple[str, ...], closed: tuple[str, ...]) -> str | None:
    """A working folder inside a protected one is not open, except among the worktrees."""
    for path in closed:
        if is_within(root, path) and not any(
            is_within(root, os.path.join(other, ".claude", "worktrees")) for other in roots
        ):
            return None
    return root


def _layers(
    roots: tuple[str, ...],
    worktrees: tuple[str, ...],
    guards: tuple[tuple[str, tuple[Guard, ...]], ...],
    *,
    hidden: tuple[str, ...],
    again: tuple[str, ...],
    shown: tuple[tuple[str, str], ...],
    private: PrivateDir,
) -> tuple[Layer, ...]:
    layers = [Layer("writable", path, path) for path in (*roots, *worktrees, private.temporary)]
    for root, found in guards:
        for guard in found:
            source = (
                guard.path if guard.present else private.void_folder if guard.folder else private.void_file
            )
            layers.append(Layer("fixed", guard.path, source))
            # A folder that could be renamed would take its guards along and leave the place free.
            layers += (Layer("writable", path, path) for path in _between(root, guard.path))
    for path in hidden:
        folder = os.path.isdir(path)
        layers.append(Layer("hidden" if folder else "fixed", path, path if folder else private.dark_file))
    covered = {path for path, _ in shown}
    layers = [layer for layer in layers if layer.path not in covered]
    layers += (Layer("fixed", path, copy) for path, copy in shown)
    opened = {layer.path for layer in layers}
    layers += (Layer("fixed", path, path) for path in again if path not in opened and os.path.exists(path))
    if is_within_any(private.folder, (*roots, *hidden)):
        layers.append(Layer("fixed", private.folder, private.folder))
    return tuple(sorted(dict.fromkeys(layers), key=lambda layer: (layer.path.count("/"), _ORDER[layer.kind])))


def _between(root: str, path: str) -> Iterator[str]:
    folder = os.path.dirname(path)
    while folder != root and is_within(folder, root):
        yield folder
        folder = os.path.dirname(folder)


def _landlock(policy: Policy, plan: Plan, *, alone: bool) -> dict[str, Any]:
    if not alone:
        return {
            "writable": (*plan.roots, *_DEVICES, "/dev/random", "/dev/urandom", "/dev/pts", "/dev/shm"),
            "readable": None,
            "own_process": False,
            "no_tcp": False,
            "scoped": True,
            "least": 0,
        }
    writable: tuple[str, ...] = plan.roots
    if not policy.filesystem:
        writable = ("/",)
    elif not policy.weaker_nesting:
        # Rights reach down from where they are given, so folders with something protected get none.
        holes = tuple(guard.path for _, guards in plan.guards for guard in guards)
        writable = tuple(path for root in plan.roots for path in _around(root, holes))
    # Nothing but an own mount would show a command its own processes only.
    private = () if policy.weaker_nesting else ("/proc",)
    holes = (*plan.hidden, *private)
    shared = _about_the_machine() if private else ()
    readable = (*_around("/", holes), *plan.readable_again, *shared) if holes else None
    return {
        "writable": (*writable, *_DEVICES),
        "readable": readable,
        "own_process": bool(private),
        "no_tcp": True,
        "scoped": True,
        "least": 1 if policy.weaker_nesting else _SCOPES_SINCE,
    }


def _about_the_machine() -> tuple[str, ...]:
    """What /proc tells that is not about one process."""
    entries = os.scandir("/proc") if os.path.isdir("/proc") else ()
    return tuple(entry.path for entry in entries if not entry.name.isdecimal() and not entry.is_symlink())


def _around(folder: str, holes: tuple[str, ...]) -> Iterator[str]:
    """What covers a folder except its holes, as few paths as possible."""
    if folder in holes:
        return
    if not any(is_within(hole, folder) for hole in holes):
        yield folder
        return
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return  # What cannot be listed is not opened.
    for entry in entries:
        if not entry.is_symlink():
            yield from _around(entry.path, holes)
