"""What Glob and Grep share: running the search, the order and the spelling of what it finds."""

import os
import os.path
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager

from msgspec import Struct

from bridle.host.background import BackgroundShells
from bridle.host.process import Captured, run
from bridle.host.ripgrep import search_command, search_environment
from bridle.host.safe_open import PathChanged, locate, open_checked, open_folder
from bridle.types.errors import ToolError
from bridle.types.tool import ToolContext

NEVER_SEARCHED = (".git", ".svn", ".hg", ".bzr", ".jj", ".sl")
_MOST_BYTES = 64 * 1024 * 1024
_WORTH_A_HEADING = 3
_LONG_FOLDER = 20


async def search(
    options: Sequence[str], ctx: ToolContext, *, folder: str, timeout: float, globs: Iterable[str] = ()
) -> Captured:
    """Run ripgrep, or what stands in for it, in a directory.

    Raises:
        ToolError: the search could not be started, was refused, or found nothing in time.
    """
    # The last glob that matches decides, so what is never searched comes last.
    filters = [*globs, *(f"!{name}" for name in NEVER_SEARCHED)]
    program = search_command(ctx.env, writable=(*ctx.workspace.roots, ctx.cwd))
    argv = [*program, "--no-messages", *(f"--glob={each}" for each in filters), *options]
    env = search_environment(ctx.env)
    tasks = ctx.workspace.tasks
    reaper = tasks.reaper if isinstance(tasks, BackgroundShells) else None
    try:
        with _held(folder, ctx) as held:
            found = await run(argv, cwd=held, env=env, timeout=timeout, limit=_MOST_BYTES, reaper=reaper)
    except OSError as error:
        raise ToolError(f"Could not start the search in {folder}: {error.strerror or error}.") from error
    if found.timed_out and not found.stdout:
        raise ToolError(
            f"The search timed out after {timeout:g} s without results: narrow it with path or pattern."
        )
    if _has_failed(found):
        raise ToolError(f"The search failed: {_plainly(found.stderr) or f'exit code {found.code}'}")
    return found


@contextmanager
def _held(folder: str, ctx: ToolContext) -> Generator[str, None, None]:
    """A spelling of the directory to search that no link can turn aside.

    Raises:
        OSError: what was approved is not there any more.
    """
    if not ctx.permit.approved:
        yield folder
        return
    if folder not in ctx.permit.approved:
        yield _around_a_file(folder, ctx)
        return
    location = locate(folder, ctx.permit.approved)
    handle = open_folder(location)
    try:
        # The search is another process, so the handle is named as one of ours.
        by_handle = f"/proc/{os.getpid()}/fd/{handle}"
        yield by_handle if os.path.isdir(by_handle) else location.target
    finally:
        os.close(handle)


def _around_a_file(folder: str, ctx: ToolContext) -> str:
    """The directory itself, when it was a file in it that was approved."""
    files = [path for path in ctx.permit.approved if os.path.dirname(path) == folder]
    if not files:
        raise PathChanged(folder)
    for path in files:
        locate(path, ctx.permit.approved)
    return folder


@contextmanager
def held_file(path: str, ctx: ToolContext) -> Generator[str, None, None]:
    """A spelling of a file to search that no link can turn aside.

    Raises:
        ToolError: what was approved is not there any more, or cannot be read.
    """
    try:
        handle = open_checked(locate(path, ctx.permit.approved))
    except OSError as error:
        raise ToolError(f"Could not search {path}: {error.strerror or error}.") from error
    try:
        by_handle = f"/proc/{os.getpid()}/fd/{handle}"
        yield by_handle if os.path.exists(by_handle) else path
    finally:
        os.close(handle)


def newest_first(folder: str, paths: Iterable[str]) -> list[str]:
    """Paths below a directory by the time of their last change; those that vanished are left out."""
    stamped: list[tuple[int, str]] = []
    for path in paths:
        try:
            stamped.append((-os.lstat(os.path.join(folder, path)).st_mtime_ns, path))
        except OSError:
            continue  # Removed since it was listed.
    return [path for _, path in sorted(stamped)]


def shown(cwd: str, folder: str, path: str) -> str:
    """A path below a directory as text, relative where it is inside the current directory."""
    whole = os.path.normpath(os.path.join(folder, path)).removeprefix(cwd.rstrip("/") + "/")
    # A name that is not UTF-8 could not be sent.
    return whole.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


class RelativeNames(Struct, frozen=True):
    """Names of files relative to a folder that they have in common."""

    folder: str
    """Ends with a slash; empty where the names are complete."""
    names: tuple[str, ...]

    @property
    def heading(self) -> str:
        return f"Relative to {self.folder}:" if self.folder else ""


def without_common_folder(names: Sequence[str]) -> RelativeNames:
    """Names of files with a long common folder taken off; those in the current directory stay as they are."""
    if len(names) < _WORTH_A_HEADING or not all(name.startswith("/") for name in names):
        return RelativeNames("", tuple(names))
    folder = os.path.commonpath([os.path.dirname(name) for name in names])
    if len(folder) < _LONG_FOLDER:
        return RelativeNames("", tuple(names))
    return RelativeNames(f"{folder}/", tuple(name[len(folder) + 1 :] for name in names))


def require_existing(path: str, shown: str) -> None:
    """See that something is there.

    Raises:
        ToolError: nothing is.
    """
    if not os.path.exists(path):
        raise ToolError(f"Path does not exist: {shown}. Check it with Glob or leave it out.")


def _has_failed(found: Captured) -> bool:
    """Whether there was more than files that could not be read, which end in code 2 without a word."""
    if found.cut or found.timed_out or found.code in (0, 1):
        return False
    return found.code != 2 or bool(found.stderr.strip())


def _plainly(complaint: bytes) -> str:
    lines = complaint.decode("utf-8", "replace").strip().splitlines()
    return "\n".join(lines)[:1000].removeprefix("rg: ")
