"""Writes the file that `bytecode.py` reads, in a process of its own."""

import ast
import marshal
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from types import ModuleType

from bridle.cli.bytecode import (
    FOLDER,
    FORMAT,
    LENGTH,
    PATH,
    Image,
    Place,
    Rows,
    read_image,
    search_path,
    source_of,
    state_of,
)  # fmt: skip

_ENTRIES = (
    "bridle.cli.main",
    "bridle.cli.headless.print_mode",
    "bridle.cli.options",
    "bridle.providers.http_provider",
    "bridle.providers.dialects.messages",
    "bridle.tools.deferred_toolbox",
    "h11",
    "bridle.features.budgets.token_goal",
    "bridle.transcripts.retention",
    "bridle.session.migrations",
    "bridle.cli.terminal.interactive",
    "bridle.cli.terminal.session",
)
"""What every run imports, one after the other."""


def write_image() -> None:
    """Compile what is not compiled yet, and write all of it to the image.

    Some installers do not compile, some environments forbid Python to: then starts without an image are slow.
    """
    starts = _record_starts()
    older = _older_image()
    content = _Content()
    rows: Rows = {}
    rest: Rows = {}
    foreign: Rows = {}
    for name, is_package in _modules(FOLDER, "bridle"):
        source = source_of(name, is_package=is_package)
        is_needed = name in sys.modules
        blob = None if older is None else older.code(name, source)
        blob = blob or (_compiled(source) if is_needed else _cached(name, source))
        if (place := content.add(blob)) is not None:
            kept = rows if is_needed else rest
            kept[name] = (state_of(source), place, is_package, "")
    for name, source, is_package in _foreign_modules():
        blob = None if older is None else older.code(name, source)
        blob = blob or _compiled(source, of_others=True)
        if (place := content.add(blob)) is not None:
            foreign[name] = (state_of(source), place, is_package, source)
    others = content.add(marshal.dumps(rest))
    length = sum(map(len, content.parts))
    index = marshal.dumps((FORMAT, length, search_path(), rows, foreign, others, starts))
    part = f"{PATH}.{os.getpid()}"
    with open(part, "wb") as file:
        file.write(len(index).to_bytes(LENGTH, "big") + index)
        file.writelines(content.parts)
    os.replace(part, PATH)


class _Content:
    """What follows the index: values one behind the other."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self._length = 0

    def add(self, value: bytes | None) -> Place | None:
        """Where a value is."""
        if value is None:
            return None
        self.parts.append(value)
        place = self._length, len(value)
        self._length += place[1]
        return place


def _older_image() -> Image | None:
    """The image that is there: code of sources that have not changed is taken from it."""
    try:
        return read_image(os.open(PATH, os.O_RDONLY | os.O_CLOEXEC))
    except OSError:
        return None


def _cached(name: str, source: str) -> bytes | None:
    """The code that Python keeps beside a source, which is compiled for that where it is not yet."""
    try:
        code = SourceFileLoader(name, source).get_code(name)
    except (OSError, SyntaxError, ValueError):
        return None
    return None if code is None else marshal.dumps(code)


def _compiled(source: str, *, of_others: bool = False) -> bytes | None:
    """The code of a source as starts need it; None for one that cannot be compiled."""
    try:
        with open(source, "rb") as file:
            tree = ast.parse(file.read(), source)
        if of_others:
            # As `python -OO` has it: docstrings would take memory in every process.
            return marshal.dumps(compile(tree, source, "exec", dont_inherit=True, optimize=2))
        _drop_annotations(tree)
        return marshal.dumps(compile(tree, source, "exec", dont_inherit=True))
    except (OSError, SyntaxError, ValueError):
        return None


def _drop_annotations(tree: ast.Module) -> None:
    """Leave out the annotations of functions: nothing reads them, and each start would make them anew."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.returns = None
        elif isinstance(node, ast.arg):
            node.annotation = None


def _record_starts() -> dict[str, list[str]]:
    """What each entry imports of bridle, in the order in which it is ready."""
    starts: dict[str, list[str]] = {}
    recorder = _Recorder()
    sys.meta_path.insert(0, recorder)
    for entry in _ENTRIES:
        recorder.ready = []
        with suppress(Exception):  # It may be half written: a start will say what is wrong with it.
            import_module(entry)
            starts[entry] = recorder.ready[:-1]
    sys.meta_path.remove(recorder)
    return starts


class _Recorder:
    """Finds modules of bridle, and notes each when it is ready."""

    def __init__(self) -> None:
        self.ready: list[str] = []

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        del path, target
        for is_package in (False, True):
            source = source_of(name, is_package=is_package)
            if name.startswith("bridle.") and os.path.isfile(source):
                loader = _RecordingLoader(name, source, self.ready)
                return spec_from_file_location(name, loader=loader)
        return None


class _RecordingLoader(SourceFileLoader):
    def __init__(self, name: str, source: str, ready: list[str]) -> None:
        super().__init__(name, source)
        self._ready = ready

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        self._ready.append(self.name)


def _foreign_modules() -> Iterator[tuple[str, str, bool]]:
    """Modules of others that the entries have imported: names, sources, and whether they are packages."""
    for name, module in sorted(sys.modules.items()):
        spec = getattr(module, "__spec__", None)
        if spec is None or name.partition(".")[0] == "bridle" or spec.name != name:
            continue
        if isinstance(spec.loader, SourceFileLoader) and spec.origin is not None:
            yield name, spec.origin, spec.submodule_search_locations is not None


def _modules(folder: str, name: str) -> Iterator[tuple[str, bool]]:
    """A package and everything below it: names, and whether they are packages."""
    yield name, True
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if entry.is_dir() and os.path.isfile(os.path.join(entry.path, "__init__.py")):
            yield from _modules(entry.path, f"{name}.{entry.name}")
        elif entry.name.endswith(".py") and entry.name != "__init__.py":
            yield f"{name}.{entry.name.removesuffix('.py')}", False
