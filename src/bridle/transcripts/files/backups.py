"""Copies of files, named by what they hold."""

import errno
import hashlib
import os
import stat
import time
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from bridle.host.files import make_folders, replace_quickly
from bridle.host.safe_open import Location, PathChanged, locate, open_checked

MOST_BYTES = 10 * 1024 * 1024
"""Larger files are not kept."""
_MOST_TOTAL = 256 * 1024 * 1024
_NAME_DIGITS = 32
_USUAL_MODE = 0o644
TICK_NS = 50_000_000
_VERSION = "@v1"
FOLDER, LINK, UNKEPT = f"folder{_VERSION}", f"link{_VERSION}", f"unkept{_VERSION}"
"""Names for what needs no copy, or has none; other readers find no such copy and leave it alone."""
_OBJECT = "git-"
_PLACE = "place-"
_CLONE = 0x40049409
"""The request that shares the blocks of a file where the file system can (FICLONE)."""


def object_name(object: str) -> str:
    """The name of a copy that lies in a repository."""
    return f"{_OBJECT}{object}{_VERSION}"


class Backup(Struct, frozen=True, kw_only=True):
    """A file at one moment."""

    name: str | None
    """The copy; None when there was no file."""
    version: int = 1
    time: str = ""
    mode: int = _USUAL_MODE
    stamp: tuple[int, ...] | None = None
    """How the file lay on disk when it was copied, for this process alone."""
    link: str | None = None
    """Where it leads, where it is a link."""
    size: int | None = None
    """How large it was, where the copy lies elsewhere and may not be the same."""

    @property
    def is_folder(self) -> bool:
        return self.name == FOLDER

    @property
    def object(self) -> str | None:
        """The object of git that holds it, where there is no copy."""
        name = self.name or ""
        return name[len(_OBJECT) : -len(_VERSION)] if name.startswith(_OBJECT) else None

    @property
    def is_lost(self) -> bool:
        """There was something that was not kept."""
        return self.name == UNKEPT

    def to_row(self, path: str) -> dict[str, Any]:
        row: dict[str, Any] = {"backupFileName": self.name, "version": self.version, "backupTime": self.time}
        row["realParentDir"] = os.path.dirname(path)
        more = {"linkTarget": self.link, "size": self.size}
        row |= {key: value for key, value in more.items() if value is not None}
        return row if self.mode == _USUAL_MODE else {**row, "mode": self.mode}

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> "Backup | None":
        """Read what a transcript says; None when it cannot be used."""
        match row:
            case {"backupFileName": None | str() as name, **rest} if name is None or _is_plain(name):
                version, time, mode = rest.get("version"), rest.get("backupTime"), rest.get("mode")
                link, size = rest.get("linkTarget"), rest.get("size")
                return cls(
                    link=link if isinstance(link, str) else None,
                    size=size if isinstance(size, int) else None,
                    name=name,
                    version=version if isinstance(version, int) else 1,
                    time=time if isinstance(time, str) else "",
                    mode=mode & 0o7777 if isinstance(mode, int) else _USUAL_MODE,
                )
            case _:
                return None


class Seen(Struct, frozen=True, kw_only=True):
    """A file as it is now: what it holds, or None where there is none."""

    data: bytes | None
    mode: int = 0o644
    stamp: tuple[int, ...] | None = None
    """How it lies on disk; None when a later look could not tell by it whether the file has changed."""


def look(path: str, *, most: int = MOST_BYTES) -> Seen:
    """Read the file at a path that was free of links.

    Raises:
        Diverted: a link is on the way now.
        OSError: it cannot be read, is not a regular file, or too large (EFBIG).
    """
    location = straight(path)
    try:
        file = open_checked(location)
    except FileNotFoundError:
        return Seen(data=None)
    with open(file, "rb") as opened:
        status = os.fstat(file)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "Not a regular file", path)
        if status.st_size > most:
            raise OSError(errno.EFBIG, f"Larger than {most} bytes", path)
        data = opened.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"Larger than {most} bytes", path)
    # What was written a moment ago can be written again and keep its time: clocks of file systems tick.
    settled = time.time_ns() - status.st_mtime_ns > TICK_NS
    return Seen(data=data, mode=stat.S_IMODE(status.st_mode), stamp=stamp_of(status) if settled else None)


def straight(path: str) -> Location:
    """The place at a path on which no link may be.

    Raises:
        Diverted: there is one.
    """
    try:
        location = locate(path, {})
    except OSError as error:
        raise PathChanged(path) from error
    if location.target != path:
        raise PathChanged(path)
    return location


def stamp_of(status: os.stat_result) -> tuple[int, ...]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def stamp_at(path: str) -> tuple[int, ...] | None:
    """How the file lies on disk; None when there is none."""
    try:
        return stamp_of(os.lstat(path))
    except OSError:
        return None


class BackupFolder:
    """The copies of one session, readable by the user alone."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._total: int | None = None

    def keep(self, data: bytes) -> str | None:
        """Keep a copy and return its name; None when the session has kept too much already.

        Raises:
            OSError: it cannot be written.
        """
        name = f"{hashlib.sha256(data).hexdigest()[:_NAME_DIGITS]}@v1"
        place = os.path.join(self.path, name)
        if os.path.lexists(place):
            return name
        if self._kept() + len(data) > _MOST_TOTAL:
            return None
        make_folders(self.path, private=True)
        replace_quickly(place, data)
        self._total = self._kept() + len(data)
        return name

    def keep_file(self, path: str, status: os.stat_result) -> str | None:
        """Keep a large file without reading it: its blocks are shared, or else the file gets a second name.

        None where neither can be done.
        """
        name = (
            f"{_PLACE}{status.st_dev:x}-{status.st_ino:x}-{status.st_mtime_ns:x}-{status.st_size:x}{_VERSION}"
        )
        place = os.path.join(self.path, name)
        if os.path.lexists(place):
            return name
        make_folders(self.path, private=True)
        try:
            if _cloned(path, place):
                return name
            os.link(path, place, follow_symlinks=False)
        except OSError:
            return None
        return name

    def read(self, name: str) -> bytes:
        """A copy.

        Raises:
            OSError: it is gone, or the file that it is a second name of was overwritten in place.
        """
        if name.startswith(_PLACE):
            self._require_same(name)
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(os.path.join(self.path, name), flags), "rb") as file:
            return file.read()

    def _require_same(self, name: str) -> None:
        _, _, mtime, size = name.removeprefix(_PLACE).removesuffix(_VERSION).split("-")
        status = os.lstat(os.path.join(self.path, name))
        shared = status.st_nlink > 1 or status.st_mode & 0o077
        if status.st_size != int(size, 16) or (shared and status.st_mtime_ns != int(mtime, 16)):
            raise OSError(errno.ESTALE, "It was overwritten in place", name)

    def adopt(self, name: str, other: "BackupFolder") -> None:
        """Take over a copy of another session; one that is gone there stays gone."""
        place = os.path.join(self.path, name)
        if os.path.lexists(place):
            return
        try:
            make_folders(self.path, private=True)
            os.link(os.path.join(other.path, name), place, follow_symlinks=False)
        except OSError:
            # Not every file system has links.
            try:
                data = other.read(name)
            except OSError:
                return
            self.keep(data)

    def remove(self) -> None:
        import shutil

        shutil.rmtree(self.path, ignore_errors=True)

    def _kept(self) -> int:
        if self._total is None:
            try:
                with os.scandir(self.path) as entries:
                    self._total = sum(entry.stat(follow_symlinks=False).st_size for entry in entries)
            except OSError:
                self._total = 0
        return self._total


def _is_plain(name: str) -> bool:
    """Whether a name from a transcript stays inside the folder."""
    return bool(name) and "/" not in name and "\0" not in name and name not in (".", "..")


def _cloned(source: str, place: str) -> bool:
    """Whether a file shares the blocks of another now; nothing is left where it can't."""
    import fcntl

    with open(os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as old:
        made = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            fcntl.ioctl(made, _CLONE, old.fileno())
        except OSError:
            os.unlink(place)
            return False
        finally:
            os.close(made)
    return True
