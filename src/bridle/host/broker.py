"""Hands out what agents must not share: files while they change, ranges of ports, scratch folders, git.

Everything is a small file below one folder, so that processes which know nothing of each other agree. What a
dead process held is free.
"""

import asyncio
import os
import socket
import time
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager

import msgspec
from msgspec import Struct

from bridle.host.files import make_folders
from bridle.host.lock import FileLock, Locked
from bridle.host.owners import Owner

PORT_COUNT = 10
_FIRST_PORT = 21_000
_RANGES = 1_000
"""They end where systems begin to give out ports by themselves."""
_KINDS = ("leases", "ports", "scratch")
_LEASE_SECONDS = 120.0
_GIT_SECONDS = 120.0
_LOCK_SECONDS = 10.0
_LARGEST = 20_000


class Held(Struct, frozen=True, kw_only=True):
    """Something that an owner has."""

    owner: Owner
    what: str
    since: float
    """Seconds since the epoch."""

    def is_stale(self, now: float, seconds: float | None = None) -> bool:
        return not self.owner.is_alive or (seconds is not None and now - self.since > seconds)


class Broker:
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

    def lease(self, path: str, owner: Owner, *, above: Iterable[str] = ()) -> Held | None:
        """Reserve a file for somebody who is about to change it; who has it instead, None for nobody.

        What `above` hold (by their keys) is no obstacle: they have handed on the work. A lease ends with its
        owner, or two minutes after the last change.

        Raises:
            OSError: nothing can be kept there.
            Locked: another process keeps the list for too long.
        """
        real = os.path.realpath(path)
        place = self._place("leases", _name(real))
        with self._lock("leases"):
            held = _read(place)
            foreign = held is not None and held.owner.key not in (owner.key, *above)
            if held is not None and foreign and not held.is_stale(self._clock(), _LEASE_SECONDS):
                return held
            self._keep(place, Held(owner=owner, what=real, since=self._clock()))
        return None

    def leases(self) -> list[Held]:
        """Every file that somebody alive has reserved."""
        now = self._clock()
        found = (_read(path) for path in _files(self._place("leases")))
        return [each for each in found if each is not None and not each.is_stale(now, _LEASE_SECONDS)]

    def ports(self, owner: Owner) -> int | None:
        """The first of `PORT_COUNT` ports that nobody else is given; None when all ranges are taken.

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
                self._keep(place, Held(owner=owner, what=str(first), since=self._clock()))
                self._ports[owner.key] = first
                return first
        return None

    def scratch(self, owner: Owner, base: str) -> str:
        """A folder below `base` for nobody else, which goes with its owner; folders of the dead are removed.

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
        self._keep(place, Held(owner=owner, what=path, since=self._clock()))
        return path

    @asynccontextmanager
    async def git(self, repository: str, *, seconds: float = _GIT_SECONDS) -> AsyncGenerator[None]:
        """Be the only one who changes a repository; those of this process take turns in order.

        Raises:
            OSError: nothing can be kept there.
            Locked: somebody else takes longer than `seconds`.
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

    def release_files(self, owner: Owner) -> None:
        """Give back the files that an owner changed, because its turn is over."""
        kept = self._kept.get(owner.key, set())
        files = {path for path in kept if _kind(path) == "leases"}
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
        return sum(map(len, dead.values()))

    def close(self) -> None:
        """Give back everything that this session has."""
        for key in tuple(self._kept):
            self._give_back(self._kept.pop(key), key)
        self._ports.clear()

    def _keep(self, place: str, held: Held) -> None:
        """Write down who has something; nobody needs to know after a crash of the machine."""
        new = f"{place}.{os.urandom(4).hex()}.tmp"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(new, flags, 0o600), "wb") as file:
            file.write(msgspec.json.encode(held))
        os.replace(new, place)
        self.used = True
        self._kept.setdefault(held.owner.key, set()).add(place)

    def _give_back(self, paths: Iterable[str], key: str) -> None:
        """Let go of what an owner still has; somebody else may have it by now."""
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


def _read(path: str) -> Held | None:
    """What a file says; one that cannot be read holds nothing."""
    try:
        with open(path, "rb") as file:
            return msgspec.json.decode(file.read(_LARGEST), type=Held)
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


def _are_free(first: int) -> bool:
    """Whether nobody listens on any port of a range."""
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

    # The file that names it is private, and so was the folder: nobody else can have put a link there.
    shutil.rmtree(path, ignore_errors=True)
