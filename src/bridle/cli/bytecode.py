"""All bytecode of bridle in one file, so that a start opens one file instead of hundreds.

Importing a module from a folder costs a dozen system calls and a search in Python. Here it costs one `stat`,
which makes sure that the source has not changed, and one read. Changed modules are imported as usual.
"""

import marshal
import os
import sys
from collections.abc import Iterator
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import CodeType

_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_PATH = os.path.join(_FOLDER, "__pycache__", f"bytecode.{sys.implementation.cache_tag}.image")
_VERSION = sys.version
"""Bytecode is the same for one build of Python only."""
_LENGTH = 8
"""Bytes at the beginning that hold the length of the index."""
_FIRST_FREE = 3
"""Lower descriptors are standard streams: if one was closed, this file must not take its place."""

_Row = tuple[bool, int, int, int, int]
"""Whether it is a package, the source's time of change and size, where its code begins, and its length."""


class Image:
    """Finds and loads modules of bridle whose sources are as they were when the file was written."""

    def __init__(self, fd: int, rows: dict[str, _Row], begin: int) -> None:
        self._fd = fd
        self._rows = rows
        self._begin = begin
        self.is_stale = False

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        del path, target
        if (row := self._rows.get(name)) is None:
            self.is_stale = self.is_stale or name.startswith("bridle.")
            return None
        source = _source(name, is_package=row[0])
        try:
            found = os.stat(source)
        except OSError:
            found = None
        if found is None or (found.st_mtime_ns, found.st_size) != row[1:3]:
            self.is_stale = True
            return None
        loader = _ImageLoader(name, source, (self._fd, row[4], self._begin + row[3]))
        spec = ModuleSpec(name, loader, origin=source, is_package=row[0])
        if row[0]:
            spec.submodule_search_locations = [os.path.dirname(source)]
        spec.has_location = True
        return spec


class _ImageLoader(SourceFileLoader):
    """Reads the code of one module; sources and data files are where they always are."""

    def __init__(self, name: str, source: str, place: tuple[int, int, int]) -> None:
        super().__init__(name, source)
        self._place = place
        """Descriptor, length and offset, as `pread` takes them."""

    def get_code(self, fullname: str) -> CodeType:
        del fullname
        return marshal.loads(os.pread(*self._place))


def use_image() -> None:
    """Import the rest of bridle from the image, if there is one."""
    try:
        fd = os.open(_PATH, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return
    index = _read_index(fd) if fd >= _FIRST_FREE else None
    if index is None:
        os.close(fd)
        return
    sys.meta_path.insert(0, Image(fd, *index))


def renew_image() -> None:
    """Write the image beside this process, unless it is up to date or the folder cannot be written."""
    image = next((each for each in sys.meta_path if isinstance(each, Image)), None)
    if image is not None and not image.is_stale:
        return
    if not os.access(_FOLDER, os.W_OK):
        return
    import subprocess

    subprocess.Popen(
        [sys.executable, "-I", os.path.abspath(__file__)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def write_image() -> None:
    """Compile what is not compiled yet, and write all of it to the image.

    Some installers do not compile, some environments forbid Python to: then starts without an image are slow.
    """
    rows: dict[str, _Row] = {}
    blobs: list[bytes] = []
    offset = 0
    for name, is_package in _modules(_FOLDER, "bridle"):
        source = _source(name, is_package=is_package)
        about = os.stat(source)
        code = SourceFileLoader(name, source).get_code(name)
        if code is None:
            continue
        blobs.append(marshal.dumps(code))
        rows[name] = (is_package, about.st_mtime_ns, about.st_size, offset, len(blobs[-1]))
        offset += len(blobs[-1])
    _write(rows, blobs)


def _modules(folder: str, name: str) -> Iterator[tuple[str, bool]]:
    """A package and everything below it: names, and whether they are packages."""
    yield name, True
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if entry.is_dir() and os.path.isfile(os.path.join(entry.path, "__init__.py")):
            yield from _modules(entry.path, f"{name}.{entry.name}")
        elif entry.name.endswith(".py") and entry.name != "__init__.py":
            yield f"{name}.{entry.name.removesuffix('.py')}", False


def _source(name: str, *, is_package: bool) -> str:
    below = name.replace(".", "/").removeprefix("bridle")
    return f"{_FOLDER}{below}/__init__.py" if is_package else f"{_FOLDER}{below}.py"


def _read_index(fd: int) -> tuple[dict[str, _Row], int] | None:
    """The index of an image that this Python has written, and where its code begins; None if damaged."""
    try:
        length = int.from_bytes(os.pread(fd, _LENGTH, 0), "big")
        version, size, rows = marshal.loads(os.pread(fd, length, _LENGTH))
        whole = os.fstat(fd).st_size == _LENGTH + length + size
    except (EOFError, MemoryError, OSError, OverflowError, TypeError, ValueError):
        return None
    return (rows, _LENGTH + length) if whole and version == _VERSION else None


def _write(rows: dict[str, _Row], blobs: list[bytes]) -> None:
    index = marshal.dumps((_VERSION, sum(map(len, blobs)), rows))
    part = f"{_PATH}.{os.getpid()}"
    with open(part, "wb") as file:
        file.write(len(index).to_bytes(_LENGTH, "big") + index)
        file.writelines(blobs)
    os.replace(part, _PATH)


if __name__ == "__main__":
    write_image()
