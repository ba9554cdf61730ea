"""How the working folders stood at the first prompt, and which of their files have changed since.

Contents are not copied where git has them: the index says which object a clean file is. What git does not
know is kept beside the transcript, small files as copies and large ones without reading them.
"""

import asyncio
import os
import stat
import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct

from bridle.host.files import copy_quickly, make_folders
from bridle.host.git.changes import TreeFiles, tree_files
from bridle.host.git.index_file import IndexFile, Tracked
from bridle.host.trees.listing import TreeListing, list_tree, usual_modes, walk
from bridle.host.trees.watch import TreeWatch
from bridle.transcripts.files.backups import (
    FOLDER,
    LINK,
    TICK_NS,
    UNKEPT,
    Backup,
    BackupFolder,
    object_name,
    stamp_of,
)

_SMALL = 64 * 1024
_MOST_COPIES = 48 * 1024 * 1024
_MOST_FILES = 100_000
_OBJECTS = ("/.git/objects", "/.git/lfs")
_INDEX = "index@v1"


class Events(Struct, frozen=True):
    """What the kernel has reported."""

    paths: set[str]
    moved: set[str]
    """Folders that went away with all that was in them."""
    lost: bool


class Tree:
    """The working folders of one session."""

    def __init__(
        self, roots: Sequence[str], folder: BackupFolder, env: Mapping[str, str], say: Callable[[str], None]
    ) -> None:
        every = tuple(dict.fromkeys(os.path.realpath(root) for root in roots))
        self.roots = tuple(root for root in every if not _is_wide(root, env))
        self._is_wide = self.roots != every
        self._folder = folder
        self._env = env
        self._say = say
        self._known: dict[str, Backup] = {}
        """What is there, or is known not to be, by path: all that git could not bring back."""
        self._modes: dict[str, int] = {}
        self._indexes: dict[str, str] = {}
        """The copy of the index of each repository by its folder."""
        self._opened: list[IndexFile] | None = None
        self._watch: TreeWatch | None = None
        self._kept = 0
        self._copied = 0
        self._unkept = 0
        self._usual = usual_modes()

    async def take(self) -> None:
        """Look at everything once, and follow what changes from now on."""
        if self._is_wide:
            self._say("A home folder is too wide to keep: /rewind restores files there that tools edit.")
        if not self.roots:
            return
        try:
            self._watch = TreeWatch(self._skips)
            self._watch.follow()
        except OSError:
            self._watch = None  # Then everything is looked at again where changes matter.
        for root in self.roots:
            listing, files = await asyncio.gather(
                list_tree(root, self._env, self._skips), tree_files(root, self._env)
            )
            self._follow(listing)
            await asyncio.to_thread(self._keep, root, listing, files)
        if self._unkept:
            self._say(
                f"{self._unkept:,} untracked files are too many or too large to keep: /rewind leaves them as "
                "they are."
            )

    def events(self) -> "Events | None":
        """What has been reported since the last time; None where nothing is watched."""
        return None if self._watch is None else Events(*self._watch.take())

    def changed(self, events: "Events | None") -> set[str]:
        """The paths that something has happened to."""
        if not self.roots:
            return set()
        if events is None or events.lost:
            return self._compared() | (set[str]() if events is None else events.paths)
        found = set(events.paths)
        if events.moved:
            gone = tuple(f"{each}/" for each in events.moved)
            found |= {path for path in self._every() if path.startswith(gone)}
        return {path for path in found if not self._skips(path) and path not in self.roots}

    def was(self, path: str) -> Backup:
        """What was at a path, as far as is known."""
        if (known := self._known.get(path)) is not None:
            return known
        found = (tracked for index in self._index() if (tracked := index.find(path)) is not None)
        if (tracked := next(found, None)) is not None:
            mode = self._modes.get(path, self._usual[tracked.program])
            return Backup(name=object_name(tracked.object), mode=mode, size=tracked.size)
        return Backup(name=None)

    def note(self, path: str) -> None:
        """What is at a path now is what was there."""
        self._known[path] = self.look(path)

    def look(self, path: str) -> Backup:
        """What is at a path now, kept."""
        try:
            status = os.lstat(path)
        except OSError:
            return Backup(name=None)
        mode = stat.S_IMODE(status.st_mode)
        if stat.S_ISDIR(status.st_mode):
            return Backup(name=FOLDER, mode=mode)
        if stat.S_ISLNK(status.st_mode):
            return Backup(name=LINK, link=os.readlink(path))
        name = self._copy(path, status) if stat.S_ISREG(status.st_mode) else None
        # What was written a moment ago can be written again and keep its time: clocks of file systems tick.
        settled = time.time_ns() - status.st_mtime_ns > TICK_NS
        return Backup(name=name or UNKEPT, mode=mode, stamp=stamp_of(status) if settled else None)

    def close(self) -> None:
        if self._watch is not None:
            self._watch.close()
            self._watch = None

    def _follow(self, listing: TreeListing) -> None:
        if self._watch is None:
            return
        try:
            self._watch.add(listing.folders)
        except OSError:
            self._watch.close()
            self._watch = None
            self._say(
                "There are more folders than can be watched (fs.inotify.max_user_watches): steps take longer."
            )

    def _keep(self, root: str, listing: TreeListing, files: TreeFiles | None) -> None:
        self._modes.update(listing.modes)
        for path, mode in listing.folders.items():
            self._known[path] = Backup(name=FOLDER, mode=mode)
        for path in listing.links:
            self.note(path)
        if files is None or not self._keep_index(files):
            self._keep_all(
                entry.path for entry in walk(root, self._skips) if entry.is_file(follow_symlinks=False)
            )
            return
        nested = [path for path in files.others if path.endswith("/")]
        self._keep_all(path for path in files.others if not path.endswith("/"))
        for folder in nested:
            self._keep_all(
                each.path
                for each in walk(folder.rstrip("/"), self._skips)
                if each.is_file(follow_symlinks=False)
            )
        self._keep_all(files.dirty)
        own = os.path.join(files.root, ".git")
        if os.path.isdir(own) and own.startswith(f"{root}/"):
            self._keep_all(
                each.path for each in walk(own, self._skips) if each.is_file(follow_symlinks=False)
            )

    def _keep_index(self, files: TreeFiles) -> bool:
        """Put the index aside; False where it cannot be used."""
        try:
            make_folders(self._folder.path, private=True)
            name = self._folder.keep_file(files.index, os.lstat(files.index))
            if name is None:
                name = f"{len(self._indexes)}-{_INDEX}"
                copy_quickly(files.index, os.path.join(self._folder.path, name))
        except OSError:
            return False
        self._indexes[files.root] = os.path.join(self._folder.path, name)
        return True

    def _index(self) -> list[IndexFile]:
        if self._opened is None:
            self._opened = []
            for root, place in self._indexes.items():
                try:
                    self._opened.append(IndexFile(place, root))
                except (OSError, ValueError):
                    self._say(
                        "The index of the repository cannot be read: /rewind knows untracked files only."
                    )
        return self._opened

    def _every_tracked(self) -> dict[str, Tracked]:
        return {path: tracked for index in self._index() for path, tracked in index.every().items()}

    def _keep_all(self, paths: Iterable[str]) -> None:
        for path in paths:
            if self._kept >= _MOST_FILES:
                self._known[path] = Backup(name=UNKEPT)
                self._unkept += 1
                continue
            self._kept += 1
            self.note(path)
            self._unkept += self._known[path].is_lost

    def _copy(self, path: str, status: os.stat_result) -> str | None:
        try:
            if status.st_size > _SMALL or self._copied + status.st_size > _MOST_COPIES:
                linked = self._folder.keep_file(path, status)
                if linked is not None:
                    return linked
            if status.st_size > _MOST_COPIES:
                return None
            file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            with open(file, "rb") as opened:
                data = opened.read(_MOST_COPIES + 1)
            self._copied += len(data)
            return self._folder.keep(data)
        except OSError:
            return None  # Not ours to read, or the disk is full: it is counted.

    def _skips(self, path: str) -> bool:
        return path.endswith(_OBJECTS) or any(f"{each}/" in path for each in _OBJECTS)

    def _every(self) -> set[str]:
        return {*self._known, *self._every_tracked()}

    def _compared(self) -> set[str]:
        """What differs from how it is known, by a look at everything."""
        index = self._every_tracked()
        found: set[str] = set()
        there: set[str] = set()
        for root in self.roots:
            for entry in walk(root, self._skips):
                there.add(entry.path)
                if self._differs(entry, index.get(entry.path)):
                    found.add(entry.path)
        gone = {path for path in self._every() if path not in there and path not in self.roots}
        return found | {path for path in gone if self.was(path).name is not None}

    def _differs(self, entry: "os.DirEntry[str]", tracked: Tracked | None) -> bool:
        status = entry.stat(follow_symlinks=False)
        known = self._known.get(entry.path)
        if known is None:
            mode = stat.S_IMODE(status.st_mode)
            same = tracked is not None and (status.st_size, status.st_mtime_ns) == (
                tracked.size,
                tracked.mtime_ns,
            )
            return (
                not same
                or tracked is None
                or mode != self._modes.get(entry.path, self._usual[tracked.program])
            )
        if known.is_folder or known.link is not None or known.stamp is None:
            return not known.is_folder or stat.S_IMODE(status.st_mode) != known.mode
        return known.stamp != stamp_of(status) or known.mode != stat.S_IMODE(status.st_mode)


def _is_wide(root: str, env: Mapping[str, str]) -> bool:
    """Whether a folder is that of a user, or holds it."""
    home = os.path.realpath(env.get("HOME") or os.path.expanduser("~"))
    return root == home or home.startswith(f"{root.rstrip('/')}/")
