"""Runs git commands that change a repository, without its hooks and without questions."""

import asyncio
from collections.abc import Mapping

from msgspec import Struct

from bridle.host.programs import PROGRAMS, find_program

_SECONDS = 120.0
_OPTIONS = (
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.fsmonitor=",
    "-c",
    "gc.auto=0",
    "-c",
    "core.quotePath=false",
)
_MOST_SAID = 2_000_000


class GitRun(Struct, frozen=True):
    """What a command came to."""

    code: int
    output: str
    """Its standard output, without blanks at the ends."""
    complaint: str
    """What it wrote beside it."""

    @property
    def ok(self) -> bool:
        return self.code == 0


async def run_git(
    cwd: str, env: Mapping[str, str], *words: str, given: str = "", seconds: float = _SECONDS
) -> GitRun:
    """Run git in a folder; one that takes too long is ended and counts as failed."""
    git = find_program("git", env, writable=(cwd,))
    if git is None:
        return GitRun(127, "", "git not found on the PATH (working folders are not searched): install git")
    identity = {name: env[name] for name in env if name.startswith(("GIT_AUTHOR_", "GIT_COMMITTER_"))}
    process = await asyncio.create_subprocess_exec(
        git,
        *_OPTIONS,
        *words,
        cwd=cwd,
        env={
            **PROGRAMS.environment(env),
            **identity,
            "LC_ALL": "C",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_EDITOR": "true",
        },
        stdin=asyncio.subprocess.PIPE if given else asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(seconds):
            said, complained = await process.communicate(given.encode() if given else None)
    except TimeoutError:
        return GitRun(1, "", f"git timed out after {seconds:g} seconds")
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return GitRun(process.returncode or 0, _text(said), _text(complained))


def _text(data: bytes) -> str:
    return data[:_MOST_SAID].decode(errors="replace").strip()
