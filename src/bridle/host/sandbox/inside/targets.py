"""Finds the directory and the name that a path of a confined command means."""

from __future__ import annotations

import ctypes
import errno
import os

from bridle.host.sandbox.inside.kernel import open_without_links

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bridle.host.sandbox.inside.requests import Request

MOST_LINKS = 40
LOOK = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
KIND, FOLDER, LINK, REGULAR, PIPE = 0o170000, 0o040000, 0o120000, 0o100000, 0o010000


class Target:
    """A name in an open directory: what a path leads to, its last link not followed."""

    def __init__(self, folder: int, name: str, where: str) -> None:
        self.folder = folder
        self.name = name
        self.path = f"{where.rstrip('/')}/{name.rstrip('/')}"
        self.descriptors = where.startswith("/proc/")
        if self.descriptors and not _is_descriptor_folder(where):
            os.close(folder)
            raise OSError(errno.EACCES, "writing to /proc")

    def close(self) -> None:
        os.close(self.folder)


def find_target(request: Request, folder: int, path: str) -> Target:
    """The directory that a path leads to and the name in it; takes the folder over."""
    if not path:
        os.close(folder)
        raise OSError(errno.ENOENT, "an empty path")
    stem = path.rstrip("/")
    above, slash, name = stem.rpartition("/")
    name = (name or ".") + path[len(stem) :][:1] if stem else "."
    above = above if not slash or above else "/"
    if not stem:
        above = "/"
    try:
        parent = _enter(request, folder, above)
    finally:
        os.close(folder)
    return Target(parent, name, where(parent))


def where(folder: int) -> str:
    """The path of an open directory."""
    return os.readlink(f"/proc/self/fd/{folder}")


def _enter(request: Request, folder: int, path: str) -> int:
    """Open a directory: at once when no link is on the way, else step by step as the command would."""
    if not path:
        return os.dup(folder)
    found = open_without_links(folder, path, os.O_PATH | os.O_DIRECTORY)
    if found >= 0:
        return found
    if ctypes.get_errno() != errno.ELOOP:
        raise OSError(ctypes.get_errno(), "opening the directory")
    return _walk(request, folder, path)


def _walk(request: Request, folder: int, path: str) -> int:
    here = os.open("/", LOOK) if path.startswith("/") else os.dup(folder)
    rest = [part for part in path.split("/") if part not in ("", ".")]
    links = 0
    try:
        while rest:
            part = rest.pop(0)
            if part in ("self", "thread-self") and where(here) == "/proc":
                # Here it would be this process and not the one that asked.
                part = str(request.task)
            following = os.open(part, LOOK, dir_fd=here)
            if os.fstat(following).st_mode & KIND != LINK:
                os.close(here)
                here = following
                continue
            leads = os.readlink("", dir_fd=following)
            os.close(following)
            links += 1
            if links > MOST_LINKS:
                raise OSError(errno.ELOOP, "too many links")
            if leads.startswith("/"):
                os.close(here)
                here = os.open("/", LOOK)
            rest = [part for part in leads.split("/") if part not in ("", ".")] + rest
        if os.fstat(here).st_mode & KIND != FOLDER:
            raise OSError(errno.ENOTDIR, "not a directory")
        return os.dup(here)
    finally:
        os.close(here)


def _is_descriptor_folder(place: str) -> bool:
    parts = place.split("/")
    return len(parts) == 4 and parts[2] != str(os.getpid()) and parts[3] == "fd"
