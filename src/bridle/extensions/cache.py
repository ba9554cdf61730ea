"""Keeps what was concluded from files, so that a start at which none has changed concludes nothing.

Each conclusion has a file of its own for all that it depends on besides files: the same words in another
project are another conclusion.
"""

import os
import os.path
from typing import Generic, TypeVar
from zlib import crc32

import msgspec
from msgspec import Struct

from bridle.extensions.stamps import Stamps
from bridle.host.files import make_folders, read_bytes, write_atomic
from bridle.version import __version__

_LARGEST = 64 * 1024 * 1024
_FORMAT = f"{__version__} 2"
"""Who can read what is kept: raise the number when a type changes that is kept between two releases."""
_MOST_FILES = 400

T = TypeVar("T")


class Inputs(Struct, frozen=True):
    """What a conclusion rests on."""

    stamps: Stamps
    later: Stamps = Stamps()
    """Of what hardly ever changes, such as files that bridle installed itself: looked at soon after a start
    instead of before it."""


class _Kept(Struct, array_like=True):
    format: str
    circumstances: bytes
    stamps: Stamps
    later: msgspec.Raw
    conclusion: msgspec.Raw


class CachedValue(Struct, Generic[T]):
    """A conclusion that holds still."""

    conclusion: T
    stamps: Stamps
    later: msgspec.Raw | Stamps
    below: str

    def holds(self) -> bool:
        """Whether it does at a later look, at everything."""
        if isinstance(self.later, msgspec.Raw):
            later = decoded(self.later, Stamps)
            if later is None:
                return False
            self.later = later
        return self.stamps.hold(self.below) and self.later.hold(self.below)


class ExtensionCache:
    """The conclusions in a folder. One that is missing or broken is drawn anew, so nothing here can fail."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._below = os.path.dirname(os.path.dirname(folder))
        """Most of what counts is in the user's own folder."""

    def recall(self, name: str, circumstances: bytes, kind: type[T]) -> CachedValue[T] | None:
        """A conclusion that holds still."""
        try:
            kept = decoded(read_bytes(self._file(name, circumstances), _LARGEST), _Kept)
        except OSError:
            return None
        if kept is None or kept.format != _FORMAT or kept.circumstances != circumstances:
            return None
        conclusion = decoded(kept.conclusion, kind) if kept.stamps.hold(self._below) else None
        return None if conclusion is None else CachedValue(conclusion, kept.stamps, kept.later, self._below)

    def keep(self, name: str, circumstances: bytes, grounds: Inputs, conclusion: T) -> CachedValue[T]:
        """Remember a conclusion, unless something is too new to tell it from what may come yet."""
        stamps, later = grounds.stamps.relative(self._below), grounds.later.relative(self._below)
        if stamps.are_settled() and later.are_settled():
            said, drawn = encoded(later), encoded(conclusion)
            if said is not None and drawn is not None:
                kept = _Kept(_FORMAT, circumstances, stamps, msgspec.Raw(said), msgspec.Raw(drawn))
                write_private(self._file(name, circumstances), kept)
        return CachedValue(conclusion, stamps, later, self._below)

    def forget(self, name: str, circumstances: bytes) -> None:
        """Draw a conclusion anew at the next start."""
        try:
            os.unlink(self._file(name, circumstances))
        except OSError:
            return  # It is gone already, or what is here cannot be changed at all.

    def _file(self, name: str, circumstances: bytes) -> str:
        # The file says what it depends on, so that two with one name only lose time.
        return os.path.join(self._folder, f"{name}-{crc32(circumstances):08x}.index")


def encoded(value: object) -> bytes | None:
    """The value as it is kept; None where that cannot be, as with paths that are not text."""
    try:
        return msgspec.msgpack.encode(value)
    except (UnicodeEncodeError, OverflowError, RecursionError):
        return None


def decoded(data: bytes | msgspec.Raw, kind: type[T]) -> T | None:
    """What was kept; None where it is damaged or of another make."""
    try:
        return msgspec.msgpack.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def write_private(file: str, value: object) -> None:
    """Write a file of the index; where that cannot be done, all is read at every start."""
    data = encoded(value)
    if data is None:
        return
    try:
        make_folders(os.path.dirname(file), private=True)
        # Whoever writes last wins, and both wrote what they saw: there is nothing to lock.
        write_atomic(file, data, mode=0o600)
        _prune(os.path.dirname(file))
    except OSError:
        return


def _prune(folder: str) -> None:
    """Forget what nobody has written for the longest time."""
    with os.scandir(folder) as listed:
        files = [(each.stat().st_mtime_ns, each.path) for each in listed if each.name.endswith(".index")]
    for _, path in sorted(files)[:-_MOST_FILES]:
        os.unlink(path)
