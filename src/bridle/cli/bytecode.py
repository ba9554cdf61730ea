"""The bytecode of a start from one file, so that a start opens one file instead of hundreds.

Importing a module from a folder costs a dozen system calls and a search in Python. Here it costs one `stat`,
which makes sure that the source has not changed, and one read. What a start needs in any case is put in place
in the order in which it is needed. Changed modules are imported as usual. `bytecode_writer.py` writes it.
"""

import marshal
import os
import sys
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import CodeType, ModuleType

FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PATH = os.path.join(FOLDER, "__pycache__", f"bytecode.{sys.implementation.cache_tag}.image")
LENGTH = 8
"""Bytes at the beginning that hold the length of the index."""
_FIRST_FREE = 3
"""Lower descriptors are standard streams: if one was closed, this file must not take its place."""

WRITER = (
    "-E", "-P", "-X", "no_debug_ranges", "-c",
    "import sys; sys.path.insert(0, sys.argv[1]); import bridle; del sys.path[0]; "
    "from bridle.cli.bytecode_writer import write_image; write_image()",
)  # fmt: skip
"""Writes the file for the folder that bridle is in, whatever variables and the current folder say. Code
that knows its lines and not its columns is an eighth smaller."""

FORMAT = f"5 {sys.version}"
"""Bytecode is the same for one build of Python only."""

State = tuple[int, int]
"""When a file was changed, in nanoseconds, and how long it is."""
Place = tuple[int, int]
"""Where something begins behind the index, and its length."""
Row = tuple[State, Place, bool, str]
"""A module: the state of its source, the place of its code, whether it is a package, and its source, which is
empty for a module of bridle: that is known from its name."""
Rows = dict[str, Row]
Index = tuple[str, int, list[str], Rows, Rows, Place, dict[str, list[str]]]
"""The format, the length of what follows, where Python searches, the rows of bridle and of others that every
run needs, where the other rows are, and what importing a module imports before it, in this order."""


def state_of(source: str) -> State:
    """When a file was changed and how long it is; zeros for a file that is gone."""
    try:
        found = os.stat(source)
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size


def source_of(name: str, *, is_package: bool) -> str:
    below = name.replace(".", "/").removeprefix("bridle")
    return f"{FOLDER}{below}/__init__.py" if is_package else f"{FOLDER}{below}.py"


def search_path() -> list[str]:
    """Where Python searches for modules, without the folder of the script that it runs."""
    return sys.path if sys.flags.safe_path else sys.path[1:]


class Image:
    """Finds and loads modules whose sources are as they were when the file was written."""

    def __init__(self, fd: int, begin: int, index: Index) -> None:
        _, _, path, rows, foreign, rest, starts = index
        self._fd = fd
        self._begin = begin
        # Where Python would search in other folders, it may find other modules of these names.
        self._rows = rows | foreign if path == search_path() else rows
        self._rest: Place | None = rest
        self._starts = starts
        self.is_stale = False

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        del path, target
        if name in self._starts and _has_one_thread():
            for needed in self._starts.pop(name):
                self._load(needed)
        loader = self._loader(name)
        return None if loader is None else loader.spec()

    def _load(self, name: str) -> None:
        """Import a module whose own imports are done.

        Python's way takes longer than most modules: it is ready for other threads and for circular imports.
        """
        package, _, last = name.rpartition(".")
        if name in sys.modules or package not in sys.modules or (loader := self._loader(name)) is None:
            return
        sys.audit("import", name, None, sys.path, sys.meta_path, sys.path_hooks)
        sys.modules[name] = module = loader.new_module()
        try:
            loader.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
        setattr(sys.modules[package], last, module)

    def _loader(self, name: str) -> "_ImageLoader | None":
        if (row := self._row(name)) is None:
            self.is_stale = self.is_stale or name.startswith("bridle.")
            return None
        state, (offset, length), is_package, source = row
        source = source or source_of(name, is_package=is_package)
        if state_of(source) != state:
            self.is_stale = True
            return None
        return _ImageLoader(name, source, (self._fd, length, self._begin + offset), is_package=is_package)

    def _row(self, name: str) -> Row | None:
        if name not in self._rows and self._rest is not None and name.startswith("bridle."):
            offset, length = self._rest
            self._rows |= marshal.loads(os.pread(self._fd, length, self._begin + offset))
            self._rest = None
        return self._rows.get(name)

    def code(self, name: str, source: str) -> bytes | None:
        """The marshalled code of a module; None for one that is not there, or not as its source is now."""
        if (row := self._row(name)) is None:
            return None
        state, (offset, length), is_package, known = row
        if (known or source_of(name, is_package=is_package)) != source or state != state_of(source):
            return None
        return os.pread(self._fd, length, self._begin + offset)


class _ImageLoader(SourceFileLoader):
    """Reads the code of one module; sources and data files are where they always are."""

    def __init__(self, name: str, source: str, place: tuple[int, int, int], *, is_package: bool) -> None:
        self.name = name
        self.path = source
        self._place = place
        """As `pread` takes it."""
        self._is_package = is_package

    def spec(self) -> ModuleSpec:
        spec = ModuleSpec(self.name, self, origin=self.path, is_package=self._is_package)
        if self._is_package:
            spec.submodule_search_locations = [os.path.dirname(self.path)]
        spec.has_location = True
        spec.cached = PATH
        return spec

    def new_module(self) -> ModuleType:
        spec = self.spec()
        module = ModuleType(self.name)
        module.__spec__ = spec
        module.__loader__ = self
        module.__file__ = self.path
        if self._is_package:
            module.__package__ = self.name
            module.__path__ = spec.submodule_search_locations or []
        else:
            module.__package__ = self.name.rpartition(".")[0]
        return module

    def get_code(self, fullname: str) -> CodeType:
        del fullname
        return marshal.loads(os.pread(*self._place))

    def exec_module(self, module: ModuleType) -> None:
        exec(self.get_code(self.name), module.__dict__)


def use_image() -> None:
    """Import everything else from the image, if there is one."""
    try:
        fd = os.open(PATH, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return
    image = read_image(fd) if fd >= _FIRST_FREE else None
    if image is None:
        os.close(fd)
        return
    sys.meta_path.insert(0, image)


def read_image(fd: int) -> Image | None:
    """An image that this build of Python has written; None if it is damaged."""
    try:
        length = int.from_bytes(os.pread(fd, LENGTH, 0), "big")
        index: Index = marshal.loads(os.pread(fd, length, LENGTH))
        is_whole = os.fstat(fd).st_size == LENGTH + length + index[1]
        is_ours = index[0] == FORMAT
    except (EOFError, MemoryError, OSError, OverflowError, TypeError, ValueError):
        return None
    return Image(fd, LENGTH + length, index) if is_whole and is_ours else None


def renew_image() -> None:
    """Write the image beside this process, unless it is up to date or the folder cannot be written."""
    image = next((each for each in sys.meta_path if isinstance(each, Image)), None)
    if image is not None and not image.is_stale:
        return
    if not os.access(FOLDER, os.W_OK):
        return
    import subprocess

    subprocess.Popen(
        [sys.executable, *WRITER, os.path.dirname(FOLDER)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _has_one_thread() -> bool:
    """Whether nothing else can be importing the same module now."""
    threading = sys.modules.get("threading")
    return threading is None or threading.active_count() == 1
