"""Rules of the kernel for places of which some files are closed."""

import os
import os.path
from collections.abc import Iterable, Iterator, Mapping

from bridle.host.wall.landlock import SEE

_READ = SEE & ~(1 << 3)
_MOST_PLACES = 5_000


def without(places: Mapping[str, int], closed: Iterable[str]) -> tuple[dict[str, int], object] | None:
    """The places with rights to everything in them but the closed paths, and which files those are.

    None when they are too many.

    The kernel knows no exceptions below a folder: instead, all that stands beside a closed path is named.
    Folders are listed all the same.
    """
    kept, files = dict(places), list[tuple[str, int]]()
    for path in closed:
        for place in [each for each in kept if _within(path, each) and kept[each] & _READ]:
            rights = kept[place]
            kept[place] = rights & ~_READ
            for beside in _beside(place, path):
                kept[beside.path] = kept.get(beside.path, 0) | (rights & SEE)
                files.append((beside.path, beside.inode()))
        if len(kept) > len(places) + _MOST_PLACES:
            return None
    return kept, tuple(files)


def _beside(place: str, path: str) -> Iterator[os.DirEntry[str]]:
    """Everything in the folders on the way from a place to a path, but for the way."""
    folder, names = place, [name for name in path.removeprefix(place.rstrip("/")).split("/") if name]
    for name in names:
        try:
            entries = list(os.scandir(folder))
        except OSError:
            return
        yield from (entry for entry in entries if entry.name != name and not entry.is_symlink())
        folder = os.path.join(folder, name)


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
