"""Finds what must stay as it is inside the folders that commands may write to."""

import os
import os.path
import stat
from collections import deque
from collections.abc import Iterator

from msgspec import Struct

from bridle.host.sandbox.policy import FILES, FILES_WHEN_PRESENT, FOLDERS, PACKAGES, WORKTREES, is_within

DEEPEST = 4
"""Folders; where nothing can be removed or made unseen, mounts need not reach further."""
_MOST_FOLDERS = 2_000
_MOST_GUARDS = 400
_ANY_CASE = frozenset(name.casefold() for name in (*FOLDERS, *FILES, *FILES_WHEN_PRESENT))


class Guard(Struct, frozen=True, order=True):
    """A path that may not be written, made, moved or replaced."""

    path: str
    present: bool
    folder: bool
    link: bool = False


def guards_in(root: str, *, never: tuple[str, ...], deep: tuple[str, ...]) -> tuple[Guard, ...]:
    """Everything protected in a writable folder: what is missing at its top, and what `deep_in` found."""
    found: dict[str, Guard] = {}
    for path in deep:
        guard = _guard(path, folder=False)
        if guard.present:
            found[path] = guard
    for name in FOLDERS:
        _add(found, root, os.path.join(root, name), folder=True)
    for name in FILES:
        _add(found, root, os.path.join(root, name), folder=False)
    for path in never:
        if is_within(path, root) and path != root:
            _add(found, root, path, folder=True)
    return tuple(sorted(found.values()))


def deep_in(root: str, *, deepest: int | None = DEEPEST) -> tuple[str, ...]:
    """Protected paths that exist in a folder and not too deep below it."""
    return tuple(_present(root, deepest))


def worktrees_in(root: str) -> str | None:
    """The folder of worktrees, if there is one."""
    path = os.path.join(root, WORKTREES)
    return path if os.path.isdir(path) and os.path.realpath(path) == path else None


def _add(found: dict[str, Guard], root: str, path: str, *, folder: bool) -> None:
    """Guard a path, or the first folder on the way to it that does not exist."""
    place = root
    parts = path[len(root) :].strip("/").split("/")
    for index, part in enumerate(parts):
        place = os.path.join(place, part)
        last = index == len(parts) - 1
        if last or not os.path.isdir(place) or os.path.islink(place):
            found.setdefault(place, _guard(place, folder=folder or not last))
            return


def _guard(path: str, *, folder: bool) -> Guard:
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return Guard(path, present=False, folder=folder)
    if stat.S_ISSOCK(mode):
        # No program keeps its settings in a socket: this one stands in for a file that does not exist.
        return Guard(path, present=False, folder=False)
    return Guard(path, present=True, folder=stat.S_ISDIR(mode), link=stat.S_ISLNK(mode))


def _present(root: str, deepest: int | None) -> Iterator[str]:
    waiting = deque([(root, 1)])
    searched = given = 0
    while waiting and searched < _MOST_FOLDERS:
        folder, depth = waiting.popleft()
        searched += 1
        try:
            entries = list(os.scandir(folder))
        except OSError:
            continue  # What cannot be listed by us cannot be written by what we start.
        for entry in entries:
            name = entry.name.casefold()
            if name in _ANY_CASE or (name == "git" and os.path.basename(folder).casefold() == ".config"):
                yield entry.path
                given += 1
                if given >= _MOST_GUARDS:
                    return
            elif deepest is not None and depth >= deepest:
                continue
            elif name not in PACKAGES and entry.is_dir(follow_symlinks=False):
                waiting.append((entry.path, depth + 1))
