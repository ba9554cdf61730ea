"""What git knows about a directory, asked in a way that runs nothing a repository configures."""

import asyncio
import os
import re
import signal
import stat
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping

from msgspec import Struct

from bridle.host.files import read_bytes
from bridle.host.programs import PROGRAMS, find_program
from bridle.types.text import printable

_STATUS_LINES = 40
_STATUS_CHARS = 2_000
_COMMITS = 5
_SUBJECT_CHARS = 200
_NAME_CHARS = 255
_OUTPUT_BYTES = 256 * 1024
_MOST_FILTERS = 50
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_LARGEST_REFS = 16 << 20

_KEPT_VARIABLES = frozenset({"GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_GLOBAL"})

_SAFE_OPTIONS = (
    "--no-pager",
    "--no-optional-locks",
    # Empty is off in every release; older ones would take `false` for the name of a program.
    "-c", "core.fsmonitor=",
    "-c", "core.hooksPath=/dev/null",
    "-c", "core.untrackedCache=keep",
    "-c", "core.quotePath=false",
    "-c", "log.showSignature=false",
    "-c", "safe.bareRepository=explicit",
)  # fmt: skip


class GitSnapshot(Struct, frozen=True, kw_only=True):
    """A repository at one moment; what git could not tell in time is empty."""

    root: str
    branch: str
    """`HEAD` when no branch is checked out."""
    main_branch: str = ""
    user: str = ""
    status: str | None = None
    """One changed file per line, empty when there are none; None when it is not known."""
    commits: tuple[str, ...] = ()
    """The newest first, each a short id and a subject."""


async def snapshot(cwd: str, env: Mapping[str, str], *, seconds: float = 2.0) -> GitSnapshot | None:
    """How the repository around `cwd` stands, or None outside one; each command has `seconds` to answer."""
    if (root := find_root(cwd)) is None:
        return None
    branch = current_branch(root)
    if (program := find_program("git", env, writable=(root,))) is None:
        return GitSnapshot(root=root, branch=branch)
    git = _Git(program, root, _environment(root, env), seconds)
    async with asyncio.TaskGroup() as group:
        work = group.create_task(_user_and_status(git))
        main_branch = group.create_task(_main_branch(git))
        commits = group.create_task(_commits(git))
    user, status = work.result()
    return GitSnapshot(
        root=root,
        branch=branch,
        main_branch=main_branch.result(),
        user=user,
        status=status,
        commits=commits.result(),
    )


def find_root(cwd: str) -> str | None:
    """The nearest directory at or above `cwd` that is the top of a repository; starts no process."""
    directory = os.path.realpath(cwd)
    while _git_dir(directory) is None:
        directory, below = os.path.dirname(directory), directory
        if directory == below:
            return None
    return directory


def current_branch(cwd: str) -> str:
    """The branch checked out around `cwd`, `HEAD` when there is none, empty outside a repository."""
    if (root := find_root(cwd)) is None or (git_dir := _git_dir(root)) is None:
        return ""
    head = printable(_first_line(os.path.join(git_dir, "HEAD")))
    if head.startswith("ref: "):
        name = head.removeprefix("ref: ").strip().removeprefix("refs/heads/")
        # Repositories with the reftable format keep the real name elsewhere and this word here.
        return "" if name == ".invalid" else name[:_NAME_CHARS]
    return "HEAD" if len(head) in (40, 64) and all(c in "0123456789abcdef" for c in head) else ""


def head_commit(folder: str) -> str:
    """The commit that is checked out in the repository with this top, empty where that is not to be seen."""
    if (git_dir := _git_dir(folder)) is None:
        return ""
    head = _first_line(os.path.join(git_dir, "HEAD"))
    if not head.startswith("ref: "):
        return head if _COMMIT.fullmatch(head) else ""
    name = head.removeprefix("ref: ").strip()
    found = _first_line(os.path.join(git_dir, *name.split("/"))) or _packed(git_dir, name)
    return found if _COMMIT.fullmatch(found) else ""


def _packed(git_dir: str, name: str) -> str:
    try:
        lines = read_bytes(os.path.join(git_dir, "packed-refs"), _LARGEST_REFS).decode("utf-8", "replace")
    except OSError:
        return ""
    rows = (line.split(" ") for line in lines.splitlines())
    return next((row[0] for row in rows if len(row) == 2 and row[1] == name), "")


def worktrees(cwd: str) -> list[str]:
    """Every work tree of the repository around `cwd`, the main one first; starts no process."""
    if (root := find_root(cwd)) is None or (git_dir := _git_dir(root)) is None:
        return []
    common = os.path.normpath(os.path.join(git_dir, _first_line(os.path.join(git_dir, "commondir"))))
    found = [os.path.dirname(common)] if os.path.basename(common) == ".git" else []
    try:
        names = sorted(os.listdir(os.path.join(common, "worktrees")))
    except OSError:
        return found or [root]
    for name in names:
        pointer = _first_line(os.path.join(common, "worktrees", name, "gitdir"))
        if os.path.isabs(pointer):
            found.append(os.path.dirname(pointer))
    return found


class _Git(Struct, frozen=True):
    program: str
    root: str
    env: dict[str, str]
    seconds: float


async def _user_and_status(git: _Git) -> tuple[str, str | None]:
    listed = await _run(git, "config", "--list", "-z")
    if listed is None or len(listed) > _OUTPUT_BYTES:
        return "", None
    settings = dict(_setting(item) for item in _text(listed).split("\0") if item)
    user = printable(settings.get("user.name", ""))[:_NAME_CHARS]
    if (overrides := _without_filters(settings)) is None:
        return user, None
    printed = await _run(
        git, *overrides, "status", "--porcelain=v1", "--untracked-files=normal", "--ignore-submodules=all"
    )
    return user, None if printed is None else _bounded(_lines(printed))


async def _main_branch(git: _Git) -> str:
    guesses = ("refs/remotes/origin/HEAD", "refs/heads/main", "refs/heads/master")
    printed = await _run(git, "for-each-ref", "--format=%(refname) %(symref)", *guesses)
    rows = (line.partition(" ") for line in _lines(printed or b""))
    found = {name: target for name, _, target in rows}
    if target := found.get(guesses[0]):
        return printable(target.removeprefix("refs/remotes/origin/"))[:_NAME_CHARS]
    return next((name.removeprefix("refs/heads/") for name in guesses[1:] if name in found), "")


async def _commits(git: _Git) -> tuple[str, ...]:
    printed = await _run(
        git, "log", f"--max-count={_COMMITS}", "--format=%h %s", "--no-color", "--no-decorate", "--no-notes",
        "--no-show-signature", "--no-patch", "--no-ext-diff", "--no-textconv", "HEAD", "--",
    )  # fmt: skip
    return tuple(printable(line)[:_SUBJECT_CHARS] for line in _lines(printed or b"")[:_COMMITS])


async def _run(git: _Git, *arguments: str, most: int = _OUTPUT_BYTES, given: bytes = b"") -> bytes | None:
    """What a command prints, little more than `most` bytes; None when it fails or is too slow."""
    try:
        process = await asyncio.create_subprocess_exec(
            git.program,
            *_SAFE_OPTIONS,
            *arguments,
            cwd=git.root,
            env=git.env,
            stdin=PIPE if given else DEVNULL,
            stdout=PIPE,
            stderr=DEVNULL,
            start_new_session=True,
        )
    except OSError:
        return None
    feeding = asyncio.create_task(_feed(process, given)) if given else None
    try:
        async with asyncio.timeout(git.seconds):
            printed = await _read(process, most)
            if len(printed) > most or await process.wait() == 0:
                return printed
            return None
    except TimeoutError:
        return None
    finally:
        if feeding is not None:
            feeding.cancel()
        await _end(process)


async def _feed(process: Process, given: bytes) -> None:
    assert process.stdin is not None
    try:
        process.stdin.write(given)
        await process.stdin.drain()
        process.stdin.close()
    except (BrokenPipeError, ConnectionResetError):
        return  # It ended early: what it printed says so.


async def _read(process: Process, most: int) -> bytes:
    assert process.stdout is not None
    printed = bytearray()
    while len(printed) <= most and (chunk := await process.stdout.read(65536)):
        printed += chunk
    return bytes(printed)


async def _end(process: Process) -> None:
    if process.returncode is not None:
        return
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass  # It has ended; macOS answers so for a process that has not been waited for yet.
    assert process.stdout is not None
    while await process.stdout.read(65536):
        pass
    await process.wait()


def _environment(root: str, env: Mapping[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in env.items() if name in _KEPT_VARIABLES}
    return {
        **PROGRAMS.environment(env),
        **kept,
        "LC_ALL": "C",
        "GIT_TERMINAL_PROMPT": "0",
        # A partial clone would fetch what is missing, by a command of its own choice.
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_CEILING_DIRECTORIES": os.path.dirname(root),
        # Beats `core.worktree`, which could point the status at any directory.
        "GIT_WORK_TREE": root,
    }


def _without_filters(settings: Mapping[str, str]) -> list[str] | None:
    """Options that turn every content filter off, or None when that cannot be done.

    Comparing a changed file runs the clean filter that its attributes name.
    """
    names = {key.rpartition(".")[0] for key in settings if key.startswith("filter.")}
    if len(names) > _MOST_FILTERS or any("=" in name for name in names):
        return None
    off = (
        f"{name}.{value}"
        for name in sorted(names)
        for value in ("clean=", "smudge=", "process=", "required=false")
    )
    return [word for value in off for word in ("-c", value)]


def _setting(item: str) -> tuple[str, str]:
    key, _, value = item.partition("\n")
    return key, value


def _bounded(lines: list[str]) -> str:
    kept: list[str] = []
    size = 0
    for line in map(printable, lines[:_STATUS_LINES]):
        size += len(line) + 1
        if size > _STATUS_CHARS:
            break
        kept.append(line)
    if len(kept) < len(lines):
        kept.append("... more changes omitted; `git status` lists them all")
    return "\n".join(kept)


def _git_dir(directory: str) -> str | None:
    path = os.path.join(directory, ".git")
    try:
        is_folder = stat.S_ISDIR(os.stat(path).st_mode)
    except OSError:
        return None
    if not is_folder:
        pointer = _first_line(path)
        if not pointer.startswith("gitdir: "):
            return None
        path = os.path.normpath(os.path.join(directory, pointer.removeprefix("gitdir: ")))
    return path if os.path.lexists(os.path.join(path, "HEAD")) else None


def _first_line(path: str) -> str:
    """The first line of a small file; empty for anything else, and a pipe does not block."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
        data = os.read(descriptor, 4096) if is_file else b""
    finally:
        os.close(descriptor)
    return os.fsdecode(data.partition(b"\n")[0]).strip()


def _lines(data: bytes) -> list[str]:
    return [line for line in _text(data).split("\n") if line]


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
