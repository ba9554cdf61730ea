"""The names of the packages that a project says it needs."""

import os.path
import re
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from bridle.host.files import read_bytes

_LARGEST = 1024 * 1024
_MOST = 2_000
_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)")
_GEM = re.compile(r"""^\s*gem\s+['"]([^'"]+)""", re.MULTILINE)
_GO = re.compile(r"^\s*(?:require\s+)?([a-z0-9.-]+\.[a-z]+/\S+)\s+v\d", re.MULTILINE)
_NODE = ("dependencies", "devDependencies", "peerDependencies", "optionalDependencies")
_CARGO = ("dependencies", "dev-dependencies", "build-dependencies")


def dependencies(folder: str) -> frozenset[str]:
    """What the manifests in a folder name; one that cannot be read names nothing."""
    found: set[str] = set()
    for name, read in _READERS.items():
        try:
            text = read_bytes(os.path.join(folder, name), _LARGEST).decode()
            found.update(read(text))
        except (OSError, ValueError, RecursionError):
            continue  # There is none, or it is broken, which is for others to say.
        if len(found) > _MOST:
            break
    return frozenset(sorted(found)[:_MOST])


def _node(text: str) -> Iterable[str]:
    return _keys(msgspec.json.decode(text), _NODE)


def _php(text: str) -> Iterable[str]:
    return _keys(msgspec.json.decode(text), ("require", "require-dev"))


def _rust(text: str) -> Iterable[str]:
    import tomllib

    return _keys(tomllib.loads(text), _CARGO)


def _python(text: str) -> Iterable[str]:
    import tomllib

    values = tomllib.loads(text)
    match values:
        case {"project": {"dependencies": list() as needed}}:
            yield from _requirements("\n".join(map(str, needed)))
        case _:
            pass
    match values:
        case {"project": {"optional-dependencies": dict() as groups}}:
            for group in (each for each in groups.values() if isinstance(each, list)):
                yield from _requirements("\n".join(map(str, group)))
        case _:
            pass
    match values:
        case {"tool": {"poetry": dict() as poetry}}:
            yield from _keys(poetry, ("dependencies", "dev-dependencies"))
        case _:
            pass


def _requirements(text: str) -> Iterable[str]:
    for line in text.splitlines():
        if (match := _REQUIREMENT.match(line)) is not None:
            yield match[1]


def _keys(values: Any, sections: Iterable[str]) -> Iterable[str]:
    """The names in these sections of a manifest."""
    for section in sections:
        match values:
            case {**every} if isinstance(every.get(section), dict):
                yield from every[section]
            case _:
                pass


_READERS: dict[str, Callable[[str], Iterable[str]]] = {
    "package.json": _node,
    "pyproject.toml": _python,
    "requirements.txt": _requirements,
    "Cargo.toml": _rust,
    "go.mod": _GO.findall,
    "Gemfile": _GEM.findall,
    "composer.json": _php,
}
