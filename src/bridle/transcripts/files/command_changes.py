"""Finds out which files a command has changed, within bounds: those that were seen, and what git knows."""

import asyncio
import os
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from bridle.host.git.changes import Committed, WorkTreeState, committed_contents, standing
from bridle.transcripts.files.backups import Seen, look, stamp_at

_MOST_FILES = 200
_MOST_BYTES = 1024 * 1024
_MOST_TOTAL = 16 * 1024 * 1024


class Watch(Struct, frozen=True, kw_only=True):
    """The files as they stood before a command."""

    cwd: str
    env: Mapping[str, str]
    before: Mapping[str, Seen]
    tree: WorkTreeState | None

    async def changed(self) -> dict[str, Seen]:
        """What each file held that the command has changed, made or removed."""
        found = {
            path: seen
            for path, seen in self.before.items()
            if await asyncio.to_thread(stamp_at, path) != seen.stamp
        }
        if self.tree is None:
            return found
        now = await standing(self.cwd, self.env)
        # Where another commit is checked out now, git cannot tell the command's changes from its own.
        if now is None or now.head != self.tree.head:
            return found
        return {**found, **await self._known_to_git(now, self.tree)}

    async def _known_to_git(self, now: WorkTreeState, then: WorkTreeState) -> dict[str, Seen]:
        earlier = {*self.before, *then.dirty, *then.untracked}
        made = now.untracked - earlier
        found = {path: Seen(data=None) for path in sorted(made)[:_MOST_FILES]}
        wanted: dict[str, Committed] = {}
        for path, committed in now.dirty.items():
            if path in earlier:
                continue
            if committed.object:
                wanted[path] = committed
            else:
                found[path] = Seen(data=None)
        contents = await committed_contents(self.cwd, self.env, wanted, most=_MOST_BYTES)
        for path, data in contents.items():
            found[path] = Seen(data=data, mode=wanted[path].mode)
        return found


async def watch(roots: Sequence[str], paths: Iterable[str], env: Mapping[str, str]) -> Watch:
    """Look at these files, and at those that git says have changed already."""
    cwd = roots[0]
    tree = await standing(cwd, env)
    listed = dict.fromkeys(paths)
    if tree is not None:
        listed |= dict.fromkeys((*tree.dirty, *sorted(tree.untracked)))
    return Watch(cwd=cwd, env=env, before=await asyncio.to_thread(_look_at, listed), tree=tree)


def _look_at(paths: Iterable[str]) -> dict[str, Seen]:
    found: dict[str, Seen] = {}
    left = _MOST_TOTAL
    for path in paths:
        if len(found) == _MOST_FILES or left <= 0:
            break
        try:
            seen = look(os.path.normpath(path), most=_MOST_BYTES)
        except OSError:
            continue  # Too large, not a file or behind a link: not needed here.
        found[path] = seen
        left -= len(seen.data or b"")
    return found
