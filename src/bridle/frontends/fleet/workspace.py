"""The work folder of a task: cloned, copied or unpacked, compared before and after, and removed."""

import asyncio
import errno
import hashlib
import os
import shutil
import stat
import tarfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import closing
from glob import glob

from msgspec import Struct

from bridle.frontends.fleet.records import FailureKind, Task
from bridle.host.files import copy_quickly, make_folders
from bridle.host.git.commands import GitRun, run_git
from bridle.host.lock import FileLock, Locked
from bridle.types.errors import BridleError

_PATIENCE = 900.0
_MOST_PATCH = 64 * 1024 * 1024
_MOST_ARTIFACT = 256 * 1024 * 1024
_MOST_ARTIFACTS = 200
_TRANSPORTS = ("-c", "protocol.ext.allow=never", "-c", "protocol.file.allow=always")
_IDENTITY = ("-c", "user.name=bridle", "-c", "user.email=bridle@localhost")


class AttemptError(BridleError):
    """An attempt cannot continue; `kind` says why."""

    def __init__(self, kind: FailureKind, message: str) -> None:
        super().__init__(message)
        self.kind: FailureKind = kind


class Workspace(Struct, frozen=True, kw_only=True):
    """A folder to work in, and a repository beside it that only compares."""

    folder: str
    """Everything of the attempt; removed after it."""
    work: str
    """What the session sees."""
    snapshots: str
    """A git folder that the session cannot write, so that no configuration of its own counts."""
    base: str = ""
    """The commit of the repository that the work began at."""


async def open_workspace(
    task: Task, folder: str, *, mirrors: str, run: str, env: Mapping[str, str]
) -> Workspace:
    """Make the work folder of an attempt.

    Raises:
        AttemptError: the source cannot be had.
    """
    work, snapshots = os.path.join(folder, "work"), os.path.join(folder, "before.git")
    try:
        make_folders(folder, private=True)
        alternates, base = "", ""
        if task.repository:
            mirror = await open_mirror(task, mirrors, run=run, env=env)
            base = await _check_out(task, mirror, work, run=run, env=env)
            alternates = os.path.join(mirror, "objects")
        elif task.folder:
            await asyncio.to_thread(copy_folder, task.folder, work)
        elif task.archive:
            await asyncio.to_thread(unpack, task.archive, work)
        else:
            os.mkdir(work, 0o700)
        _write_files(work, task.files)
        if task.origin or task.files:
            _make_snapshots(snapshots, alternates)
    except OSError as error:
        raise _disk_error(error) from error
    return Workspace(folder=folder, work=work, snapshots=snapshots, base=base)


async def note_before(space: Workspace, env: Mapping[str, str]) -> str:
    """The tree of the work folder before the session; empty where there is nothing to compare."""
    if not os.path.isdir(space.snapshots):
        return ""
    _must(await _compare(space, env, "add", "--all", "."), "session", "note the files")
    return _must(await _compare(space, env, "write-tree"), "session", "note the files").output


async def patch_since(space: Workspace, before: str, env: Mapping[str, str]) -> bytes:
    """What changed in the work folder, as a patch that `git apply` takes.

    Raises:
        AttemptError: it is too large, or cannot be made.
    """
    if not before:
        return b""
    _must(await _compare(space, env, "add", "--all", "."), "session", "compare the files")
    path = os.path.join(space.folder, "patch")
    words = ("diff", "--cached", "--binary", "--no-color", "--no-ext-diff", "--no-textconv")
    made = await _compare(space, env, *words, "--ignore-submodules=all", f"--output={path}", before)
    _must(made, "session", "compare the files")
    if os.path.getsize(path) > _MOST_PATCH:
        raise AttemptError("limits", "the patch is larger than 64 MB")
    with open(path, "rb") as file:
        return file.read()


def artifacts_of(space: Workspace, patterns: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Files that patterns name, as paths below the work folder and whole ones; links lead nowhere.

    Raises:
        AttemptError: they are too many or too large.
    """
    root, count = os.path.realpath(space.work), 0
    for pattern in patterns:
        for path in sorted(glob(pattern, root_dir=root, recursive=True)):
            whole = os.path.join(root, path)
            inside = os.path.realpath(whole) == os.path.normpath(whole) and ".." not in path.split(os.sep)
            if not inside or not stat.S_ISREG(os.lstat(whole).st_mode):
                continue
            count += 1
            if count > _MOST_ARTIFACTS or os.path.getsize(whole) > _MOST_ARTIFACT:
                raise AttemptError(
                    "limits", "the artifacts are more than 200 files, or one has more than 256 MB"
                )
            yield path, whole


def remove_workspace(folder: str) -> None:
    """Remove a work folder, also where the task took away the right to do so."""

    def permit(function: object, path: str, _: object) -> None:
        parent = os.path.dirname(path)
        for each in (parent, path):
            if not os.path.islink(each) and os.path.isdir(each):
                os.chmod(each, 0o700)
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path, ignore_errors=True)
        elif os.path.lexists(path):
            os.unlink(path)

    if os.path.isdir(folder):
        shutil.rmtree(folder, onerror=permit)


async def open_mirror(task: Task, mirrors: str, *, run: str, env: Mapping[str, str]) -> str:
    """The local copy of a repository, made once and brought up to date once in a run.

    Raises:
        AttemptError: the repository cannot be reached.
    """
    name = hashlib.sha256(task.repository.encode()).hexdigest()[:24]
    mirror = os.path.join(mirrors, f"{name}.git")
    make_folders(mirrors, private=True)
    try:
        async with FileLock(f"{mirror}.lock", seconds=_PATIENCE):
            if await _is_current(mirror, run):
                return mirror
            if not await _is_whole(mirror, env):
                await asyncio.to_thread(shutil.rmtree, mirror, ignore_errors=True)
                words = ("clone", "--mirror", "--quiet", "--", task.repository, mirror)
            else:
                words = ("-C", mirror, "fetch", "--quiet", "--prune", "origin")
            fetched = await run_git(mirrors, env, *_TRANSPORTS, *words, seconds=_PATIENCE)
            if not fetched.ok and not (words[0] == "-C" and task.base and await _has(mirror, task.base, env)):
                raise AttemptError("source", f"can't get {task.repository}: {_last(fetched)}")
            with open(os.path.join(mirror, "bridle-run"), "w", encoding="ascii") as file:
                file.write(run)
    except Locked as error:
        raise AttemptError("source", f"another task is still fetching {task.repository}") from error
    return mirror


async def _is_current(mirror: str, run: str) -> bool:
    try:
        with open(os.path.join(mirror, "bridle-run"), encoding="ascii") as file:
            return file.read() == run and os.path.isfile(os.path.join(mirror, "HEAD"))
    except OSError:
        return False


async def _is_whole(mirror: str, env: Mapping[str, str]) -> bool:
    if not os.path.isfile(os.path.join(mirror, "bridle-run")):
        return False
    return (await run_git(mirror, env, "rev-parse", "--is-bare-repository")).output == "true"


async def _has(mirror: str, base: str, env: Mapping[str, str]) -> bool:
    return (await run_git(mirror, env, "cat-file", "-e", f"{base}^{{commit}}")).ok


async def _check_out(task: Task, mirror: str, work: str, *, run: str, env: Mapping[str, str]) -> str:
    found = await run_git(
        mirror, env, "rev-parse", "--verify", "--quiet", f"{task.base or 'HEAD'}^{{commit}}"
    )
    if not found.ok or not found.output:
        raise AttemptError("source", f"{task.repository} has no commit {task.base or 'HEAD'}")
    clone = ("clone", "--shared", "--no-checkout", "--quiet", "--", mirror, work)
    _must(await run_git(os.path.dirname(work), env, *_TRANSPORTS, *clone), "source", "clone the repository")
    branch = branch_name(run, task.id)
    made = await run_git(work, env, "checkout", "--quiet", "-b", branch, found.output)
    _must(made, "source", "check out the repository")
    await run_git(work, env, "remote", "set-url", "origin", task.repository)
    return found.output


def branch_name(run: str, task: str) -> str:
    return f"bridle/{run}/{task}"


def copy_folder(source: str, target: str) -> None:
    """Copy a folder: files, folders and links; sockets and pipes stay behind."""
    os.mkdir(target, 0o700)
    for entry in os.scandir(source):
        path = os.path.join(target, entry.name)
        if entry.is_symlink():
            os.symlink(os.readlink(entry.path), path)
        elif entry.is_dir():
            copy_folder(entry.path, path)
        elif entry.is_file():
            copy_quickly(entry.path, path)
            os.chmod(path, stat.S_IMODE(entry.stat().st_mode) | stat.S_IWUSR)


def unpack(archive: str, target: str) -> None:
    """Unpack a tar or zip file; what would lie outside the folder is refused.

    Raises:
        AttemptError: it is no archive, or a harmful one.
    """
    os.mkdir(target, 0o700)
    try:
        if zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as zipped:
                for each in zipped.infolist():
                    _require_inside(each.filename)
                    zipped.extract(each, target)
            return
        with closing(tarfile.open(archive)) as tarred:
            for member in tarred:
                _require_inside(member.name)
                if member.issym() or member.islnk():
                    _require_inside(os.path.join(os.path.dirname(member.name), member.linkname))
                elif not (member.isfile() or member.isdir()):
                    continue
                member.mode = (member.mode or 0o600) & 0o755 | 0o600
                member.uid, member.gid = os.getuid(), os.getgid()
                member.uname = member.gname = ""
                tarred.extract(member, target)
    except (tarfile.TarError, zipfile.BadZipFile, EOFError) as error:
        raise AttemptError("source", f"{archive} is not a tar or zip file: {error}") from error


def _require_inside(name: str) -> None:
    path = os.path.normpath(name)
    if os.path.isabs(name) or path.startswith("..") or "\0" in name:
        raise AttemptError("source", f"the archive has a path that leads outside: {name[:100]!r}")


def _write_files(work: str, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = os.path.join(work, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if not os.path.realpath(path).startswith(os.path.realpath(work) + os.sep):
            raise AttemptError("setup", f"{name} leads outside the work folder")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        if text.startswith("#!"):
            os.chmod(path, 0o755)


def write_check_files(space: Workspace, task: Task) -> None:
    """Put in place what checks bring, over what the session may have written there."""
    for name in task.check_files:
        path = os.path.join(space.work, name)
        if os.path.islink(path):
            os.unlink(path)
    try:
        _write_files(space.work, task.check_files)
    except OSError as error:
        raise _disk_error(error) from error


def _make_snapshots(path: str, alternates: str) -> None:
    """An empty git folder; starting git for that costs more than three files."""
    for each in ("objects/info", "refs/heads"):
        os.makedirs(os.path.join(path, each), mode=0o700)
    with open(os.path.join(path, "HEAD"), "w", encoding="ascii") as file:
        file.write("ref: refs/heads/before\n")
    with open(os.path.join(path, "config"), "w", encoding="ascii") as file:
        file.write("[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tlogallrefupdates = false\n")
    if alternates:
        with open(os.path.join(path, "objects/info/alternates"), "w", encoding="utf-8") as file:
            file.write(f"{alternates}\n")


async def _compare(space: Workspace, env: Mapping[str, str], *words: str) -> GitRun:
    place = (f"--git-dir={space.snapshots}", f"--work-tree={space.work}")
    return await run_git(
        space.work, env, *place, *_IDENTITY, "-c", "core.autocrlf=false", *words, seconds=600
    )


def _must(done: GitRun, kind: FailureKind, wish: str) -> GitRun:
    if not done.ok:
        if "No space left" in done.complaint:
            raise AttemptError("disk", "the disk of the worker is full")
        raise AttemptError(kind, f"git could not {wish}: {_last(done)}")
    return done


def _last(done: GitRun) -> str:
    lines = [line for line in done.complaint.splitlines() if line.strip()]
    return lines[-1].strip()[:300] if lines else f"exit code {done.code}"


def _disk_error(error: OSError) -> AttemptError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return AttemptError("disk", "the disk of the worker is full")
    return AttemptError("source", f"can't make the work folder: {error.strerror or error}")
