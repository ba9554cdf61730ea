"""Copies and unpacks folders that strangers made: plain files only, inside their folder, of bounded size."""

import hashlib
import io
import os
import os.path
import stat
import unicodedata
from collections.abc import Iterator
from typing import IO

from msgspec import Struct

from bridle.types.errors import ConfigError

_SKIPPED = (".git", ".hg", ".svn")
_CHUNK = 1 << 16
_BOMB = "the content is too large: it looks like an archive bomb"


class Bounds(Struct, frozen=True, kw_only=True):
    entries: int = 20_000
    size: int = 256 * 1024 * 1024
    ratio: int = 200
    """How many times larger than the archive its content may be, beyond the first mebibyte."""
    depth: int = 40
    name: int = 255


USUAL = Bounds()


def copy_tree(source: str, target: str, *, inside: str | None = None, bounds: Bounds = USUAL) -> None:
    """Copy a folder without version control; links become copies, and may not lead out of `inside`.

    Raises:
        ConfigError: something in it cannot be taken; `target` is incomplete then.
        OSError: it is invalid or written.
    """
    limit = os.path.realpath(inside or source)
    writer = _Writer(target, bounds)
    for path, below in _walk(os.path.realpath(source), limit, bounds):
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise ConfigError(f"{below} is not a regular file")
            writer.write(below, file, executable=bool(status.st_mode & 0o111))
    os.makedirs(target, exist_ok=True)


def unpack(data: bytes, target: str, *, name: str, bounds: Bounds = USUAL) -> None:
    """Unpack a tar or zip archive; a single folder around everything is left away.

    Raises:
        ConfigError: the archive is broken or hostile; `target` is incomplete then.
        OSError: it cannot be written.
    """
    import lzma
    import tarfile
    import zipfile
    import zlib

    most = bounds.ratio * max(len(data), 1 << 20)
    writer = _Writer(target, Bounds(entries=bounds.entries, size=min(bounds.size, most), depth=bounds.depth))
    try:
        if zipfile.is_zipfile(io.BytesIO(data)):
            _unpack_zip(data, writer)
        else:
            _unpack_tar(data, writer)
    except (
        tarfile.TarError,
        zipfile.BadZipFile,
        EOFError,
        zlib.error,
        lzma.LZMAError,
        NotImplementedError,
        RuntimeError,
        # Names that are not text, places before the beginning and names that are empty, in zip archives.
        ValueError,
        IndexError,
    ) as error:
        raise ConfigError(f"could not unpack {name}: {error}") from error
    except OSError as error:
        if error.errno is not None:
            raise
        raise ConfigError(f"could not unpack {name}: {error}") from error
    _strip(target)


def tree_digest(folder: str) -> str:
    """A name for the content of a folder of plain files."""
    digest = hashlib.sha256()
    for parent, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted(files):
            path = os.path.join(parent, name)
            below = os.path.relpath(path, folder)
            with open(path, "rb") as file:
                executable = bool(os.fstat(file.fileno()).st_mode & 0o100)
                content = hashlib.file_digest(file, "sha256").digest()
            digest.update(f"{below}\0{executable}\0".encode(errors="surrogateescape") + content)
    return digest.hexdigest()


def _walk(folder: str, limit: str, bounds: Bounds) -> Iterator[tuple[str, str]]:
    """Every file with its path below the folder; folders that links lead to are entered too."""
    waiting: list[tuple[str, str, frozenset[str]]] = [(folder, "", frozenset({folder}))]
    seen = 0
    while waiting:
        place, below, above = waiting.pop()
        with os.scandir(place) as listed:
            entries = sorted(listed, key=lambda entry: entry.name)
        for entry in entries:
            seen += 1
            if seen > bounds.entries:
                raise ConfigError(f"more than {bounds.entries} files")
            path = f"{below}/{entry.name}" if below else entry.name
            if entry.name in _SKIPPED:
                continue
            real = os.path.realpath(entry.path) if entry.is_symlink() else entry.path
            if entry.is_symlink() and real != limit and not real.startswith(limit + os.sep):
                raise ConfigError(f"{path} is a link to a place outside the folder")
            if os.path.isdir(real):
                if real in above:
                    raise ConfigError(f"{path} is a circular link")
                waiting.append((real, path, above | {real}))
            else:
                if not stat.S_ISREG(os.stat(real).st_mode):
                    raise ConfigError(f"{path} is not a regular file")
                yield real, path


class _Writer:
    """Puts files below a new folder and counts what it writes."""

    def __init__(self, target: str, bounds: Bounds) -> None:
        self._target = target
        self._bounds = bounds
        self._names: dict[str, str] = {}
        self._files: set[str] = set()
        self._left = bounds.size
        self.entries = 0
        self.room = bounds.size + 2048 * bounds.entries
        """Bytes that an archive may have in all, headers included."""

    def count(self) -> None:
        self.entries += 1
        if self.entries > self._bounds.entries:
            raise ConfigError(f"more than {self._bounds.entries} files")

    def write(self, below: str, file: IO[bytes], *, executable: bool) -> None:
        parts = self._parts(below)
        self._claim(parts)
        path = os.path.join(self._target, *parts)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        # Only these two modes: what runs with the rights of another has no place in a plugin.
        mode = 0o755 if executable else 0o644
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(path, flags, mode)
        with os.fdopen(descriptor, "wb") as out:
            while chunk := file.read(_CHUNK):
                self._left -= len(chunk)
                if self._left < 0:
                    raise ConfigError(_BOMB)
                out.write(chunk)

    def folder(self, below: str) -> None:
        if below.strip("./"):
            self._claim(self._parts(below.rstrip("/")), folder=True)

    def _parts(self, below: str) -> list[str]:
        parts = [part for part in below.split("/") if part not in ("", ".")]
        hostile = below.startswith("/") or ".." in parts or "\\" in below or "\0" in below
        if hostile or not parts or len(parts) > self._bounds.depth:
            raise ConfigError(f"{below[:200]!r} is outside the folder")
        if any(len(part.encode(errors="surrogateescape")) > self._bounds.name for part in parts):
            raise ConfigError(f"the name {below[:200]!r} is too long")
        return parts

    def _claim(self, parts: list[str], *, folder: bool = False) -> None:
        """Two names that some file systems take for one are refused, so that all get the same result."""
        for end in range(1, len(parts) + 1):
            name = "/".join(parts[:end])
            key = unicodedata.normalize("NFC", name).casefold()
            known = self._names.setdefault(key, name)
            again = end == len(parts) and not folder and known == name and key in self._files
            if known != name or again:
                raise ConfigError(f"{known!r} and {name!r} are the same name on some file systems")
        if not folder:
            self._files.add(unicodedata.normalize("NFC", "/".join(parts)).casefold())


def _unpack_tar(data: bytes, writer: _Writer) -> None:
    import tarfile

    stream = _Counted(_decompressed(data), writer.room)
    with tarfile.open(fileobj=stream, mode="r|") as archive:
        for member in archive:
            writer.count()
            if member.isdir():
                writer.folder(member.name)
                continue
            if not member.isreg() or member.issparse():
                raise ConfigError(
                    f"{member.name[:200]!r} is not a regular file: links and devices are not supported"
                )
            file = archive.extractfile(member)
            assert file is not None
            writer.write(member.name, file, executable=bool(member.mode & 0o100))


def _decompressed(data: bytes) -> io.BufferedIOBase:
    import bz2
    import gzip
    import lzma

    packed = io.BytesIO(data)
    if data.startswith(b"\x1f\x8b"):
        return gzip.open(packed)
    if data.startswith(b"BZh"):
        return bz2.open(packed)
    if data.startswith(b"\xfd7zXZ"):
        return lzma.open(packed)
    return packed


class _Counted(io.RawIOBase):
    """Gives out only so many bytes: the headers of an archive can be a bomb as well as its files."""

    def __init__(self, inner: io.BufferedIOBase, most: int) -> None:
        self._inner = inner
        self._left = most

    def read(self, size: int = -1, /) -> bytes:
        data = self._inner.read(min(size, 1 << 20) if size >= 0 else 1 << 20)
        self._left -= len(data)
        if self._left < 0:
            raise ConfigError(_BOMB)
        return data


def _unpack_zip(data: bytes, writer: _Writer) -> None:
    import zipfile

    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for member in archive.infolist():
            writer.count()
            if member.is_dir():
                writer.folder(member.filename)
                continue
            mode = member.external_attr >> 16
            if stat.S_IFMT(mode) not in (0, stat.S_IFREG) or member.flag_bits & 1:
                raise ConfigError(f"{member.filename[:200]!r} is not a regular file: links are not supported")
            with archive.open(member) as file:
                writer.write(member.filename, file, executable=bool(mode & 0o100))


def _strip(target: str) -> None:
    """Take the one folder away that archives usually put around everything."""
    os.makedirs(target, exist_ok=True)
    names = os.listdir(target)
    inner = os.path.join(target, names[0]) if len(names) == 1 else ""
    if not inner or not os.path.isdir(inner) or names[0] == ".claude-plugin":
        return
    aside = f"{target}.inner"
    os.rename(inner, aside)
    os.rmdir(target)
    os.rename(aside, target)
