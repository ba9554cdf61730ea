"""Remembers what extension files say about themselves, so that only those are read that have changed.

Each folder has one index file below the user's folder, named after the path of the folder; the folders of all
plugins share one for each kind, because a hundred small files take longer to open than to read. A file counts
as known while its time of change is the same, and a folder is listed again when it has changed.
What follows from all of them together is remembered as well: most looks at the disk find nothing new.
"""

import os
import os.path
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct

from bridle.config.problems import Problem
from bridle.extensions.cache import CachedValue, ExtensionCache, Inputs, Stamps, encoded, settled
from bridle.extensions.folder_listing import Mark, list_files, mark_of
from bridle.extensions.frontmatter import first_line, read_front
from bridle.extensions.roots import Kind, Root
from bridle.host.files import read_bytes
from bridle.types.errors import ConfigError

if TYPE_CHECKING:
    from bridle.extensions.agents import AgentFiles

LARGEST_FILE = 4 * 1024 * 1024
_NAME = "files"

T = TypeVar("T")


class Entry(Struct, frozen=True, array_like=True):
    """A file as the index knows it."""

    path: str
    """Below its root."""
    changed: int
    """When; 0 where it is to be read again."""
    inode: int
    """Tells one file from another of the same moment, where a folder was put in the place of another."""
    values: dict[str, Any]
    """The header."""
    opening: str = ""
    """The first words of the body."""
    fault: str = ""
    line: int | None = None


class Found(Struct, frozen=True, kw_only=True):
    """A file with the root that it was found in."""

    root: Root
    entry: Entry

    @property
    def path(self) -> str:
        return _below(self.root, self.entry.path)

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
        return read_body(self.path)


class _Shelf(Struct, frozen=True, array_like=True):
    """A folder as it was at the last look: what it holds, and what tells that it holds nothing else."""

    folders: dict[str, int]
    """Each folder that was listed, below the root, with the time of its last change; 0 for one to list again
    at every look."""
    entries: list[Entry]
    """By path."""


class Index:
    """The indexes of all folders; what is in memory is checked against the disk at every look."""

    def __init__(self, folder: str) -> None:
        self._cache = ExtensionCache(folder)
        self._concluded: dict[str, tuple[bytes, CachedValue[Any]]] = {}
        """By name: the last conclusion of each kind, with what it depends on besides files."""
        self._known: dict[str, dict[str, _Shelf]] = {}
        """By the key of an index file, then by root."""

    def conclude(
        self, name: str, roots: Sequence[Root], kind: type[T], draw: Callable[[list[Found]], T]
    ) -> T:
        """What `draw` makes of the files below the roots: the same object while none of them changes."""
        key = encoded(roots)
        if key is None:
            return draw(self.look(roots))
        before, last = self._concluded.get(name, (b"", None))
        if last is None or before != key:
            last = self._cache.recall(name, key, kind)
        elif not last.holds():
            last = None
        if last is None:
            conclusion = draw(self.look(roots))
            last = self._cache.keep(name, key, self._inputs(roots), conclusion)
        self._concluded[name] = key, last
        return last.value

    def look(self, roots: Sequence[Root]) -> list[Found]:
        """Every file below the roots, in their order and by name; only new and changed ones are read."""
        stale: set[str] = set()
        found = [Found(root=root, entry=entry) for root in roots for entry in self._look_into(root, stale)]
        for key in stale:
            self._save(key)
        return found

    def _look_into(self, root: Root, stale: set[str]) -> list[Entry]:
        try:
            changed = os.stat(root.path).st_ctime_ns
        except OSError:
            return []  # Most places have nothing.
        key = _key(root)
        shelves = self._known.get(key)
        if shelves is None:
            shelves = self._known[key] = self._load(key)
        shelf = shelves.get(root.path)
        if shelf is not None and _is_listed(root, shelf, changed):
            entries = _glance(root, shelf)
            if entries is not None:
                if entries is not shelf.entries:
                    shelves[root.path] = _Shelf(shelf.folders, entries)
                    stale.add(key)
                return entries
        fresh = _list(root, {} if shelf is None else {entry.path: entry for entry in shelf.entries})
        shelves[root.path] = fresh
        if fresh != shelf and (fresh.entries or shelf is not None):
            stale.add(key)
        return fresh.entries

    def _inputs(self, roots: Sequence[Root]) -> Inputs:
        """What the last look at the roots rests on."""
        return Inputs(
            self._stamps(root for root in roots if not root.edition),
            self._stamps(root for root in roots if root.edition),
        )

    def _stamps(self, roots: Iterable[Root]) -> Stamps:
        changed: dict[str, int] = {}
        absent: list[str] = []
        for root in roots:
            shelf = self._known.get(_key(root), {}).get(root.path)
            if shelf is None or not os.path.exists(root.path):
                absent.append(root.path)
                continue
            changed |= {_below(root, path): when for path, when in shelf.folders.items()}
            changed |= {_below(root, each.path): each.changed for each in shelf.entries}
        return Stamps(changed, tuple(absent))

    def _load(self, key: str) -> dict[str, _Shelf]:
        return self._cache.read(_NAME, _as_bytes(key), dict[str, _Shelf]) or {}

    def _save(self, key: str) -> None:
        there = {path: shelf for path, shelf in self._known[key].items() if os.path.exists(path)}
        self._cache.write(_NAME, _as_bytes(key), there)


def read_body(file: str) -> str:
    """The body of a Markdown file as it is now.

    Raises:
        OSError: the file cannot be read.
    """
    return read_front(_read(file), file=file).body


def _as_bytes(key: str) -> bytes:
    return key.encode(errors="surrogateescape")


def _key(root: Root) -> str:
    return f"{root.kind}\0{'plugins' if root.source == 'plugin' else root.path}"


def _below(root: Root, path: str) -> str:
    return f"{root.path}/{path}" if path else root.path


def _is_listed(root: Root, shelf: _Shelf, changed: int) -> bool:
    """Whether it is known what a root holds; one file or skill may have become a folder of them."""
    if root.single:
        return "" not in shelf.folders and bool(shelf.entries)
    return shelf.folders.get("") == changed


def _glance(root: Root, shelf: _Shelf) -> list[Entry] | None:
    """The files of a root that has got no others, changed ones read; None where it has to be listed."""
    entries: list[Entry] | None = None
    try:
        for below, changed in shelf.folders.items():
            if below and os.stat(_below(root, below)).st_ctime_ns != changed:
                return None
        for number, entry in enumerate(shelf.entries):
            mark = mark_of(_below(root, entry.path))
            if mark != (entry.changed, entry.inode):
                entries = list(shelf.entries) if entries is None else entries
                entries[number] = _read_entry(root, entry.path, mark)
    except OSError:
        return None  # A file or a folder is gone.
    return shelf.entries if entries is None else entries


def _list(root: Root, known: Mapping[str, Entry]) -> _Shelf:
    """What is below a root now; only new and changed files are read."""
    listing = list_files(root)
    entries: list[Entry] = []
    for path, mark in sorted(listing.files.items()):
        entry = known.get(path)
        if entry is None or mark != (entry.changed, entry.inode):
            entry = _read_entry(root, path, mark)
        entries.append(entry)
    return _Shelf(listing.folders, entries)


def _read_entry(root: Root, path: str, mark: Mark) -> Entry:
    """What a file says; its mark was looked at before it was read."""
    file = _below(root, path)
    try:
        text = _read(file)
    except OSError as error:
        return Entry(path, 0, 0, {}, fault=f"the file could not be read: {error.strerror or error}")
    when, inode = settled(mark[0]), mark[1]
    if root.kind == "themes":
        return Entry(path, when, inode, {})
    if root.kind == "workflows":
        return _script_entry(path, (when, inode), text)
    front = read_front(text, file=file)
    fault, line = ("", None) if front.problem is None else (front.problem.message, front.problem.line)
    return Entry(
        path,
        when,
        inode,
        dict(front.values),
        opening=first_line(front.body),
        fault=fault,
        line=line,
    )


def _script_entry(path: str, mark: Mark, text: str) -> Entry:
    # Most sessions have no new script to read.
    from bridle.extensions.literals import read_literal

    try:
        meta = read_literal(text)
    except ConfigError as error:
        return Entry(path, *mark, {}, fault=str(error))
    return Entry(path, *mark, meta if isinstance(meta, dict) else {})


def _read(path: str) -> str:
    return read_bytes(path, LARGEST_FILE).decode("utf-8", "replace")


class ExtensionFiles(Struct, frozen=True, kw_only=True):
    """Where the extension files of a session lie."""

    index: Index
    roots: Callable[[Kind], tuple[Root, ...]]
    """The folders of a kind: the administrator's, the user's, the project's, plugins'."""
    agents: "AgentFiles"
    """The agents in these folders."""
