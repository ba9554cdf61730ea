"""Lists the folders of extension files, and notes what tells when they have to be listed again."""

import os
import os.path
from collections.abc import Callable

from bridle.extensions.cache import settled
from bridle.extensions.roots import Kind, Root
from bridle.types.text import encodable

_MOST_FILES = 5_000
_MOST_FOLDERS = 2_000


Mark = tuple[int, int]
"""When a file last changed, and its inode."""


class Listing:
    """What is found while folders are listed."""

    def __init__(self) -> None:
        self.files: dict[str, Mark] = {}
        self.folders: dict[str, int] = {}
        """When each last changed; 0 for one that has to be listed again every time."""

    def enter(self, folder: str, below: str) -> list[os.DirEntry[str]]:
        """What a folder holds."""
        try:
            # Before it is listed, so that what comes meanwhile is noticed the next time.
            self.folders[below] = settled(os.stat(folder).st_ctime_ns)
            with os.scandir(folder) as entries:
                return [entry for entry in entries if _is_usable(entry.name)][:_MOST_FILES]
        except OSError:
            self.folders[below] = 0
            return []

    def add(self, file: str, path: str, below: str) -> None:
        """A file that a folder names; one whose link leads nowhere may come without the folder telling."""
        try:
            self.files[path] = mark_of(file)
        except OSError:
            self.folders[below] = 0


def list_files(root: Root) -> Listing:
    """What is below a root; what cannot be listed holds nothing."""
    listing = Listing()
    if root.single:
        _list_one(root, listing)
    else:
        _LISTERS[root.kind](root.path, listing)
    return listing


def _list_one(root: Root, listing: Listing) -> None:
    below = "SKILL.md" if root.kind == "skills" and os.path.isdir(root.path) else ""
    listing.add(os.path.join(root.path, below) if below else root.path, below, "")


def _list_skills(folder: str, listing: Listing) -> None:
    for entry in listing.enter(folder, ""):
        try:
            listing.files[f"{entry.name}/SKILL.md"] = mark_of(f"{entry.path}/SKILL.md")
        except OSError:
            _note_no_skill(entry, listing)


def _note_no_skill(entry: os.DirEntry[str], listing: Listing) -> None:
    """It may become a skill, and the folder around it will not tell."""
    try:
        changed = mark_of(entry.path)[0] if entry.is_dir() else None
    except OSError:
        changed = 0
    if changed is not None:
        dangling = os.path.lexists(f"{entry.path}/SKILL.md")
        listing.folders[entry.name] = 0 if dangling else settled(changed)
    elif entry.is_symlink():
        listing.folders[""] = 0


def _flat(ending: str | tuple[str, ...]) -> Callable[[str, Listing], None]:
    def lists(folder: str, listing: Listing) -> None:
        for entry in listing.enter(folder, ""):
            if entry.name.endswith(ending):
                listing.add(entry.path, entry.name, "")

    return lists


def _all_below(folder: str, listing: Listing) -> None:
    """Links are followed; a folder that was entered by another way is not entered again."""
    waiting = [""]
    try:
        entered = {_mark(os.stat(folder))}
    except OSError:
        entered = set[tuple[int, int]]()
    while waiting and len(entered) < _MOST_FOLDERS:
        below = waiting.pop()
        for entry in listing.enter(os.path.join(folder, below) if below else folder, below):
            path = f"{below}/{entry.name}" if below else entry.name
            if entry.name.endswith(".md"):
                listing.add(entry.path, path, below)
            elif (mark := _folder_mark(entry)) is not None and mark not in entered:
                entered.add(mark)
                waiting.append(path)
            elif mark is None and entry.is_symlink():
                listing.folders[below] = 0


_LISTERS: dict[Kind, Callable[[str, Listing], None]] = {
    "skills": _list_skills,
    "commands": _all_below,
    "agents": _all_below,
    "output-styles": _flat(".md"),
    "themes": _flat(".json"),
    "workflows": _flat((".js", ".mjs")),
}


def _is_usable(name: str) -> bool:
    """Hidden files are left out, and names that are not text, because models and users could not say them."""
    if name.startswith("."):
        return False
    # Spaces of some languages and parts of emoji are not printable either, and are text all the same.
    return name.isprintable() or (encodable(name) == name and not any(map(_is_control, name)))


def _is_control(character: str) -> bool:
    return character < " " or "\x7f" <= character < "\xa0"


def _folder_mark(entry: os.DirEntry[str]) -> tuple[int, int] | None:
    """What tells one folder from another; None for what is no folder."""
    try:
        return _mark(entry.stat()) if entry.is_dir() else None
    except OSError:
        return None  # A link that leads through a file, or in a circle.


def _mark(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def mark_of(path: str) -> Mark:
    """What a file has while it is the same.

    Raises:
        OSError: it is not there.
    """
    status = os.stat(path)
    return status.st_ctime_ns, status.st_ino
