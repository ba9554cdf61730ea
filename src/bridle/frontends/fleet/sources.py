"""Brings the folder, archive or repository of a task to a machine that does not have it."""

import asyncio
import io
import os
import tarfile
from collections.abc import Mapping

from msgspec.structs import replace

from bridle.frontends.fleet.artifacts import digest_of
from bridle.frontends.fleet.records import Task
from bridle.frontends.fleet.workspace import AttemptError
from bridle.host.files import make_folders, write_new
from bridle.host.git.commands import run_git

_MOST = 2 * 1024**3


def is_local(task: Task) -> bool:
    """Whether the source of a task is a path of the driver's machine."""
    return bool(task.origin) and os.path.isabs(task.origin)


async def pack(task: Task, folder: str, env: Mapping[str, str]) -> bytes:
    """The source of a task as bytes: a bundle of git, a tar file, or the archive itself.

    Raises:
        AttemptError: it cannot be read, or is too large.
    """
    try:
        if task.repository:
            data = await _bundle(task.repository, folder, env)
        elif task.folder:
            data = await asyncio.to_thread(_tar, task.folder)
        else:
            data = await asyncio.to_thread(_read, task.archive)
    except OSError as error:
        raise AttemptError("source", f"can't read {task.origin}: {error.strerror}") from error
    if len(data) > _MOST:
        raise AttemptError(
            "source", f"{task.origin} has more than 2 GB: name an address that workers can reach"
        )
    return data


def place(task: Task, data: bytes, folder: str) -> Task:
    """Write a source on the machine of the worker; the task that names it there."""
    name = digest_of(data)[:32] + (".bundle" if task.repository else ".tar")
    path = os.path.join(folder, "sources", name)
    make_folders(os.path.dirname(path), private=True)
    if not os.path.exists(path):
        partial = f"{path}.{os.getpid()}"
        write_new(partial, data)
        os.replace(partial, path)
    if task.repository:
        return replace(task, repository=path)
    return replace(task, folder="", archive=path)


async def _bundle(repository: str, folder: str, env: Mapping[str, str]) -> bytes:
    make_folders(folder, private=True)
    path = os.path.join(folder, "source.bundle")
    done = await run_git(repository, env, "bundle", "create", "--quiet", path, "HEAD", "--all", seconds=900)
    if not done.ok:
        raise AttemptError("source", f"can't pack {repository}: {done.complaint}")
    try:
        return await asyncio.to_thread(_read, path)
    finally:
        os.unlink(path)


def _tar(folder: str) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        tar.add(folder, arcname=".", filter=_plain)
    return packed.getvalue()


def _plain(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """A member without its owner and time, so that the same files have the same digest."""
    if not (member.isfile() or member.isdir() or member.issym()):
        return None
    member.mtime, member.uid, member.gid, member.uname, member.gname = 0, 0, 0, "", ""
    return member


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()
