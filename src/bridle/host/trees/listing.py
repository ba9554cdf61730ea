"""Lists a folder as it lies on disk: every folder in it, and every file whose mode is not the usual one."""

import asyncio
import os
import stat
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Callable, Iterator, Mapping

from msgspec import Struct

from bridle.host.programs import PROGRAMS, find_program


class TreeListing(Struct, frozen=True, kw_only=True):
    """A tree of folders at one moment."""

    folders: Mapping[str, int]
    """The mode of each folder."""
    modes: Mapping[str, int]
    """The mode of each file that has another one than new files get."""
    links: frozenset[str]


def usual_modes() -> tuple[int, int]:
    """The modes that new files get, plain ones and programs."""
    mask = os.umask(0o077)
    os.umask(mask)
    return 0o666 & ~mask, 0o777 & ~mask


async def list_tree(root: str, env: Mapping[str, str], skips: Callable[[str], bool]) -> TreeListing:
    """How a tree lies on disk, found by a program beside this one where there is one."""
    plain, program = usual_modes()
    if (find := find_program("find", env, writable=(root,))) is not None:
        words = (
            root, "-type", "d", "-printf", "d%m %p\\0", "-path", "*/.git/objects", "-prune", "-o",
            "-type", "l", "-printf", "l0 %p\\0", "-o",
            "-type", "f", "!", "-perm", f"{plain:o}", "!", "-perm", f"{program:o}", "-printf", "f%m %p\\0",
        )  # fmt: skip
        process = await asyncio.create_subprocess_exec(
            find, *words, env=PROGRAMS.environment(env), stdin=DEVNULL, stdout=PIPE, stderr=DEVNULL
        )
        printed, _ = await process.communicate()
        if printed:
            return _read(os.fsdecode(printed), skips)
    return await asyncio.to_thread(_walk, root, skips, (plain, program))


def _read(printed: str, skips: Callable[[str], bool]) -> TreeListing:
    folders: dict[str, int] = {}
    modes: dict[str, int] = {}
    links: set[str] = set()
    for item in printed.split("\0"):
        head, _, path = item.partition(" ")
        match head[:1]:
            case "d" if not skips(path):
                folders[path] = int(head[1:], 8)
            case "f":
                modes[path] = int(head[1:], 8)
            case "l":
                links.add(path)
            case _:
                pass
    return TreeListing(folders=folders, modes=modes, links=frozenset(links))


def _walk(root: str, skips: Callable[[str], bool], usual: tuple[int, int]) -> TreeListing:
    folders: dict[str, int] = {root: stat.S_IMODE(os.lstat(root).st_mode)}
    modes: dict[str, int] = {}
    links: set[str] = set()
    for entry in walk(root, skips):
        mode = entry.stat(follow_symlinks=False).st_mode
        if stat.S_ISDIR(mode):
            folders[entry.path] = stat.S_IMODE(mode)
        elif stat.S_ISLNK(mode):
            links.add(entry.path)
        elif stat.S_IMODE(mode) not in usual:
            modes[entry.path] = stat.S_IMODE(mode)
    return TreeListing(folders=folders, modes=modes, links=frozenset(links))


def walk(folder: str, skips: Callable[[str], bool]) -> Iterator["os.DirEntry[str]"]:
    """Everything below a folder; what cannot be entered is left out."""
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    for entry in entries:
        is_folder = entry.is_dir(follow_symlinks=False)
        if is_folder and skips(entry.path):
            continue
        yield entry
        if is_folder:
            yield from walk(entry.path, skips)
