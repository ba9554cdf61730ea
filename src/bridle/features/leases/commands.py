"""What shell commands change: read from their text before they run, and from the work folder afterwards."""

import asyncio
import os
import re
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager

from msgspec import Struct

from bridle.host.git.changes import WorkTreeState, standing
from bridle.host.leases import Lease
from bridle.types.shell import Part, Reading

_MOST_NAMED = 50
_MOST_SEEN = 200
_MOST_SHOWN = 3
_TAKES_AWAY = re.compile(r"(?:\S*/)?(?:rm|mv)(?:\s|$)")

_Stamp = tuple[int, ...] | None


class NamedPaths(Struct, frozen=True):
    """What a command says that it changes."""

    files: tuple[str, ...]
    folders: tuple[str, ...]
    """Folders that it takes away with all that is in them."""


class FolderSnapshot(Struct, frozen=True, kw_only=True):
    """The files of a work folder before a command."""

    folder: str
    env: Mapping[str, str]
    stamps: Mapping[str, _Stamp]
    tree: WorkTreeState | None

    async def changed(self) -> list[str]:
        """Files below the folder that have been changed, made or removed since."""
        now = await asyncio.to_thread(_stamps, self.stamps)
        found = [path for path, stamp in self.stamps.items() if now[path] != stamp]
        if self.tree is not None:
            found += await self._newly_dirty(self.tree)
        inside = self.folder.rstrip("/") + "/"
        return [path for path in found if path.startswith(inside)][:_MOST_SEEN]

    async def _newly_dirty(self, then: WorkTreeState) -> list[str]:
        now = await standing(self.folder, self.env)
        # Where another commit is checked out now, git cannot tell the command's changes from its own.
        if now is None or now.head != then.head:
            return []
        return sorted({*now.dirty, *now.untracked} - {*self.stamps})


class Run:
    """A command that is being watched."""

    def __init__(self) -> None:
        self.overlapped = False
        """Another one ran at the same time, so a change may be the work of either."""


class Runs:
    """The commands of all threads of a process that are being watched."""

    def __init__(self) -> None:
        self._going: dict[str, set[Run]] = {}

    @contextmanager
    def one(self, folder: str) -> Generator[Run]:
        """While a command runs in a folder."""
        run, going = Run(), self._going.setdefault(folder, set())
        for other in going:
            other.overlapped = run.overlapped = True
        going.add(run)
        try:
            yield run
        finally:
            going.discard(run)


def named(reading: Reading) -> NamedPaths:
    """The files that a command's words and redirections name for writing."""
    files: dict[str, None] = {}
    folders: dict[str, None] = {}
    for part in reading.parts:
        for path in part.writes:
            if not os.path.isdir(path):
                files |= {} if _is_instead(path, part) else {path: None}
            elif not _is_target(path, part) and any(map(_TAKES_AWAY.match, part.deny_forms)):
                folders[path] = None
    return NamedPaths(tuple(files)[:_MOST_NAMED], tuple(folders)[:_MOST_NAMED])


async def look(folder: str, env: Mapping[str, str], paths: Iterable[str]) -> FolderSnapshot:
    """See these files, and those that git says have changed already, as they are now."""
    tree = await standing(folder, env)
    listed = dict.fromkeys(map(os.path.realpath, paths))
    if tree is not None:
        listed |= dict.fromkeys((*tree.dirty, *sorted(tree.untracked)))
    return FolderSnapshot(folder=folder, env=env, stamps=await asyncio.to_thread(_stamps, listed), tree=tree)


def shown(conflicts: Iterable[Lease]) -> str:
    """The names of files in a few words."""
    names = [held.what for held in conflicts]
    more = f" and {len(names) - _MOST_SHOWN} more" if len(names) > _MOST_SHOWN else ""
    return ", ".join(names[:_MOST_SHOWN]) + more


def _is_target(folder: str, part: Part) -> bool:
    """Whether files only go into a folder: copies and moves name it beside what they put there."""
    return any(os.path.dirname(path) == folder for path in part.writes)


def _is_instead(path: str, part: Part) -> bool:
    """Whether a path would only be written if its parent, which is written too, were a folder."""
    parent = os.path.dirname(path)
    return parent in part.writes and not os.path.isdir(parent)


def _stamps(paths: Iterable[str]) -> dict[str, _Stamp]:
    return {path: _stamp(path) for path in paths}


def _stamp(path: str) -> _Stamp:
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
