"""Keeps what files held at each prompt, and puts them back."""

import asyncio
import os
import stat
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from bridle.host.files import write_checked
from bridle.host.safe_open import PathChanged, folder_of
from bridle.transcripts.backups import Backup, BackupFolder, Seen, look, stamp_at, straight
from bridle.transcripts.checkpoint_entries import Snapshots, delta_row, snapshot_row
from bridle.transcripts.command_changes import Watch, watch
from bridle.transcripts.line import timestamp
from bridle.types.entry import NoteEntry
from bridle.types.errors import SessionError
from bridle.types.services.checkpoints import Rewound

_MOST_SNAPSHOTS = 100


class CheckpointContext(Struct, frozen=True, kw_only=True):
    """What checkpoints need of the session around them."""

    note: Callable[[NoteEntry], None]
    """Adds a line to the transcript."""
    roots: Callable[[], Sequence[str]]
    """The working folders: nothing outside them is kept or put back."""
    seen: Callable[[], Iterable[str]] = lambda: ()
    """Files that the session has read, looked at around commands."""
    env: Mapping[str, str] = {}
    cwd: str = ""
    """The folder from which transcripts name files."""
    call: Callable[[], str | None] = lambda: None
    """The entry of the call that runs."""
    clock: Callable[[], float] = time.time


class FileCheckpoints:
    """The checkpoints of one session; calls wait for each other."""

    def __init__(
        self,
        folder: BackupFolder,
        around: CheckpointContext,
        *,
        known: Snapshots | None = None,
        ephemeral: bool = False,
    ) -> None:
        self._folder = folder
        self._around = around
        self._snapshots: Snapshots = known or {}
        self._ephemeral = ephemeral
        self._lock = asyncio.Lock()

    async def begin(self, prompt: str) -> None:
        async with self._lock:
            before = self._newest()
            self._snapshots[prompt] = await asyncio.to_thread(self._refreshed, before) if before else {}
            while len(self._snapshots) > _MOST_SNAPSHOTS:
                del self._snapshots[next(iter(self._snapshots))]
            self._around.note(
                snapshot_row(prompt, self._snapshots[prompt], self._now(), cwd=self._around.cwd)
            )

    async def before_change(self, path: str) -> None:
        async with self._lock:
            if not self._snapshots or path in self._newest() or not self._is_inside(path):
                return
            if (backup := await asyncio.to_thread(self._copy, path)) is not None:
                self._record({path: backup})

    async def before_command(self) -> Callable[[], Awaitable[None]]:
        async with self._lock:
            if not self._snapshots:
                return _nothing
            paths = {*self._newest(), *filter(self._is_inside, map(os.path.realpath, self._around.seen()))}
            watched = await watch(self._around.roots(), paths, self._around.env)

        async def ended() -> None:
            async with self._lock:
                self._record(await self._changed_by_command(watched))

        return ended

    async def rewind(self, prompt: str, *, dry_run: bool = False) -> Rewound:
        async with self._lock:
            if prompt not in self._snapshots:
                raise SessionError("No file checkpoint found for this message.")
            return await asyncio.to_thread(self._rewind, self._targets(prompt), dry_run=dry_run)

    async def close(self) -> None:
        if self._ephemeral:
            await asyncio.to_thread(self._folder.remove)

    def _targets(self, prompt: str) -> dict[str, Backup]:
        """Each file as it was at the prompt, or else before its first change after it."""
        found: dict[str, Backup] = {}
        reached = False
        for name, backups in self._snapshots.items():
            reached = reached or name == prompt
            if reached:
                for path, backup in backups.items():
                    found.setdefault(path, backup)
        return found

    def _rewind(self, targets: Mapping[str, Backup], *, dry_run: bool) -> Rewound:
        changed: list[str] = []
        links: list[str] = []
        added = removed = 0
        for path, backup in targets.items():
            if not self._is_inside(path):
                continue
            try:
                now = look(path)
                wanted = None if backup.name is None else self._folder.read(backup.name)
                if now.data == wanted:
                    continue
                if not dry_run:
                    _restore(path, wanted, mode=backup.mode)
            except PathChanged:
                links.append(path)
                continue
            except OSError:
                # Its copy is gone, or something stands there that is no file any more: it stays as it is.
                continue
            changed.append(path)
            more, fewer = _line_counts(now.data or b"", wanted or b"")
            added, removed = added + more, removed + fewer
        return Rewound(
            files_changed=tuple(changed), insertions=added, deletions=removed, skipped_links=tuple(links)
        )

    def _newest(self) -> dict[str, Backup]:
        return next(reversed(self._snapshots.values()), {})

    def _refreshed(self, before: Mapping[str, Backup]) -> dict[str, Backup]:
        """Every file kept so far as it is now; what has not changed is not copied again."""
        fresh: dict[str, Backup] = {}
        for path, backup in before.items():
            unchanged = stamp_at(path) == backup.stamp
            if unchanged and (backup.stamp is not None or backup.name is None):
                fresh[path] = backup
            elif (copied := self._copy(path, version=backup.version + 1)) is not None:
                fresh[path] = copied
        return fresh

    def _copy(self, path: str, *, version: int = 1) -> Backup | None:
        try:
            seen = look(path)
        except OSError:
            return None  # Too large, not a file, or behind a link: it is not kept and never put back.
        return self._kept(seen, version)

    def _kept(self, seen: Seen, version: int = 1) -> Backup | None:
        if seen.data is None:
            return Backup(name=None, version=version, time=self._now())
        try:
            name = self._folder.keep(seen.data)
        except OSError:
            return None
        if name is None:
            return None
        return Backup(name=name, version=version, time=self._now(), mode=seen.mode, stamp=seen.stamp)

    async def _changed_by_command(self, watched: Watch) -> dict[str, Backup]:
        before = await watched.changed()
        newest = self._newest()
        found: dict[str, Backup] = {}
        for path, seen in before.items():
            if path in newest or not self._is_inside(path):
                continue
            if (backup := await asyncio.to_thread(self._kept, seen)) is not None:
                found[path] = replace(backup, stamp=None)
        return found

    def _record(self, backups: Mapping[str, Backup]) -> None:
        prompt = next(reversed(self._snapshots))
        for path, backup in backups.items():
            self._snapshots[prompt][path] = backup
            around = self._around
            around.note(delta_row(prompt, path, backup, self._now(), cwd=around.cwd, call=around.call()))

    def _is_inside(self, path: str) -> bool:
        roots = (os.path.realpath(root).rstrip("/") for root in self._around.roots())
        return any(path.startswith(f"{root}/") for root in roots)

    def _now(self) -> str:
        return timestamp(self._around.clock())


async def _nothing() -> None:
    """No turn has begun, so there is nothing to go back to."""


def _restore(path: str, data: bytes | None, *, mode: int) -> None:
    location = straight(path)
    if data is not None:
        write_checked(location, data, mode=mode)
        return
    with folder_of(location) as (folder, name):
        if not stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            raise PathChanged(path)
        os.unlink(name, dir_fd=folder)


def _line_counts(now: bytes, wanted: bytes) -> tuple[int, int]:
    """How many lines are put in and taken out; large files are compared as a whole."""
    old, new = now.splitlines(), wanted.splitlines()
    if len(old) + len(new) > 20_000:
        return len(new), len(old)
    from difflib import SequenceMatcher

    added = removed = 0
    for tag, a, b, c, d in SequenceMatcher(None, old, new, autojunk=True).get_opcodes():
        if tag != "equal":
            added, removed = added + d - c, removed + b - a
    return added, removed
