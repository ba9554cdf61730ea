"""Opens the place that was checked and no other, whatever links are made or moved meanwhile."""

import errno
import os
import os.path
import stat
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager

from msgspec import Struct

# Enough to walk through a directory, also one that may be entered but not listed.
_ENTER = getattr(os, "O_PATH", getattr(os, "O_SEARCH", os.O_RDONLY))
_FOLDER = _ENTER | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class PathChanged(OSError):
    """A path does not lead any more where it led when it was checked."""

    def __init__(self, path: str) -> None:
        super().__init__(errno.ELOOP, "its target changed; try again", path)


class Location(Struct, frozen=True):
    """A path, and the place that it leads to: absolute, with no link on the way."""

    path: str
    target: str


def locate(path: str, approved: Mapping[str, str]) -> Location:
    """Where an absolute path leads; where a decision was made, only what was approved is accepted.

    Raises:
        Diverted: the path was not approved, or leads elsewhere by now.
        OSError: links lead round in a circle.
    """
    target = os.path.realpath(path)
    if approved and approved.get(path) != target:
        raise PathChanged(path)
    if os.path.islink(target):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
    return Location(path, target)


def as_approved(path: str, approved: Mapping[str, str]) -> Location:
    """Like `locate`, for a caller that only opens the place through this module.

    A path that was approved as free of links is not followed again: opening it refuses a link made since.

    Raises:
        Diverted: the path was not approved, or leads elsewhere by now.
        OSError: links lead round in a circle.
    """
    return Location(path, path) if approved.get(path) == path else locate(path, approved)


def open_checked(
    location: Location, flags: int = os.O_RDONLY, *, look: Callable[[os.stat_result], None] | None = None
) -> int:
    """A descriptor of the file at the location; neither links nor pipes without a writer are waited for.

    `look` sees what is there before it is opened, and may raise: opening a device can have effects.

    Raises:
        Diverted: a part of the way has become a link.
        OSError: there is no such file, or it cannot be opened.
    """
    with folder_of(location) as (folder, name):
        if look is not None:
            look(_status(folder, name, location.path))
        try:
            return os.open(name, flags | _FILE, dir_fd=folder)
        except OSError as error:
            raise _explained(error, folder, name, location.path) from error


def status_checked(location: Location) -> os.stat_result:
    """The status of what is at the location.

    Raises:
        Diverted: a part of the way has become a link.
        OSError: nothing is there, or it cannot be looked at.
    """
    with folder_of(location) as (folder, name):
        return _status(folder, name, location.path)


@contextmanager
def folder_of(
    location: Location, *, create: bool = False, private: bool = False
) -> Generator[tuple[int, str], None, None]:
    """A handle of the directory that holds the location, and the name in it.

    Raises:
        Diverted: a part of the way has become a link.
        OSError: the directory is missing or cannot be entered or made.
    """
    parent, name = os.path.split(location.target)
    folder = open_folder(Location(location.path, parent), create=create, private=private)
    try:
        yield folder, name or "."
    finally:
        os.close(folder)


def open_folder(location: Location, *, create: bool = False, private: bool = False) -> int:
    """A handle of a directory, reached name by name from the root; `create` makes what is missing.

    Raises:
        Diverted: a part of the way has become a link.
        OSError: the directory is missing or cannot be entered or made.
    """
    handle = os.open("/", _FOLDER)
    for name in location.target.split("/"):
        if not name:
            continue
        try:
            below = _enter(handle, name, create=create, private=private)
        except OSError as error:
            raise _explained(error, handle, name, location.path) from error
        finally:
            os.close(handle)
        handle = below
    return handle


def _enter(folder: int, name: str, *, create: bool, private: bool) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=folder)
    except FileNotFoundError:
        if not create:
            raise
    try:
        os.mkdir(name, 0o700 if private else 0o777, dir_fd=folder)
    except FileExistsError:
        pass  # Another process was quicker; what it made is entered only if it is a directory.
    return os.open(name, _FOLDER, dir_fd=folder)


def _status(folder: int, name: str, path: str) -> os.stat_result:
    status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    if stat.S_ISLNK(status.st_mode):
        raise PathChanged(path)
    return status


def _explained(error: OSError, folder: int, name: str, path: str) -> OSError:
    """An error for the path as it was given; what is said about a link depends on the system."""
    if error.errno in (errno.ELOOP, errno.EMLINK):
        return PathChanged(path)
    if error.errno == errno.ENOTDIR and not _is_plain(folder, name):
        return PathChanged(path)
    return OSError(error.errno, error.strerror, path)


def _is_plain(folder: int, name: str) -> bool:
    """Whether something stands there that was never meant to be entered."""
    try:
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except OSError:
        return True
    return not (stat.S_ISLNK(mode) or stat.S_ISDIR(mode))
