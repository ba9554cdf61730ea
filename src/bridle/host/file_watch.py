"""Notices that files have changed, by looking at them now and then."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterable

Stamp = tuple[int, int, int] | None
"""When a file was last written, its size and which file it is; None when there is no file."""

INTERVAL = 1.0
SETTLE = 0.1


def stamps(paths: Iterable[str]) -> dict[str, Stamp]:
    """How each path stands now; links are followed."""
    return {path: _stamp(path) for path in paths}


async def next_change(
    known: dict[str, Stamp],
    *,
    interval: float = INTERVAL,
    settle: float = SETTLE,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> dict[str, Stamp]:
    """Wait until the files differ from `known` and have stopped changing; gives how they stand then."""
    current = known
    while current == known:
        await sleep(interval)
        current = stamps(known)
        # Another process may be in the middle of writing: half a file is worth nothing.
        previous = known
        while current not in (known, previous):
            await sleep(settle)
            previous, current = current, stamps(known)
    return current


def _stamp(path: str) -> Stamp:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return (status.st_mtime_ns, status.st_size, status.st_ino)
