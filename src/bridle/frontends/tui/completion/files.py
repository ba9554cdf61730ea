"""The files of a project, listed in the background and searched with every key."""

import asyncio
import os
import os.path
import time
from collections.abc import Callable, Mapping, Sequence

from bridle.frontends.tui.completion.candidates import Candidates, Hit
from bridle.host.file_watch import Stamp, stamps
from bridle.host.process import run
from bridle.host.ripgrep import search_command, search_environment

_OPTIONS = ("--files", "--null", "--hidden", "--no-messages", "--glob", "!.git")
_SECONDS = 20.0
_MOST_BYTES = 64 * 1024 * 1024
_MOST_FILES = 300_000
_STALE = 30.0
"""New files in old folders leave no trace that is cheap to see, so a list does not live longer."""


class FileIndex:
    """The files below a folder, with the folders that hold them; `ignored_too` lists what git ignores."""

    def __init__(
        self,
        root: str,
        env: Mapping[str, str],
        *,
        clock: Callable[[], float] = time.monotonic,
        ignored_too: bool = False,
    ) -> None:
        self.root = root
        self._options = (*_OPTIONS, "--no-ignore") if ignored_too else _OPTIONS
        self._env = env
        self._clock = clock
        self._candidates = Candidates(())
        self._stamps: dict[str, Stamp] | None = None
        self._listed_at = 0.0
        self._lock = asyncio.Lock()

    def __len__(self) -> int:
        return len(self._candidates)

    async def refresh(self, *, force: bool = False) -> bool:
        """List the files again if they may have changed; says whether it did.

        Searches use the old list meanwhile.

        Raises:
            OSError: the folder cannot be read.
        """
        async with self._lock:
            now = stamps(self._watched())
            is_fresh = now == self._stamps and self._clock() - self._listed_at < _STALE
            if is_fresh and not force:
                return False
            listed = await run(
                [*search_command(self._env, writable=(self.root,)), *self._options],
                cwd=self.root,
                env=search_environment(self._env),
                timeout=_SECONDS,
                limit=_MOST_BYTES,
            )
            self._candidates = await asyncio.to_thread(_prepare, listed.stdout)
            self._stamps, self._listed_at = now, self._clock()
            return True

    def search(self, query: str, *, limit: int = 20) -> list[Hit]:
        """The paths that match best, relative to the folder; folders end in a slash."""
        return self._candidates.search(query, limit=limit)

    def _watched(self) -> Sequence[str]:
        names = (".", ".git/index", ".git/HEAD", ".gitignore")
        return [os.path.join(self.root, name) for name in names]


def _prepare(listed: bytes) -> Candidates:
    paths = [path.removeprefix("./") for path in os.fsdecode(listed).split("\0")[:_MOST_FILES] if path]
    folders: set[str] = set()
    for path in paths:
        folder = os.path.dirname(path)
        while folder and folder not in folders:
            folders.add(folder)
            folder = os.path.dirname(folder)
    return Candidates([*paths, *(f"{folder}/" for folder in folders)])
