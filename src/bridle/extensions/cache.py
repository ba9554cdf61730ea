"""The cache of everything that is read from extension files, so that only what has changed is read again.

Each value has a file of its own below one folder, for its name and for all that it depends on besides files
(its key): the same in another project is another value. Values that depend on files carry stamps of them, and
count while the stamps hold. In memory a look at the disk counts for less than a second (`FreshLookup`).
"""

import os
import os.path
import time
from binascii import crc32
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

import msgspec
from msgspec import Struct

from bridle.host.files import make_folders, read_bytes, write_atomic
from bridle.version import __version__

TICK_NS = 20_000_000
"""Longer than any step of the clock that files are stamped by, which may be 10 ms."""
_LARGEST = 64 * 1024 * 1024
_FORMAT = f"{__version__} 4"
"""Which version can read a file: raise the number when a cached type changes between two releases."""
_MOST_FILES = 400
_FRESH_SECONDS = 0.9

T = TypeVar("T")


class Stamps(Struct, frozen=True, array_like=True):
    """How everything was that a conclusion rests on; the paths may be below a folder."""

    changed: dict[str, int] = {}
    """When each file and folder last changed, in content or otherwise; 0 for one not to believe."""
    absent: tuple[str, ...] = ()
    """What was not there."""

    def hold(self, below: str = "/") -> bool:
        """Whether nothing has changed, gone or come.

        A start with a thousand files spends its time here: a call for each is all that it may cost, and one
        that begins at an open folder is a fifth cheaper.
        """
        status_of = os.stat
        try:
            folder = os.open(below, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            for path, changed in self.changed.items():
                if status_of(path, dir_fd=folder).st_ctime_ns != changed:
                    return False
            return not any(os.access(path, os.F_OK, dir_fd=folder) for path in self.absent)
        except OSError:
            return False
        finally:
            os.close(folder)

    def are_settled(self) -> bool:
        """Whether they will show every later change."""
        return 0 not in self.changed.values()

    def relative(self, below: str) -> "Stamps":
        """These stamps with shorter paths where they are below a folder."""
        start = f"{below.rstrip('/')}/"
        return Stamps(
            {path.removeprefix(start): changed for path, changed in self.changed.items()},
            tuple(path.removeprefix(start) for path in self.absent),
        )


def stamps_of(paths: Iterable[str]) -> Stamps:
    """The stamps of paths; one that does not exist is covered by the folder where it would appear."""
    return Stamps(dict(map(_stamp, paths)))


def _stamp(path: str) -> tuple[str, int]:
    try:
        return path, settled(os.stat(path).st_ctime_ns)
    except OSError:
        # A link to nowhere may come to lead somewhere without a change of any folder.
        return (path, 0) if os.path.islink(path) else _stamp(os.path.dirname(path))


def merged(stamps: Iterable[Stamps]) -> Stamps:
    """All of them in one."""
    changed: dict[str, int] = {}
    absent: dict[str, None] = {}
    for each in stamps:
        changed |= each.changed
        absent |= dict.fromkeys(each.absent)
    return Stamps(changed, tuple(absent))


def settled(changed: int) -> int:
    """A time of change that every later one differs from; 0 for one that is too new for that."""
    return changed if time.time_ns() - changed > TICK_NS else 0


class Inputs(Struct, frozen=True):
    """The files that a value depends on."""

    stamps: Stamps
    later: Stamps = Stamps()
    """Of what hardly ever changes, such as files that bridle installed itself: checked soon after a start
    instead of before it."""


class CachedValue(Struct, Generic[T]):
    """A value whose files had not changed when it was read from the cache."""

    value: T
    stamps: Stamps
    later: msgspec.Raw | Stamps
    below: str

    def holds(self) -> bool:
        """Whether no file has changed since, including those that are checked later."""
        if isinstance(self.later, msgspec.Raw):
            later = _decoded(self.later, Stamps)
            if later is None:
                return False
            self.later = later
        return self.stamps.hold(self.below) and self.later.hold(self.below)


class _File(Struct, array_like=True):
    format: str
    key: bytes
    content: msgspec.Raw


class _Stamped(Struct, array_like=True):
    stamps: Stamps
    later: msgspec.Raw
    value: msgspec.Raw


class ExtensionCache:
    """The cached values in a folder. One that is missing or damaged is made again, so nothing here fails."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._below = os.path.dirname(os.path.dirname(folder))
        """Most files that count are in the user's own folder."""

    def recall(self, name: str, key: bytes, kind: type[T]) -> CachedValue[T] | None:
        """A value whose files have not changed."""
        found = self.read(name, key, _Stamped)
        if found is None or not found.stamps.hold(self._below):
            return None
        value = _decoded(found.value, kind)
        return None if value is None else CachedValue(value, found.stamps, found.later, self._below)

    def keep(self, name: str, key: bytes, inputs: Inputs, value: T) -> CachedValue[T]:
        """Cache a value, unless a file is so new that its next change might have the same time."""
        stamps, later = inputs.stamps.relative(self._below), inputs.later.relative(self._below)
        if stamps.are_settled() and later.are_settled():
            parts = encoded(later), encoded(value)
            if parts[0] is not None and parts[1] is not None:
                self.write(name, key, _Stamped(stamps, msgspec.Raw(parts[0]), msgspec.Raw(parts[1])))
        return CachedValue(value, stamps, later, self._below)

    def read(self, name: str, key: bytes, kind: type[T]) -> T | None:
        """A value as it was written; the caller knows which parts of it still count."""
        try:
            file = _decoded(read_bytes(self._path(name, key), _LARGEST), _File)
        except OSError:
            return None
        if file is None or file.format != _FORMAT or file.key != key:
            return None
        return _decoded(file.content, kind)

    def write(self, name: str, key: bytes, value: object) -> None:
        """Write a value; where that is not possible, everything is read at every start."""
        content = encoded(value)
        data = None if content is None else encoded(_File(_FORMAT, key, msgspec.Raw(content)))
        if data is None:
            return
        try:
            make_folders(self._folder, private=True)
            # The last writer wins, and both wrote what they saw: no lock is needed.
            write_atomic(self._path(name, key), data, mode=0o600)
            _prune(self._folder)
        except OSError:
            return

    def forget(self, name: str, key: bytes) -> None:
        """Make a value again at the next start."""
        try:
            os.unlink(self._path(name, key))
        except OSError:
            return  # It is gone already, or nothing here can be changed.

    def _path(self, name: str, key: bytes) -> str:
        # The file repeats its key, so two keys with one checksum only cost time.
        return os.path.join(self._folder, f"{name}-{crc32(key):08x}.index")


class FreshLookup(Generic[T]):
    """The result of a lookup on disk, used for less than a second: every change is noticed within one."""

    def __init__(self, look: Callable[[], T], clock: Callable[[], float] = time.monotonic) -> None:
        self._look = look
        self._clock = clock
        self._seen: tuple[float, T] | None = None

    def get(self) -> T:
        now = self._clock()
        if self._seen is None or now - self._seen[0] >= _FRESH_SECONDS:
            self._seen = now, self._look()
        return self._seen[1]

    def forget(self) -> None:
        """Look again at the next call."""
        self._seen = None


def encoded(value: object) -> bytes | None:
    """The value as it is cached; None where that is not possible, as with paths that are not text."""
    try:
        return msgspec.msgpack.encode(value)
    except (UnicodeEncodeError, OverflowError, RecursionError):
        return None


def _decoded(data: bytes | msgspec.Raw, kind: type[T]) -> T | None:
    """What was cached; None where it is damaged or has another type."""
    try:
        return msgspec.msgpack.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _prune(folder: str) -> None:
    """Remove the files that have not been written for the longest time."""
    with os.scandir(folder) as listed:
        files = [(each.stat().st_mtime_ns, each.path) for each in listed if each.name.endswith(".index")]
    for _, path in sorted(files)[:-_MOST_FILES]:
        os.unlink(path)
