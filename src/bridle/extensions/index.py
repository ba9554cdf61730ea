"""Remembers what extension files say about themselves, so that start-up reads only those that changed.

Each folder has one index file below the user's folder, named after the path of the folder; the folders of all
plugins share one for each kind, because a hundred small files take longer to open than to read. A file counts
as known while its size and time of change are the same.
"""

import os
import os.path
from collections.abc import Iterator, Sequence
from typing import Any
from zlib import crc32

import msgspec
from msgspec import Struct

from bridle.config.problem import Problem
from bridle.extensions.frontmatter import first_line, read_front
from bridle.extensions.places import Root
from bridle.host.files import make_folders, read_bytes, write_atomic
from bridle.types.errors import ConfigError
from bridle.types.text import encodable

LARGEST_FILE = 4 * 1024 * 1024
FRESH_SECONDS = 0.9
"""How long a look at the disk is believed."""
_FORMAT = 2
_LARGEST_INDEX = 64 * 1024 * 1024
_MOST_FILES = 5_000
_MOST_FOLDERS = 2_000
_MOST_INDEXES = 400
_KEEPS_BODY = ("agents", "output-styles")
_LONGEST_KEPT_BODY = 100_000


class Entry(Struct, frozen=True, array_like=True):
    """A file as the index knows it."""

    path: str
    """Below its root."""
    size: int
    mtime_ns: int
    values: dict[str, Any]
    """The header."""
    opening: str = ""
    """The first words of the body."""
    body: str | None = None
    """The whole body, for kinds that need it at once."""
    fault: str = ""
    line: int | None = None


class Found(Struct, frozen=True, kw_only=True):
    """A file with the root that it was found in."""

    root: Root
    entry: Entry

    @property
    def path(self) -> str:
        # Thousands of these are made at start-up, and the general join takes its time.
        return f"{self.root.path}/{self.entry.path}" if self.entry.path else self.root.path

    @property
    def problem(self) -> Problem | None:
        if not self.entry.fault:
            return None
        return Problem(file=self.path, line=self.entry.line, message=self.entry.fault)

    def read_body(self) -> str:
        """The body as the file has it now.

        Raises:
            OSError: the file cannot be read any more.
        """
        if self.entry.body is not None:
            return self.entry.body
        return read_front(_read(self.path), file=self.path).body


class _Stored(Struct, array_like=True):
    format: int
    key: str
    roots: dict[str, list[Entry]]
    """The files of each folder."""


class Index:
    """The indexes of all folders; what is in memory is checked against the disk at every look."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._known: dict[str, dict[str, dict[str, Entry]]] = {}
        """By the key of an index file, then by folder, then by path."""

    def look(self, roots: Sequence[Root]) -> list[Found]:
        """Every file below the roots, in their order and by name; only new and changed ones are read."""
        stale: set[str] = set()
        found = [Found(root=root, entry=entry) for root in roots for entry in self._look_into(root, stale)]
        for key in stale:
            self._save(key)
        return found

    def _look_into(self, root: Root, stale: set[str]) -> list[Entry]:
        present = list(_files(root))
        if not present:
            return []
        key = f"{root.kind}\0{'plugins' if root.source == 'plugin' else root.path}"
        if key not in self._known:
            self._known[key] = self._load(key)
        known = self._known[key].get(root.path, {})
        entries: dict[str, Entry] = {}
        if len(known) != len(present):
            stale.add(key)
        for path, status in present:
            entry = known.get(path)
            if entry is None or (entry.size, entry.mtime_ns) != (status.st_size, status.st_mtime_ns):
                entry = _read_entry(root, path, status)
                stale.add(key)
            entries[path] = entry
        self._known[key][root.path] = entries
        return [entries[path] for path in sorted(entries)]

    def _load(self, key: str) -> dict[str, dict[str, Entry]]:
        try:
            stored = msgspec.msgpack.decode(read_bytes(self._file(key), _LARGEST_INDEX), type=_Stored)
        except (OSError, msgspec.DecodeError):
            return {}  # An index that is missing or broken is made anew.
        if stored.format != _FORMAT or stored.key != key:
            return {}
        return {path: {entry.path: entry for entry in entries} for path, entries in stored.roots.items()}

    def _save(self, key: str) -> None:
        there = {path: known for path, known in self._known[key].items() if os.path.exists(path)}
        stored = _Stored(_FORMAT, key, {path: list(known.values()) for path, known in there.items()})
        try:
            data = msgspec.msgpack.encode(stored)
            make_folders(self._folder, private=True)
            # Whoever writes last wins, and both wrote what they saw: there is nothing to lock.
            write_atomic(self._file(key), data, mode=0o600)
            self._prune()
        except (OSError, UnicodeEncodeError):
            # A home that cannot be written, or a path that is not text: the files are read at every start.
            return

    def _prune(self) -> None:
        """Forget folders that nobody has looked into for the longest time."""
        with os.scandir(self._folder) as listed:
            files = [(each.stat().st_mtime_ns, each.path) for each in listed if each.name.endswith(".index")]
        for _, path in sorted(files)[:-_MOST_INDEXES]:
            os.unlink(path)

    def _file(self, key: str) -> str:
        data = key.encode(errors="surrogateescape")
        # The file says whose index it is, so that two folders with one name only lose time.
        return os.path.join(self._folder, f"{crc32(data):08x}-{len(data):x}.index")


def _files(root: Root) -> Iterator[tuple[str, os.stat_result]]:
    """The files below a root, as paths below it; what cannot be listed has none."""
    if root.single:
        yield from _one(root)
        return
    match root.kind:
        case "skills":
            yield from _skill_files(root.path)
        case "commands" | "agents":
            yield from _all_below(root.path, ".md")
        case "output-styles":
            yield from _flat(root.path, ".md")
        case "themes":
            yield from _flat(root.path, ".json")
        case "workflows":
            yield from _flat(root.path, (".js", ".mjs"))


def _one(root: Root) -> Iterator[tuple[str, os.stat_result]]:
    below = "SKILL.md" if root.kind == "skills" and os.path.isdir(root.path) else ""
    status = _status(os.path.join(root.path, below) if below else root.path)
    if status is not None:
        yield below, status


def _skill_files(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    for entry in _listed(folder):
        status = _status(f"{entry.path}/SKILL.md")
        if status is not None:
            yield f"{entry.name}/SKILL.md", status


def _flat(folder: str, ending: str | tuple[str, ...]) -> Iterator[tuple[str, os.stat_result]]:
    for entry in _listed(folder):
        if entry.name.endswith(ending) and (status := _status(entry.path)) is not None:
            yield entry.name, status


def _all_below(folder: str, ending: str) -> Iterator[tuple[str, os.stat_result]]:
    """Links are followed; a folder that was entered by another way is not entered again."""
    waiting = [""]
    entered: set[tuple[int, int]] = set()
    while waiting and len(entered) < _MOST_FOLDERS:
        below = waiting.pop()
        for entry in _listed(os.path.join(folder, below) if below else folder):
            path = f"{below}/{entry.name}" if below else entry.name
            if entry.name.endswith(ending):
                if (status := _status(entry.path)) is not None:
                    yield path, status
            elif (mark := _folder_mark(entry)) is not None and mark not in entered:
                entered.add(mark)
                waiting.append(path)


def _listed(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return [entry for entry in entries if _is_usable(entry.name)][:_MOST_FILES]
    except OSError:
        return []


def _is_usable(name: str) -> bool:
    """Hidden files are left out, and names that are not text, because models and users could not say them."""
    return not name.startswith(".") and (name.isascii() or encodable(name) == name)


def _folder_mark(entry: os.DirEntry[str]) -> tuple[int, int] | None:
    """What tells one folder from another; None for what is no folder."""
    try:
        status = entry.stat() if entry.is_dir() else None
    except OSError:
        return None
    return None if status is None else (status.st_dev, status.st_ino)


def _status(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except OSError:
        return None


def _read_entry(root: Root, path: str, status: os.stat_result) -> Entry:
    file = os.path.join(root.path, path) if path else root.path
    size, mtime = status.st_size, status.st_mtime_ns
    try:
        text = _read(file)
    except OSError as error:
        # A time that no file has: it is tried again at every look.
        return Entry(path, size, -1, {}, fault=f"the file cannot be read: {error.strerror or error}")
    if root.kind == "themes":
        return Entry(path, size, mtime, {})
    if root.kind == "workflows":
        return _script_entry(path, status, text)
    front = read_front(text, file=file)
    keeps = root.kind in _KEEPS_BODY and len(front.body) <= _LONGEST_KEPT_BODY
    fault, line = ("", None) if front.problem is None else (front.problem.message, front.problem.line)
    return Entry(
        path,
        size,
        mtime,
        dict(front.values),
        opening=first_line(front.body),
        body=front.body if keeps else None,
        fault=fault,
        line=line,
    )


def _script_entry(path: str, status: os.stat_result, text: str) -> Entry:
    # Most sessions have no new script to read.
    from bridle.extensions.literals import read_literal

    try:
        meta = read_literal(text)
    except ConfigError as error:
        return Entry(path, status.st_size, status.st_mtime_ns, {}, fault=str(error))
    return Entry(path, status.st_size, status.st_mtime_ns, meta if isinstance(meta, dict) else {})


def _read(path: str) -> str:
    return read_bytes(path, LARGEST_FILE).decode("utf-8", "replace")
