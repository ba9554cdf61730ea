"""The commit at which a new work tree begins."""

import os
import re
import time
from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from bridle.host.git import commands
from bridle.types.errors import BridleError

BaseRef = Literal["fresh", "head"]

_FETCH_SECONDS = 30.0
_STILL_FRESH = 60.0
_PULL = re.compile(r"#?(\d{1,10})")
_ADDRESS = re.compile(
    r"https?://([^/\s]+)/([^\s]+?)/(?:-/)?(?:pull|pulls|merge_requests)/(\d{1,10})(?:[/?#].*)?"
)
_REMOTE = re.compile(r"(?:[a-z+]+://)?(?:[^@/]+@)?([^/:]+)(?::\d+)?[/:](.+?)(?:\.git)?/?")


class WorktreeFault(BridleError):
    """A work tree could not be made; the text says why."""


class Pull(Struct, frozen=True):
    """A pull request of the repository that this one was cloned from."""

    number: int
    place: str | None = None
    """Host and path of the repository that an address names."""

    @property
    def name(self) -> str:
        return f"pr-{self.number}"


def read_pull(wanted: str) -> Pull | None:
    """The pull request that `#12` or an address of one names; None for any other name."""
    if wanted.startswith("#") and (match := _PULL.fullmatch(wanted)) is not None:
        return Pull(int(match[1]))
    if (match := _ADDRESS.fullmatch(wanted)) is not None:
        return Pull(int(match[3]), f"{match[1]}/{match[2]}".lower())
    return None


async def starting_point(here: str, env: Mapping[str, str], at: BaseRef | Pull) -> str:
    """The commit to begin at: the pull request, the newest of the main branch of `origin`, or the current.

    Where there is no `origin` the current commit is the newest there is.

    Raises:
        WorktreeFault: there is no such commit.
    """
    if isinstance(at, Pull):
        return await _of_pull(here, env, at)
    if at == "fresh" and (base := await _of_origin(here, env)) is not None:
        return base
    code, base = await run_git(here, env, "rev-parse", "HEAD")
    if code:
        raise WorktreeFault("The repository has no commits, so it can't have a worktree.")
    return base


async def _of_origin(here: str, env: Mapping[str, str]) -> str | None:
    """The main branch of `origin`, fetched if that is possible; as it was last seen if not."""
    code, said = await run_git(here, env, "symbolic-ref", "--quiet", "refs/remotes/origin/HEAD")
    if code:
        return None
    branch = said.removeprefix("refs/remotes/origin/")
    if not await _is_fresh(here, env):
        # Without the network the branch is where it was last seen, and work can begin all the same.
        await run_git(here, env, "fetch", "--quiet", "origin", branch, seconds=_FETCH_SECONDS)
    code, base = await run_git(here, env, "rev-parse", "--verify", "--quiet", f"{said}^{{commit}}")
    return None if code else base


async def _is_fresh(here: str, env: Mapping[str, str]) -> bool:
    """Whether something was fetched a moment ago: many agents start together."""
    code, path = await run_git(here, env, "rev-parse", "--git-path", "FETCH_HEAD")
    try:
        return not code and time.time() - os.stat(os.path.join(here, path)).st_mtime < _STILL_FRESH
    except OSError:
        return False


async def _of_pull(here: str, env: Mapping[str, str], pull: Pull) -> str:
    code, origin = await run_git(here, env, "config", "--get", "remote.origin.url")
    if code:
        raise WorktreeFault("The repository has no remote `origin` to fetch a pull request from.")
    if pull.place is not None and (match := _REMOTE.fullmatch(origin)) is not None:
        place = f"{match[1]}/{match[2]}".lower()
        if place != pull.place:
            raise WorktreeFault(f"The pull request belongs to {pull.place}, but this is a clone of {place}.")
    target = f"refs/bridle/{pull.name}"
    last = ""
    for source in (f"pull/{pull.number}/head", f"merge-requests/{pull.number}/head"):
        code, last = await run_git(here, env, "fetch", "--quiet", "origin", f"+{source}:{target}")
        if not code:
            code, base = await run_git(here, env, "rev-parse", target)
            await run_git(here, env, "update-ref", "-d", target)
            if not code:
                return base
    raise WorktreeFault(f"The pull request {pull.number} can't be fetched from origin: {last[:300]}")


_SECONDS = 120.0


async def run_git(
    cwd: str, env: Mapping[str, str], *words: str, given: str = "", seconds: float = _SECONDS
) -> tuple[int, str]:
    """Run git with something to read; its code and what it said, or complained about when it failed."""
    quiet = {name: value for name, value in env.items() if name != "SSH_ASKPASS"}
    done = await commands.run_git(
        cwd, {**quiet, "SSH_ASKPASS_REQUIRE": "never"}, *words, given=given, seconds=seconds
    )
    return done.code, done.output if done.ok else done.complaint or done.output
