"""Reads the index of a repository: which files git tracks, and what they held when it last looked."""

import mmap
import os
import struct

from msgspec import Struct

_ENTRY = struct.Struct(">10I")
_EXTENDED = 0x4000
_STAGE = 0x3000
_FILE = 0o100000
_DIGITS = 20
_HEAD = _ENTRY.size + _DIGITS + 2
_LENGTH = 0xFFF


class Tracked(Struct, frozen=True, array_like=True):
    """A file in the index."""

    object: str
    program: bool
    size: int
    mtime_ns: int


class IndexFile:
    """The index of a repository; one file is found in it without reading all."""

    def __init__(self, path: str, root: str) -> None:
        """Open it.

        Raises:
            OSError: it cannot be read.
            ValueError: it is damaged, or of a form that is not known.
        """
        with open(path, "rb") as file:
            self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._root = root
        self._every: dict[str, Tracked] | None = None
        self._version = _version_of(self._data)

    def find(self, path: str) -> Tracked | None:
        """What it says of a plain file, by its absolute path."""
        if self._every is not None or self._version == 4:
            return self.every().get(path)
        if not path.startswith(f"{self._root}/"):
            return None
        name = os.fsencode(path[len(self._root) + 1 :])
        at = -1
        while (at := self._data.find(name + b"\0", at + 1)) >= 0:
            for extended in (False, True):
                head = at - _HEAD - 2 * extended
                if head < 12:
                    continue
                (flags,) = struct.unpack_from(">H", self._data, head + _HEAD - 2)
                if bool(flags & _EXTENDED) is extended and flags & _LENGTH == min(len(name), _LENGTH):
                    return _tracked(self._data, head, flags)
        return None

    def every(self) -> dict[str, Tracked]:
        """All plain files by their absolute paths, without those that a merge left open."""
        if self._every is None:
            self._every = _entries(self._data, self._version, self._root)
        return self._every


def _version_of(data: mmap.mmap) -> int:
    version = int.from_bytes(data[4:8], "big")
    if data[:4] != b"DIRC" or version not in (2, 3, 4):
        raise ValueError(f"index version {version}")
    return version


def _tracked(data: mmap.mmap, at: int, flags: int) -> Tracked | None:
    fields = _ENTRY.unpack_from(data, at)
    if fields[6] & 0o170000 != _FILE or flags & _STAGE:
        return None
    blob = data[at + _ENTRY.size : at + _ENTRY.size + _DIGITS].hex()
    return Tracked(blob, bool(fields[6] & 0o100), fields[9], fields[2] * 1_000_000_000 + fields[3])


def _entries(data: mmap.mmap, version: int, root: str) -> dict[str, Tracked]:
    count = int.from_bytes(data[8:12], "big")
    found: dict[str, Tracked] = {}
    at, name = 12, b""
    for _ in range(count):
        start = at
        (flags,) = struct.unpack_from(">H", data, at + _HEAD - 2)
        at += _HEAD + 2 * bool(flags & _EXTENDED)
        if version == 4:
            dropped, at = _number(data, at)
            end = data.find(b"\0", at)
            name = name[: len(name) - dropped] + data[at:end]
            at = end + 1
        else:
            end = data.find(b"\0", at)
            name = data[at:end]
            at = start + ((end - start) // 8 + 1) * 8
        if (known := _tracked(data, start, flags)) is not None:
            found[f"{root}/{os.fsdecode(name)}"] = known
    return found


def _number(data: mmap.mmap, at: int) -> tuple[int, int]:
    """A number of variable length, and where it ends."""
    byte = data[at]
    value = byte & 0x7F
    while byte & 0x80:
        at += 1
        byte = data[at]
        value = ((value + 1) << 7) | (byte & 0x7F)
    return value, at + 1
