"""Hands out what agents must not share: files while they change, ranges of ports, scratch folders, git.

Everything is a small file below one folder, so that processes which know nothing of each other agree. What a
dead process held is free.
"""

import asyncio
import os
import socket
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager

import msgspec
from msgspec import Struct

from bridle.host.files import make_folders, replace_quickly
from bridle.host.lock import FileLock, Locked
from bridle.host.owners import Owner, is_alive

PORT_COUNT = 10
_FIRST_PORT = 21_000
_RANGES = 1_000
"""They end where systems assign ports automatically."""
_KINDS = ("leases", "ports", "scratch", "work")
_LEASE_SECONDS = 120.0
_GIT_SECONDS = 120.0
_LOCK_SECONDS = 10.0
_LARGEST = 20_000


class Lease(Struct, frozen=True, kw_only=True):
    """Something that an owner has."""

    owner: Owner
    what: str
    since: float
    """Seconds since the epoch."""

    def is_stale(self, now: float, seconds: float | None = None) -> bool:
        return not self.owner.is_alive or (seconds is not None and now - self.since > seconds)


class LeaseStore:
    """What one session holds of the things that all sessions of the user share; closed with the session."""

    def __init__(self, folder: str, *, clock: Callable[[], float] = time.time) -> None:
        self.folder = folder
        self._clock = clock
        self._kept: dict[str, set[str]] = {}
        """The files that stand for what each owner has."""
        self.used = False
        """Whether anything was ever claimed."""
        self._ports: dict[str, int] = {}
        self._git: dict[str, asyncio.Lock] = {}

    def lease(self, path: str, owner: Owner, *, above: Iterable[str] = ()) -> Lease | None:
        """Reserve a file for an owner that is about to change it; the lease in the way, or None.

        What `above` hold (by their keys) is no obstacle: they have handed on the work. A lease ends with its
        owner, or two minutes after the last change.

        Raises:
            OSError: nothing can be kept there.
            Locked: another process keeps the list for too long.
        """
        return self.lease_all((path,), owner, above=above)

    def lease_all(
        self, paths: Iterable[str], owner: Owner, *, above: Iterable[str] = (), folders: Iterable[str] = ()
    ) -> Lease | None:
        """Reserve several files or, when another owner has one or has a file below `folders`, none of them.

        Raises:
            OSError: nothing can be kept there.
            Locked: another process keeps the list for too long.
        """
        places = self._lease_places(paths)
        ours = (owner.key, *above)
        with self._lock("leases"):
            for place in places:
                if (held := self._foreign_lease(place, ours)) is not None:
                    return held
            for folder in folders:
                if below := self.leases_below(folder, owner, above=above):
                    return below[0]
            self._lease_now(places, owner)
        return None

    def claim_changed(
        self,
        paths: Iterable[str],
        owner: Owner,
        *,
        since: float,
        above: Iterable[str] = (),
        take: bool = True,
    ) -> list[Lease]:
        """Reserve files that were found to have changed; those that others had before, which they keep.

        A file that an owner reserved after `since` was changed by that owner, as far as is known. Without
        `take` it is not known who changed the rest, and no owner has it.

        Raises:
            OSError: nothing can be kept there.
            Locked: another process keeps the list for too long.
        """
        places = self._lease_places(paths)
        with self._lock("leases"):
            found = {place: self._foreign_lease(place, (owner.key,)) for place in places}
            free = {
                place: places[place]
                for place, held in found.items()
                if held is None or (held.owner.key in above and held.since < since)
            }
            self._lease_now(free if take else {}, owner)
        left = (held for place, held in found.items() if place not in free)
        return [held for held in left if held is not None and held.since < since]

    def leases(self) -> list[Lease]:
        """Every file that a live owner has reserved."""
        now = self._clock()
        found = (_read(path) for path in _files(self._place("leases")))
        return [each for each in found if each is not None and not each.is_stale(now, _LEASE_SECONDS)]

    def leases_below(self, folder: str, owner: Owner, *, above: Iterable[str] = ()) -> list[Lease]:
        """The files in a folder that others have reserved."""
        real = os.path.realpath(folder).rstrip("/") + "/"
        ours = (owner.key, *above)
        kept = self._kept.get(owner.key, set())
        places = (path for path in _files(self._place("leases")) if path not in kept)
        found = (self._foreign_lease(place, ours) for place in places)
        return [held for held in found if held is not None and held.what.startswith(real)]

    def join(self, folder: str, owner: Owner) -> bool:
        """Note work in a folder until the turn ends; whether another owner works there.

        Raises:
            OSError: nothing can be kept there.
        """
        place = self._place("work", owner.key)
        if place not in self._kept.get(owner.key, set()):
            make_folders(os.path.dirname(place), private=True)
            self._keep(place, Lease(owner=owner, what=folder, since=self._clock()))
        others = (_read(path) for path in _files(self._place("work")) if path != place)
        return any(each is not None and each.what == folder and each.owner.is_alive for each in others)

    def tell(self, owner: Owner, text: str) -> None:
        """Leave a message for the owner of a lease.

        Raises:
            OSError: nothing can be kept there.
        """
        make_folders(self._place("notes"), private=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(self._place("notes", owner.key), flags, 0o600), "wb") as file:
            file.write(f"{' '.join(text.split())}\n".encode())

    def messages(self, owner: Owner) -> list[str]:
        """The lines that others have left, each once.

        Raises:
            OSError: they cannot be removed.
        """
        place = self._place("notes", owner.key)
        taken = f"{place}.taken"
        try:
            os.rename(place, taken)
        except FileNotFoundError:
            return []
        with open(taken, encoding="utf-8", errors="replace") as file:
            lines = file.read(_LARGEST).splitlines()
        os.unlink(taken)
        return lines

    def ports(self, owner: Owner) -> int | None:
        """The first of `PORT_COUNT` ports that no other owner gets; None when all ranges are taken.

        Raises:
            OSError: nothing can be kept there.
            Locked: another process keeps the list for too long.
        """
        if (known := self._ports.get(owner.key)) is not None:
            return known
        with self._lock("ports"):
            taken = set(os.listdir(self._place("ports")))
            for number in range(_RANGES):
                place = self._place("ports", str(number))
                held = _read(place) if str(number) in taken else None
                if held is not None and not held.is_stale(self._clock()):
                    continue
                first = _FIRST_PORT + number * PORT_COUNT
                if not _are_free(first):
                    continue
                self._keep(place, Lease(owner=owner, what=str(first), since=self._clock()))
                self._ports[owner.key] = first
                return first
        return None

    def scratch(self, owner: Owner, base: str) -> str:
        """A folder below `base` for one owner, removed with it; folders of the dead are removed.

        Raises:
            OSError: it cannot be made.
        """
        place = self._place("scratch", owner.key)
        held = _read(place)
        if held is not None and os.path.isdir(held.what):
            return held.what
        make_folders(os.path.dirname(place), private=True)
        path = os.path.join(base, f"bridle-{owner.agent or 'main'}-{os.urandom(4).hex()}")
        os.mkdir(path, 0o700)
        self._keep(place, Lease(owner=owner, what=path, since=self._clock()))
        return path

    @asynccontextmanager
    async def git(self, repository: str, *, seconds: float = _GIT_SECONDS) -> AsyncGenerator[None]:
        """Be the only one who changes a repository; those of this process take turns in order.

        Raises:
            OSError: nothing can be kept there.
            Locked: another process takes longer than `seconds`.
        """
        name = _name(os.path.realpath(repository))
        make_folders(self._place("git"), private=True)
        queue = self._git.setdefault(name, asyncio.Lock())
        try:
            async with asyncio.timeout(seconds):
                await queue.acquire()
        except TimeoutError:
            raise Locked(f"git is busy in {repository}", holder=os.getpid()) from None
        try:
            async with FileLock(self._place("git", name), seconds=seconds):
                yield
        finally:
            queue.release()

    def release(self, owner: Owner) -> None:
        """Give back everything that an owner has; harmless when it has nothing."""
        self._ports.pop(owner.key, None)
        self._give_back(self._kept.pop(owner.key, set()), owner.key)
        if os.path.lexists(unread := self._place("notes", owner.key)):
            os.unlink(unread)

    def release_files(self, owner: Owner) -> None:
        """Give back the files that an owner changed, because its turn is over, and stop being active."""
        kept = self._kept.get(owner.key, set())
        files = {path for path in kept if _kind(path) in ("leases", "work")}
        kept -= files
        self._give_back(files, owner.key)

    def sweep(self) -> int:
        """Remove what the dead have left; how much that was."""
        dead: dict[str, set[str]] = {}
        for kind in _KINDS:
            for path in _files(self._place(kind)):
                held = _read(path)
                if held is not None and not held.owner.is_alive:
                    dead.setdefault(held.owner.key, set()).add(path)
        for key, paths in dead.items():
            self._give_back(paths, key)
        for path in _files(self._place("notes")):
            if not _is_for_living(os.path.basename(path)):
                os.unlink(path)
        return sum(map(len, dead.values()))

    def close(self) -> None:
        """Give back everything that this session has."""
        for key in tuple(self._kept):
            self._give_back(self._kept.pop(key), key)
        self._ports.clear()

    def _lease_places(self, paths: Iterable[str]) -> dict[str, str]:
        """The files that stand for leases, with what is leased."""
        reals = (os.path.realpath(path) for path in paths)
        return {self._place("leases", _name(real)): real for real in reals}

    def _foreign_lease(self, place: str, ours: Iterable[str]) -> Lease | None:
        held = _read(place)
        if held is None or held.owner.key in ours or held.is_stale(self._clock(), _LEASE_SECONDS):
            return None
        return held

    def _lease_now(self, places: Mapping[str, str], owner: Owner) -> None:
        for place, real in places.items():
            self._keep(place, Lease(owner=owner, what=real, since=self._clock()))

    def _keep(self, place: str, held: Lease) -> None:
        """Write down who has something; no one needs to know after a crash of the machine."""
        replace_quickly(place, msgspec.json.encode(held))
        self.used = True
        self._kept.setdefault(held.owner.key, set()).add(place)

    def _give_back(self, paths: Iterable[str], key: str) -> None:
        """Release what an owner still has; another may have it by now."""
        scratch: list[str] = []
        for kind in _KINDS:
            if not (chosen := [path for path in paths if _kind(path) == kind]):
                continue
            with self._lock(kind):
                for path in chosen:
                    held = _read(path)
                    if held is not None and held.owner.key == key:
                        os.unlink(path)
                        scratch += [held.what] if kind == "scratch" else []
        for folder in scratch:
            _remove_tree(folder)

    def _place(self, *names: str) -> str:
        return os.path.join(self.folder, *names)

    def _lock(self, kind: str) -> FileLock:
        if not os.path.isdir(self._place(kind)):
            make_folders(self._place(kind), private=True)
        return FileLock(self._place(f"{kind}.lock"), seconds=_LOCK_SECONDS)


def _kind(path: str) -> str:
    return os.path.basename(os.path.dirname(path))


def _read(path: str) -> Lease | None:
    """What a file says; one that cannot be read holds nothing."""
    try:
        with open(path, "rb") as file:
            return msgspec.json.decode(file.read(_LARGEST), type=Lease)
    except (OSError, msgspec.DecodeError):
        return None


def _files(folder: str) -> list[str]:
    try:
        return [os.path.join(folder, name) for name in os.listdir(folder)]
    except FileNotFoundError:
        return []


def _name(path: str) -> str:
    """A file name that stands for a path."""
    import hashlib

    return hashlib.sha256(os.fsencode(path)).hexdigest()[:32]


def _is_for_living(name: str) -> bool:
    """Whether the owner whose key begins a name still runs."""
    pid, _, rest = name.partition("-")
    return pid.isdecimal() and is_alive(int(pid), rest.partition("-")[0])


def _are_free(first: int) -> bool:
    """Whether no process listens on any port of a range."""
    for port in range(first, first + PORT_COUNT):
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                return False
    return True


def _remove_tree(path: str) -> None:
    import shutil

    # The file that names it is private, and so was the folder: no one else can have put a link there.
    shutil.rmtree(path, ignore_errors=True)
