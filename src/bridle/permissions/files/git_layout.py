"""The repositories that git would find from a folder, found as git does it, without starting anything."""

import os
import os.path
import stat
from functools import lru_cache

from msgspec import Struct

_LINE = 4096
_GITLINK = 0o160000
_LARGEST_INDEX = 64 * 1024 * 1024


class Repository(Struct, frozen=True):
    """One folder that git could take for a repository."""

    git_dir: str
    common: str
    """Where its configuration is; the same folder except in a further work tree."""
    top: str
    """The folder in which it was found."""
    bare: bool
    """It was found without a `.git`: the folder itself is laid out as a repository."""

    @property
    def guarded(self) -> bool:
        """Whether its files are protected by their place."""
        return all(map(_in_git, {self.git_dir, self.common}))


def discover(folder: str) -> list[Repository]:
    """Every repository that git may settle on from a folder; where git would be certain, the last is it."""
    found: list[Repository] = []
    directory = os.path.realpath(folder)
    while True:
        for repository in _at(directory):
            found.append(repository)
            if _is_whole(repository):
                return found
        above = os.path.dirname(directory)
        if above == directory:
            return found
        directory = above


def found_at(directory: str) -> Repository | None:
    """The repository that a `.git` in this folder stands for."""
    path = os.path.join(directory, ".git")
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return None
    if stat.S_ISDIR(mode):
        return _repository(path, directory, bare=False)
    pointer = first_line(path)
    if not pointer.startswith("gitdir:"):
        return None
    aim = os.path.join(directory, pointer.removeprefix("gitdir:").strip())
    return _repository(aim, directory, bare=False)


def tracked(repository: Repository) -> tuple[tuple[bool, str], ...] | None:
    """The names in the index, each with whether it is a repository of its own; None if not understood."""
    path = os.path.join(repository.git_dir, "index")
    try:
        about = os.stat(path)
    except OSError:
        return ()
    if about.st_size > _LARGEST_INDEX or not stat.S_ISREG(about.st_mode):
        return None
    return _index(path, about.st_mtime_ns, about.st_size, about.st_ino)


def first_line(path: str) -> str:
    """The first line of a small file; empty for anything else, and a pipe does not block."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
        data = os.read(descriptor, _LINE) if is_file else b""
    finally:
        os.close(descriptor)
    return os.fsdecode(data.partition(b"\n")[0]).rstrip("\r")


def _in_git(path: str) -> bool:
    """Whether a folder is a `.git`, or lies in one, where it really is."""
    if os.path.basename(path).casefold() == ".git" and not os.path.islink(path):
        return True
    return ".git" in os.path.realpath(path).casefold().split("/")


def _at(directory: str) -> list[Repository]:
    found: list[Repository] = []
    if (inner := found_at(directory)) is not None:
        found.append(inner)
    if os.path.lexists(os.path.join(directory, "HEAD")):
        bare = _repository(directory, directory, bare=True)
        parts = (os.path.join(bare.common, name) for name in ("objects", "refs"))
        if bare.common != bare.git_dir or any(map(os.path.lexists, parts)):
            found.append(bare)
    return found


def _repository(git_dir: str, top: str, *, bare: bool) -> Repository:
    git_dir = os.path.normpath(git_dir)
    shared = first_line(os.path.join(git_dir, "commondir"))
    common = os.path.normpath(os.path.join(git_dir, shared)) if shared else git_dir
    return Repository(git_dir, common, top, bare)


def _is_whole(repository: Repository) -> bool:
    """Whether git would look no further: a pointer that leads nowhere ends its search, too."""
    if not repository.bare and not os.path.isdir(os.path.join(repository.top, ".git")):
        return True
    return os.path.lexists(os.path.join(repository.git_dir, "HEAD")) and all(
        os.path.isdir(os.path.join(repository.common, name)) for name in ("objects", "refs")
    )


@lru_cache(maxsize=8)
def _index(path: str, modified: int, size: int, inode: int) -> tuple[tuple[bool, str], ...] | None:
    """Read an index in one of the formats with whole names."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError:
        return None
    version, count = int.from_bytes(data[4:8], "big"), int.from_bytes(data[8:12], "big")
    if data[:4] != b"DIRC" or version not in (2, 3) or count > len(data) // 62:
        return None
    names: list[tuple[bool, str]] = []
    at = 12
    for _ in range(count):
        mode = int.from_bytes(data[at + 24 : at + 28], "big")
        extended = version == 3 and int.from_bytes(data[at + 60 : at + 61], "big") & 0x40
        start = at + (64 if extended else 62)
        end = data.find(b"\0", start)
        if end < 0:
            return None
        names.append((mode == _GITLINK, os.fsdecode(data[start:end])))
        at += (end - at + 8) // 8 * 8
    return tuple(names)
