"""Python packages that extend bridle: found by reading small text files, imported only when approved."""

import os
import os.path
import re
import signal
import sys
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from typing import Any

import msgspec
from msgspec import Struct

from bridle.config.approvals import digest
from bridle.config.edit import update
from bridle.host.files import make_folders, read_bytes, write_atomic
from bridle.host.paths import bridle_dir
from bridle.types.command import Command
from bridle.types.package import Contribution, FeatureSetting, PackageHook
from bridle.types.text import encodable, printable
from bridle.types.tool import Tool

GROUP = "bridle.plugins"
_FORMAT = 1
_LARGEST = 1024 * 1024
_MOST_FOLDERS = 50
_MOST_PACKAGES = 1_000
TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""What model services take: one wrong name, and they refuse every request."""


class Package(Struct, frozen=True, array_like=True):
    """An installed distribution that has something for bridle."""

    name: str
    version: str
    folder: str
    """The folder with its metadata."""
    entries: tuple[tuple[str, str], ...]
    """What each thing is called and where it is: `module:attribute`."""


class PackageFault(Struct, frozen=True):
    """A package that could not be taken in, and why."""

    package: Package
    message: str

    def __str__(self) -> str:
        return f"The package {self.package.name} {self.package.version} is ignored: {self.message}"


class _Folder(Struct, array_like=True):
    mtime_ns: int
    packages: list[Package]


class _Stored(Struct, array_like=True):
    format: int
    folders: dict[str, _Folder]


def find_packages(env: Mapping[str, str], path: Sequence[str] | None = None) -> list[Package]:
    """The packages on the import path, the first of each name; folders that have not changed are not read."""
    file = os.path.join(bridle_dir(env), "index", "packages.index")
    known = _load(file)
    folders: dict[str, _Folder] = {}
    for folder in list(dict.fromkeys(sys.path if path is None else path))[:_MOST_FOLDERS]:
        if encodable(folder) != folder:
            continue  # A path that is not text can be neither kept nor approved.
        try:
            mtime = os.stat(folder).st_mtime_ns
        except OSError:
            continue
        before = known.get(folder)
        fresh = before is not None and before.mtime_ns == mtime
        folders[folder] = (
            before if before is not None and fresh else _Folder(mtime, list(_read_folder(folder)))
        )
    if folders != known:
        _save(file, folders)
    found: dict[str, Package] = {}
    for each in folders.values():
        for package in each.packages:
            found.setdefault(package.name.lower(), package)
    return list(found.values())


def is_approved(env: Mapping[str, str], package: Package) -> bool:
    """Whether the user approved this package in this version, at this place, with this code behind it."""
    try:
        stored = msgspec.json.decode(read_bytes(_approvals(env), _LARGEST), type=dict[str, Any])
    except (OSError, msgspec.DecodeError):
        return False
    return stored.get(package.name.lower()) == digest(_definition(package))


def approve(env: Mapping[str, str], package: Package) -> None:
    """Let a package be imported from now on, as it is now.

    Raises:
        ConfigError: the file of approvals does not parse.
        OSError: it cannot be written.
    """
    value = digest(_definition(package))
    update(_approvals(env), lambda values: {**values, package.name.lower(): value}, mode=0o600)


def revoke(env: Mapping[str, str], package: Package) -> None:
    """Let a package be imported no more; harmless when it never was.

    Raises:
        ConfigError: the file of approvals does not parse.
        OSError: it cannot be written.
    """
    name = package.name.lower()
    if os.path.exists(_approvals(env)):
        update(_approvals(env), lambda values: {key: each for key, each in values.items() if key != name})


def load_package(package: Package, *, seconds: float = 10.0) -> list[Contribution] | PackageFault:
    """Import a package and take what it brings; whatever goes wrong in its code becomes a fault.

    What it prints goes to standard error, and it may take so many seconds, unless this is a thread.
    """
    brought: list[Contribution] = []
    for _, target in package.entries:
        try:
            with redirect_stdout(sys.stderr), _in_time(seconds):
                made = _make(target)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            # The boundary of what a package may do to a session: a defect in one becomes a sentence.
            return PackageFault(package, _sentence(target, error, seconds))
        if (wrong := _mismatch(made)) is not None:
            return PackageFault(package, f"{target} returned {wrong}")
        brought.append(made)
    return brought


def _make(target: str) -> Any:
    from importlib import import_module

    module, _, attribute = target.partition(":")
    found: Any = import_module(module)
    for name in attribute.split(".") if attribute else ():
        found = getattr(found, name)
    return found() if callable(found) else found


class _Late(BaseException):
    """The time is up; no `except Exception` in a package is meant to hold this."""


@contextmanager
def _in_time(seconds: float) -> Generator[None]:
    """Interrupt what takes longer; only the main thread can be."""
    from threading import current_thread, main_thread

    if current_thread() is not main_thread():
        yield
        return

    waiting = True

    def interrupt(_number: int, _frame: object) -> None:
        if waiting:
            raise _Late

    # Others may use the same clock: it is stopped before its signal changes hands, and set going again.
    running = signal.setitimer(signal.ITIMER_REAL, 0)
    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        waiting = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        signal.setitimer(signal.ITIMER_REAL, *running)


def _sentence(target: str, error: BaseException, seconds: float) -> str:
    match error:
        case SystemExit(code=code):
            said = f"tried to exit the program ({code})"
        case _Late():
            said = f"timed out after {seconds:g} seconds"
        case _:
            said = f"failed with {type(error).__name__}: {str(error)[:500]}"
    return printable(" ".join(f"{target} {said}".split()))


_PARTS: dict[str, type] = {
    "tools": Tool,
    "hooks": PackageHook,
    "commands": Command,
    "settings": FeatureSetting,
}


def _mismatch(made: Any) -> str | None:
    """What is wrong with a contribution: nothing checks its parts when it is made."""
    if not isinstance(made, Contribution):
        return f"{type(made).__name__}, not a bridle.types.package.Contribution"
    for name, kind in _PARTS.items():
        parts: Any = getattr(made, name)
        if not isinstance(parts, (tuple, list)) or not all(isinstance(each, kind) for each in parts):
            return f"{name} that are not a sequence of {kind.__module__}.{kind.__name__}"
    openers: Any = made.features
    if not isinstance(openers, (tuple, list)) or not all(map(callable, openers)):
        return "features that are not a sequence of functions"
    if len({tool.name for tool in made.tools}) < len(made.tools):
        return "two tools with the same name"
    for tool in made.tools:
        if not TOOL_NAME.fullmatch(str(tool.name)):
            return f"the tool name {str(tool.name)[:80]!r}: use letters, digits, dashes and underscores"
    for row in made.settings:
        if (wrong := _wrong_row(row)) is not None:
            return wrong
    hooks: Any = made.hooks
    if not all(isinstance(each.event, str) and callable(each.function) for each in hooks):
        return "a hook without an event name or a function"
    makers: Any = made.providers
    if not isinstance(makers, Mapping) or not all(map(callable, makers.values())):
        return "providers that do not map names to functions"
    return None


def _wrong_row(row: FeatureSetting) -> str | None:
    """What is wrong with the setting of a feature."""
    names: tuple[Any, Any] = row.feature, row.name
    if not all(isinstance(each, str) and TOOL_NAME.fullmatch(each) for each in names):
        return f"the setting name {str(names)[:80]}: use letters, digits, dashes and underscores"
    try:
        msgspec.json.schema(row.type)
        msgspec.convert(None, row.type)
    except msgspec.ValidationError:
        return None
    except Exception as error:
        # The type is one of the package, and may be one that nothing can be checked by.
        return f"the setting {row.feature}.{row.name} with an unsupported type: {error}"
    return None


def _definition(package: Package) -> dict[str, Any]:
    """What an approval is bound to: also where the code lies that would be imported."""
    return {
        "name": package.name,
        "version": package.version,
        "folder": package.folder,
        "entries": [list(entry) for entry in package.entries],
        "code": sorted({_origin(target.partition(":")[0]) for _, target in package.entries}),
    }


def _origin(module: str) -> str:
    """The file or folders that an import of the module's package would use; nothing is run to find out."""
    from importlib.machinery import PathFinder

    spec = PathFinder.find_spec(module.partition(".")[0])
    if spec is None:
        return ""
    # A package in several folders has no file of its own, and the first folder decides.
    return spec.origin or os.pathsep.join(spec.submodule_search_locations or ())


def _read_folder(folder: str) -> Iterator[Package]:
    try:
        with os.scandir(folder) as entries:
            names = sorted(
                entry.name for entry in entries if entry.name.endswith((".dist-info", ".egg-info"))
            )
    except OSError:
        return
    count = 0
    for name in names:
        package = _read_package(os.path.join(folder, name))
        if package is not None and count < _MOST_PACKAGES:
            count += 1
            yield package


def _read_package(folder: str) -> Package | None:
    entries = tuple(_entries(_text(os.path.join(folder, "entry_points.txt"))))
    if not entries:
        return None
    metadata = _text(os.path.join(folder, "METADATA")) or _text(os.path.join(folder, "PKG-INFO"))
    facts = dict(line.split(": ", 1) for line in metadata.partition("\n\n")[0].split("\n") if ": " in line)
    stem = os.path.basename(folder).rpartition(".")[0]
    return Package(facts.get("Name", stem), facts.get("Version", ""), folder, entries)


def _entries(text: str) -> Iterator[tuple[str, str]]:
    inside = False
    for line in map(str.strip, text.split("\n")):
        if line.startswith("["):
            inside = line == f"[{GROUP}]"
        elif inside and "=" in line and not line.startswith(("#", ";")):
            name, _, target = line.partition("=")
            yield name.strip(), target.partition("[")[0].strip()


def _text(path: str) -> str:
    try:
        return read_bytes(path, _LARGEST).decode("utf-8", "replace")
    except OSError:
        return ""


def _load(file: str) -> dict[str, _Folder]:
    try:
        stored = msgspec.msgpack.decode(read_bytes(file, 16 * _LARGEST), type=_Stored)
    except (OSError, msgspec.DecodeError):
        return {}  # An index that is missing or broken is rebuilt.
    return stored.folders if stored.format == _FORMAT else {}


def _save(file: str, folders: dict[str, _Folder]) -> None:
    try:
        make_folders(os.path.dirname(file), private=True)
        write_atomic(file, msgspec.msgpack.encode(_Stored(_FORMAT, folders)), mode=0o600)
    except OSError:
        pass  # Without an index the folders are read again at the next start.


def _approvals(env: Mapping[str, str]) -> str:
    return os.path.join(bridle_dir(env), "packages.json")
