"""Keeps what files held at each prompt, and puts them back."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from bridle.host.git.changes import object_contents
from bridle.transcripts.files.backups import Backup, BackupFolder, Seen, look, stamp_at
from bridle.transcripts.files.checkpoint_entries import (
    NOTHING_EARLIER,
    REDONE,
    EarlierState,
    Snapshots,
    Stamp,
    Undone,
    after_row,
    delta_row,
    snapshot_row,
    undone_row,
)
from bridle.transcripts.files.command_changes import Watch, watch
from bridle.transcripts.files.restoring import Plan, full_stamp, is_as, make_plan, named, small_digest
from bridle.transcripts.files.tree import Events, Tree
from bridle.transcripts.line import timestamp
from bridle.types.entry import NoteEntry
from bridle.types.errors import SessionError
from bridle.types.services.checkpoints import Redone, Rewound

_MOST_SNAPSHOTS = 100
_FOREIGN = (-1,)


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
    whole: bool = False
    """Everything that changes in the working folders can be put back, whatever in the session changed it."""
    say: Callable[[str], None] = lambda _: None
    """Tells the user what cannot be saved."""


class FileCheckpoints:
    """The checkpoints of one session; calls wait for each other."""

    def __init__(
        self,
        folder: BackupFolder,
        around: CheckpointContext,
        *,
        known: Snapshots | None = None,
        ephemeral: bool = False,
        before: EarlierState = NOTHING_EARLIER,
    ) -> None:
        self._folder = folder
        self._around = around
        self._snapshots: Snapshots = known or {}
        self._ephemeral = ephemeral
        self._lock = asyncio.Lock()
        self._tree = Tree(around.roots() if around.whole else (), folder, around.env, around.say)
        self._taking: asyncio.Task[None] | None = None
        self._ending: asyncio.Task[None] | None = None
        self._working = 0
        """How many turns and commands run: what changes meanwhile is theirs."""
        self._in_turn = False
        self._after: dict[str, Stamp] = {}
        """How files lay on disk when the session had last changed them."""
        self._contents: dict[str, str] = dict(before.contents)
        """Digests of what small ones held then: writing the same again changes nothing."""
        self._foreign: dict[str, str] = {}
        """Files that others have changed, with the newest prompt of then."""
        self._undone: list[Undone] = list(before.undone)
        self._look_back(before.after)

    async def begin(self, prompt: str) -> None:
        await self._ended()
        async with self._lock:
            if self._around.whole and self._taking is None:
                self._taking = asyncio.create_task(self._tree.take())
            elif not self._in_turn:
                await self._settle()
            before = self._newest()
            self._snapshots[prompt] = await asyncio.to_thread(self._refreshed, before) if before else {}
            while len(self._snapshots) > _MOST_SNAPSHOTS:
                del self._snapshots[next(iter(self._snapshots))]
            self._undone.clear()
            self._around.note(
                snapshot_row(prompt, self._snapshots[prompt], self._now(), cwd=self._around.cwd)
            )
            if not self._in_turn:
                self._in_turn = True
                self._working += 1

    async def end(self) -> None:
        if not self._in_turn:
            return
        # A lock that is free is taken at once: no one looks in between.
        await self._lock.acquire()
        try:
            self._in_turn = False
            # Whatever changes files waits for the first look; a turn that ends before it has changed nothing.
            if not (self._taking is not None and self._taking.done() and await self._is_watching()):
                self._working -= 1
                self._lock.release()
                return
            events = self._tree.events()
        except BaseException:
            self._lock.release()
            raise
        # The result of the turn waits only for the list of what has changed, not for a look at each.
        self._ending = asyncio.create_task(self._finish(events))
        if events is None:
            await self._ended()  # Without such a list, later changes would look the same.

    async def _finish(self, events: Events | None) -> None:
        """Attribute what has changed to the turn that has ended, and release the lock."""
        try:
            await self._attribute(events)
        finally:
            self._working -= 1
            self._lock.release()

    async def _ended(self) -> None:
        """Wait until all changes of the turn before are attributed."""
        ending, self._ending = self._ending, None
        if ending is not None:
            await asyncio.shield(ending)

    async def enter(self) -> None:
        """Work for the session begins that may outlive the turn."""
        async with self._lock:
            await self._settle()
            self._working += 1

    async def leave(self) -> None:
        async with self._lock:
            await self._settle()
            self._working -= 1

    async def before_change(self, path: str) -> None:
        if self._taking is not None and not self._taking.done():
            await asyncio.wait([self._taking])  # What a tool writes now is not how things were.
        async with self._lock:
            if not self._snapshots or path in self._newest() or not self._is_inside(path):
                return
            if (backup := await asyncio.to_thread(self._copy, path)) is not None:
                self._record({path: backup})

    async def before_command(self) -> Callable[[], Awaitable[None]]:
        if self._around.whole:
            if self._taking is None:
                return _nothing
            await self.enter()
            return self.leave
        async with self._lock:
            if not self._snapshots:
                return _nothing
            paths = {*self._newest(), *filter(self._is_inside, map(os.path.realpath, self._around.seen()))}
            watched = await watch(self._around.roots(), paths, self._around.env)

        async def ended() -> None:
            async with self._lock:
                self._record(await self._changed_by_command(watched))

        return ended

    async def rewind(
        self, prompt: str, *, dry_run: bool = False, force: bool = False, leaf: str | None = None
    ) -> Rewound:
        async with self._lock:
            if prompt not in self._snapshots:
                raise SessionError("No file checkpoint found for this message.")
            await self._settle()
            foreign = frozenset() if force else self._foreign_since(prompt)
            plan = await self._planned(self._targets(prompt), foreign)
            if dry_run:
                return plan.outcome()
            _require_untouched(plan)
            before = await asyncio.to_thread(self._carry_out, plan)
            self._remember(Undone(prompt=prompt, leaf=leaf, files=before))
            return plan.outcome()

    async def leave_branch(self, prompt: str, leaf: str) -> None:
        async with self._lock:
            self._remember(Undone(prompt=prompt, leaf=leaf, files={}))

    async def redo(self, *, force: bool = False) -> Redone:
        async with self._lock:
            await self._settle()
            if not self._undone:
                raise SessionError("There is nothing to redo: no rewind was made since the last prompt.")
            undone = self._undone[-1]
            foreign = frozenset() if force else self._foreign_since(None)
            plan = await self._planned(undone.files, foreign)
            _require_untouched(plan)
            await asyncio.to_thread(self._carry_out, plan)
            self._undone.pop()
            self._around.note({"type": REDONE, "prompt": undone.prompt, "timestamp": self._now()})
            return Redone(files=plan.outcome(), leaf=undone.leaf)

    def _remember(self, undone: Undone) -> None:
        self._undone.append(undone)
        self._around.note(undone_row(undone, self._now(), cwd=self._around.cwd))

    async def close(self) -> None:
        await self._ended()
        if self._taking is not None:
            self._taking.cancel()
            await asyncio.gather(self._taking, return_exceptions=True)
        if self._around.whole and self._snapshots and not self._ephemeral:
            # What others have changed is not as the session left it, whatever it looks like later.
            foreign = dict.fromkeys(self._foreign, _FOREIGN)
            self._around.note(after_row({**self._after, **foreign}, self._contents, self._now()))
        self._tree.close()
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

    async def _planned(self, targets: Mapping[str, Backup], foreign: frozenset[str]) -> Plan:
        inside = {path: backup for path, backup in targets.items() if self._is_inside(path)}
        wanted = [object for backup in inside.values() if (object := backup.object) is not None]
        contents: dict[str, bytes] = {}
        if wanted:
            contents = await object_contents(self._around.roots()[0], self._around.env, wanted)
        whole = self._around.whole
        return await asyncio.to_thread(
            make_plan, inside, self._folder, contents, foreign=foreign, over_links=whole
        )

    def _carry_out(self, plan: Plan) -> dict[str, Backup]:
        """Put the files of a plan in place, all or none; how they were before.

        Raises:
            SessionError: one cannot be written.
        """
        before = {path: self._tree.look(path) for path in plan.steps}
        if lost := [path for path, backup in before.items() if backup.is_lost]:
            raise SessionError(f"No changes made: {named(lost)} can't be saved for /redo.")
        try:
            plan.apply()
        except OSError as error:
            back = make_plan(before, self._folder, {}, over_links=True)
            back.apply()
            what = error.filename or "A file"
            raise SessionError(f"{what} cannot be written: {error.strerror}. Nothing was changed.") from error
        for path in plan.steps:
            self._left(path, full_stamp(path))
            self._foreign.pop(path, None)
        return before

    async def _settle(self) -> None:
        """Find out what has changed, and whether the session did it."""
        if await self._is_watching():
            await self._attribute(self._tree.events())

    async def _is_watching(self) -> bool:
        """Whether changes are followed, once the first look is done."""
        if self._taking is None:
            return False
        if not self._taking.done():
            await asyncio.wait([self._taking])
        if not self._taking.cancelled() and (fault := self._taking.exception()) is not None:
            self._around.say(f"Files changed by commands are not kept: {fault}")
            self._taking, self._around = None, replace(self._around, whole=False)
            return False
        return True

    async def _attribute(self, events: Events | None) -> None:
        changed = await asyncio.to_thread(self._tree.changed, events)
        found = await asyncio.to_thread(self._told_apart, changed)
        self._record(found)

    def _told_apart(self, changed: Iterable[str]) -> dict[str, Backup]:
        """How files were that the session has changed; those that others have changed are noted."""
        newest, found = self._newest(), dict[str, Backup]()
        for path in sorted(changed):
            stamp = full_stamp(path)
            if path in self._after and self._after[path] == stamp:
                continue
            if self._working:
                self._left(path, stamp)
                if path not in newest and self._is_inside(path):
                    was = self._tree.was(path)
                    if not is_as(path, was):
                        found[path] = was
            elif self._holds_the_same(path, stamp):
                self._after[path] = stamp
            elif path in self._after or any(path in backups for backups in self._snapshots.values()):
                self._after[path] = stamp
                self._foreign[path] = next(reversed(self._snapshots), "")
            else:
                self._tree.note(path)
        return found

    def _foreign_since(self, prompt: str | None) -> frozenset[str]:
        """What others have changed after a prompt, or after the newest rewind."""
        names = list(self._snapshots)
        if prompt is None:
            return frozenset(self._foreign)
        at = names.index(prompt)
        return frozenset(
            path for path, when in self._foreign.items() if when not in names or names.index(when) >= at
        )

    def _look_back(self, after: Mapping[str, Stamp]) -> None:
        """What was changed while no session looked was changed by others."""
        newest = next(reversed(self._snapshots), "")
        for path, stamp in after.items():
            now = full_stamp(path)
            self._after[path] = stamp
            if now != stamp and not self._holds_the_same(path, now):
                self._foreign[path] = newest
            self._after[path] = now

    def _left(self, path: str, stamp: Stamp) -> None:
        """The session has changed a file, and this is how it left it."""
        self._after[path] = stamp
        if (digest := small_digest(path)) is None:
            self._contents.pop(path, None)
        else:
            self._contents[path] = digest

    def _holds_the_same(self, path: str, stamp: Stamp) -> bool:
        """Whether a file was only written again, with what the session left in it."""
        left = self._after.get(path)
        if not left or not stamp or left[0] != stamp[0] or path not in self._contents:
            return False
        return small_digest(path) == self._contents[path]

    def _newest(self) -> dict[str, Backup]:
        return next(reversed(self._snapshots.values()), {})

    def _refreshed(self, before: Mapping[str, Backup]) -> dict[str, Backup]:
        """Every file kept so far as it is now; what has not changed is not copied again."""
        fresh: dict[str, Backup] = {}
        for path, backup in before.items():
            stamp = stamp_at(path)
            if self._around.whole:
                known = is_as(path, backup)
                fresh[path] = backup if known else self._looked_at(path, backup.version + 1)
            elif stamp == backup.stamp and (backup.stamp is not None or backup.name is None):
                fresh[path] = backup
            elif (copied := self._copy(path, version=backup.version + 1)) is not None:
                fresh[path] = copied
        return fresh

    def _looked_at(self, path: str, version: int) -> Backup:
        return replace(self._tree.look(path), version=version, time=self._now())

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
        if not backups:
            return
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


def _require_untouched(plan: Plan) -> None:
    if plan.foreign:
        raise SessionError(
            f"Nothing was changed: another program has changed {named(plan.foreign)} since. "
            "Add force to overwrite."
        )


async def _nothing() -> None:
    """No turn has begun, so there is nothing to go back to."""
