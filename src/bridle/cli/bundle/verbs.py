"""`bridle bundle`: puts this installation and all that it needs into one file, for use without network."""

import io
import os
import re
import sys
import sysconfig
import zipfile
from collections.abc import Iterator, Mapping
from importlib import metadata

import msgspec

import bridle
from bridle.cli.say import tell
from bridle.cli.subcommands.parser import ParsedArguments
from bridle.types.errors import ConfigError, UsageError
from bridle.version import __version__

_SHEBANG = b"#!/usr/bin/env python3\n"
_LEFT_OUT = ("__pycache__", ".pyc")
_EXTRA = re.compile(r"extra\s*==\s*['\"]([^'\"]+)['\"]")
_REQUIREMENT = re.compile(r"([A-Za-z0-9][\w.-]*)\s*(?:\[([^\]]*)\])?")
_TIME = (1980, 1, 1, 0, 0, 0)
"""Of every file in the bundle, so that the same installation gives the same bytes."""


def run_bundle(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Write the bundle.

    Raises:
        UsageError: an extra is not known or not installed.
        ConfigError: the file cannot be written.
    """
    del env
    system = f"{sysconfig.get_platform()}-cp{sys.version_info.major}{sys.version_info.minor}"
    path = given.text("output") or f"bridle-{__version__}-{system}.pyz"
    extras = tuple(name for word in given.all("extras") for name in word.split(",") if name)
    found = _needed(extras)
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        _put(archive, "__main__.py", _installer())
        about = {
            "version": __version__,
            "python": [sys.version_info.major, sys.version_info.minor],
            "platform": sysconfig.get_platform(),
            "packages": {each.metadata["Name"]: each.version for each in found},
        }
        _put(archive, "bundle.json", msgspec.json.format(msgspec.json.encode(about), indent=1))
        names: set[str] = set()
        for each in found:
            for name, content, mode in _files(each):
                if name not in names:
                    names.add(name)
                    _put(archive, f"site/{name}", content, mode=mode)
    try:
        with open(path, "wb") as file:
            file.write(_SHEBANG + data.getvalue())
        os.chmod(path, 0o755)
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}.") from error
    size = os.path.getsize(path) / 1024 / 1024
    return tell(f"{path}: {size:.1f} MB, {len(found)} packages", f"Install it there with: python3 {path}")


def _needed(extras: tuple[str, ...]) -> list[metadata.Distribution]:
    """bridle and every package that it needs here, each once."""
    own = metadata.distribution("bridle")
    known = own.metadata.get_all("Provides-Extra") or []
    if unknown := sorted(set(extras) - set(known)):
        raise UsageError(f"There is no extra {unknown[0]!r}. Extras are: {', '.join(sorted(known))}.")
    found = {"bridle": own}
    waiting = [(own, extras)]
    while waiting:
        each, wanted = waiting.pop()
        for line in each.requires or ():
            requirement, _, marker = line.partition(";")
            asked = set(_EXTRA.findall(marker))
            if asked and not asked & set(wanted):
                continue
            name, more = _name_of(requirement)
            if name in found:
                continue
            try:
                found[name] = metadata.distribution(name)
            except metadata.PackageNotFoundError as error:
                if marker.strip() and not asked:
                    continue  # It is for other systems.
                who = each.metadata["Name"]
                raise UsageError(
                    f"{who} needs {name}, which is not installed here: install it first."
                ) from error
            waiting.append((found[name], more))
    return [found[name] for name in sorted(found)]


def _name_of(requirement: str) -> tuple[str, tuple[str, ...]]:
    """The name of a requirement, and the extras that it asks for."""
    match = _REQUIREMENT.match(requirement.strip())
    if match is None:
        raise UsageError(f"{requirement.strip()!r} is no requirement that is known here.")
    extras = tuple(each.strip() for each in (match[2] or "").split(",") if each.strip())
    return re.sub(r"[-_.]+", "-", match[1]).lower(), extras


def _files(package: metadata.Distribution) -> Iterator[tuple[str, bytes, int]]:
    """What a package has put into site-packages; for bridle itself what runs now."""
    if package.metadata["Name"] == "bridle":
        yield from _own_files(package)
        return
    for file in package.files or ():
        name = str(file)
        if name.startswith("..") or name.endswith(_LEFT_OUT) or "__pycache__" in name:
            continue
        path = str(package.locate_file(file))
        if os.path.isfile(path):
            yield name, _read(path), os.stat(path).st_mode & 0o777


def _own_files(package: metadata.Distribution) -> Iterator[tuple[str, bytes, int]]:
    root = os.path.dirname(os.path.abspath(bridle.__file__))
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for file in sorted(files):
            path = os.path.join(folder, file)
            if not file.endswith(_LEFT_OUT):
                yield f"bridle/{os.path.relpath(path, root)}", _read(path), os.stat(path).st_mode & 0o777
    for name in ("METADATA", "entry_points.txt"):
        if (text := package.read_text(name)) is not None:
            yield f"bridle-{__version__}.dist-info/{name}", text.encode(), 0o644
    yield f"bridle-{__version__}.dist-info/INSTALLER", b"bridle bundle\n", 0o644


def _installer() -> bytes:
    with open(os.path.join(os.path.dirname(__file__), "installer.py"), "rb") as file:
        return file.read()


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _put(archive: zipfile.ZipFile, name: str, data: bytes, *, mode: int = 0o644) -> None:
    entry = zipfile.ZipInfo(name, _TIME)
    entry.external_attr = mode << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(entry, data)
