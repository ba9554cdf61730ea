"""Watches what a task takes of its machine, so that one cannot take it from the others."""

import asyncio
import os
from collections.abc import Iterator

from bridle.frontends.fleet.workspace import AttemptError

_LOOK_SECONDS = 0.5
_CLOSE_LOOK = 20
"""After so many looks the folder is measured even if the disk does not fill up."""


async def watch(folder: str, *, processes: int, disk: int) -> None:
    """Look at the processes of this one and at a folder until one is over its limit.

    Raises:
        AttemptError: the task has too many processes, or has written too much.
    """
    before, free, looks = _processes(), _free(folder), 0
    while True:
        await asyncio.sleep(_LOOK_SECONDS)
        looks += 1
        # Counting all processes is cheap; only when they are many it matters whose they are.
        if _processes() - before > processes // 2:
            own = await asyncio.to_thread(_descendants, os.getpid())
            if own > processes:
                raise AttemptError("limits", f"the task started more than {processes} processes")
        if free - _free(folder) > disk // 2 or looks % _CLOSE_LOOK == 0:
            size = await asyncio.to_thread(_size, folder, disk)
            if size > disk:
                raise AttemptError("limits", f"the task wrote more than {disk // 1024**2:,} MB")


def _processes() -> int:
    try:
        return len(os.listdir("/proc"))
    except OSError:
        return 0


def _free(folder: str) -> int:
    try:
        found = os.statvfs(folder)
    except OSError:
        return 0
    return found.f_bavail * found.f_frsize


def _descendants(root: int) -> int:
    """How many processes have this one above them."""
    parents = dict(_parents())
    own = {root}
    for process in parents:
        trail: list[int] = []
        at = process
        while at in parents and at not in own and at not in trail:
            trail.append(at)
            at = parents[at]
        if at in own:
            own.update(trail)
    return len(own) - 1


def _parents() -> Iterator[tuple[int, int]]:
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", encoding="ascii", errors="replace") as file:
                    yield int(name), int(file.read().rpartition(")")[2].split()[1])
            except (OSError, IndexError):
                continue  # It has just ended.


def _size(folder: str, most: int) -> int:
    """The bytes that a folder takes, counted until it is clear that they are too many."""
    total, waiting = 0, [folder]
    while waiting and total <= most:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    else:
                        total += entry.stat(follow_symlinks=False).st_blocks * 512
        except OSError:
            continue  # It was removed meanwhile, or closed by the task.
    return total
