"""Watches files for hooks that want to know when they change."""

import asyncio
import os.path
from collections.abc import Awaitable, Callable, Iterable
from typing import Literal

from bridle.hooks.table import Entry
from bridle.host.file_watch import INTERVAL, Stamp, stamps

Change = Literal["change", "add", "unlink"]
_MOST_PATHS = 500


class FileWatch:
    """Looks at some files now and then; closed with the session.

    `tell` is awaited for each change, one after another.
    """

    def __init__(self, tell: Callable[[str, Change], Awaitable[None]], *, interval: float = INTERVAL) -> None:
        self._tell = tell
        self._interval = interval
        self._known: dict[str, Stamp] = {}
        self._task: asyncio.Task[None] | None = None

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(self._known)

    def watch(self, paths: Iterable[str]) -> None:
        """Watch exactly these files from now on; what is known of those watched already is kept."""
        wanted = tuple(dict.fromkeys(paths))[:_MOST_PATHS]
        fresh = stamps(path for path in wanted if path not in self._known)
        self._known = {path: self._known.get(path, fresh.get(path)) for path in wanted}
        if self._known and self._task is None:
            self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(self._interval)
            for path, now in stamps(self._known).items():
                before = self._known.get(path)
                if now != before and path in self._known:
                    self._known[path] = now
                    await self._tell(path, _kind(before, now))


def named_by(entries: Iterable[Entry], folder: str) -> list[str]:
    """The files that matchers of FileChanged hooks name; they lie in the session's folder."""
    names = sorted({name for entry in entries for name in _names(entry.matcher_text)})
    return [os.path.join(folder, name) for name in names]


def _names(matcher: str | None) -> list[str]:
    words = (word.strip() for word in (matcher or "").split("|"))
    # A word with a wildcard or another sign of an expression names no file.
    return [word for word in words if word and not set(word) & set("*?+()[]{}^$\\")]


def _kind(before: Stamp, now: Stamp) -> Change:
    if before is None:
        return "add"
    return "unlink" if now is None else "change"
