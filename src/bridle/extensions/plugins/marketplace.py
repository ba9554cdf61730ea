"""Reads the list that a marketplace is."""

import os.path
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from bridle.config.problems import Fault, located
from bridle.config.validate import parse
from bridle.extensions.plugins.faults import PluginFault
from bridle.extensions.plugins.names import INLINE, SKILLS_DIR, is_name
from bridle.extensions.plugins.sources import Source, read_source
from bridle.host.files import read_bytes
from bridle.types.errors import ConfigError

FILE = os.path.join(".claude-plugin", "marketplace.json")
LARGEST = 8 * 1024 * 1024
_MOST_PLUGINS = 5_000
_MOST_RENAMES = 20
_DEEPEST = 32
"""Levels of an entry: it is kept inside other files, which take no more than twice as many."""


class OfferedPlugin(Struct, frozen=True, kw_only=True):
    """A plugin as its marketplace lists it."""

    name: str
    source: Source
    values: Mapping[str, Any]
    version: str = ""
    description: str = ""
    category: str = ""

    @property
    def entry(self) -> dict[str, Any]:
        """What belongs to the plugin's manifest, or decides how that is read."""
        return {key: value for key, value in self.values.items() if key not in ("source", "relevance")}


class Marketplace(Struct, frozen=True, kw_only=True):
    name: str
    offers: Mapping[str, OfferedPlugin] = {}
    owner: str = ""
    description: str = ""
    root: str = ""
    """The folder that relative sources count from; empty where there is none."""
    renames: Mapping[str, str | None] = {}
    """Old names to new ones; None for what is gone."""
    trusts: frozenset[str] = frozenset()
    """Other marketplaces that its plugins may depend on."""
    faults: tuple[PluginFault, ...] = ()

    def current_name(self, name: str) -> str | None:
        """The name that a plugin has now; None when it is not offered any more."""
        for _ in range(_MOST_RENAMES):
            if name in self.offers:
                return name
            onward = self.renames.get(name)
            if onward is None:
                return None
            name = onward
        return None


def read_marketplace(place: str) -> Marketplace:
    """The marketplace in a folder, or in a JSON file; entries that cannot be used are named and left out.

    Raises:
        ConfigError: there is none, or nothing of it can be used.
    """
    file, root = (os.path.join(place, FILE), place) if os.path.isdir(place) else (place, _root_of(place))
    try:
        data = read_bytes(file, LARGEST)
    except OSError as error:
        raise ConfigError(f"{file} could not be read: {error.strerror or error}") from error
    values, text, problem = parse(data, file=file)
    if problem is not None:
        raise ConfigError(str(problem))
    return interpret(values, file=file, root=root, text=text)


def interpret(values: Mapping[str, Any], *, file: str, root: str, text: str = "") -> Marketplace:
    """The marketplace that an object describes; with its text, faults have lines.

    Raises:
        ConfigError: its name or its list is missing.
    """
    name, listed = values.get("name"), values.get("plugins")
    if not isinstance(name, str) or not is_name(name):
        raise ConfigError(f'{file}: "name" is missing or invalid')
    if name in (INLINE, SKILLS_DIR):
        raise ConfigError(f"{file}: the name {name!r} is reserved")
    if not isinstance(listed, list):
        raise ConfigError(f'{file}: "plugins" is missing or not a list')
    base = _base(values.get("metadata"), root)
    offers: dict[str, OfferedPlugin] = {}
    wrong: list[tuple[str, Fault]] = []
    for index, entry in enumerate(listed[:_MOST_PLUGINS]):
        try:
            offer = _offer(entry, root=root, base=base)
            if offer.name in offers:
                raise ConfigError(f"{offer.name!r} is listed twice")
            offers[offer.name] = offer
        except ConfigError as error:
            wrong.append((_label(entry), (("plugins", index), str(error))))
    owner = values.get("owner")
    return Marketplace(
        name=name,
        offers=offers,
        owner=str(owner.get("name") or "") if isinstance(owner, dict) else "",
        description=_description(values),
        root=root,
        renames=_renames(values.get("renames")),
        trusts=_names(values.get("allowCrossMarketplaceDependenciesOn")),
        faults=tuple(_faults(wrong, name, file, text)),
    )


def _faults(wrong: Sequence[tuple[str, Fault]], name: str, file: str, text: str) -> Iterator[PluginFault]:
    problems = located((fault for _, fault in wrong), file=file, text=text)
    for (label, _), problem in zip(wrong, problems, strict=True):
        yield PluginFault(
            plugin=f"{label}@{name}",
            type="manifest-validation-error",
            message=f"{problem.key}: {problem.message}",
            path=file,
            line=problem.line,
        )


def _label(entry: Any) -> str:
    return str(entry["name"]) if isinstance(entry, dict) and "name" in entry else "an entry"


def _offer(entry: Any, *, root: str, base: str) -> OfferedPlugin:
    if not isinstance(entry, dict):
        raise ConfigError("is not an object")
    name = entry.get("name")
    if not isinstance(name, str) or not is_name(name):
        raise ConfigError('"name" is missing or invalid')
    if _is_deeper(entry, _DEEPEST):
        raise ConfigError(f"is nested deeper than {_DEEPEST} levels")
    if "source" not in entry:
        raise ConfigError('"source" is missing')
    if isinstance(entry["source"], str):
        source = _relative(entry["source"], root=root, base=base)
    else:
        source = read_source(entry["source"], of="plugin")
    return OfferedPlugin(
        name=name,
        source=source,
        values=entry,
        version=_text(entry.get("version")),
        description=_text(entry.get("description")),
        category=_text(entry.get("category")),
    )


def _relative(text: str, *, root: str, base: str) -> Source:
    if not root:
        raise ConfigError(f"{text!r} is a path, but this marketplace has no folder")
    # Paths that say so count from the top; bare names from the folder that the metadata names.
    start = root if text.startswith(("./", "../")) or text == "." else base
    path = os.path.normpath(os.path.join(start, text))
    if os.path.isabs(text) or not (path == root or path.startswith(root.rstrip("/") + "/")):
        raise ConfigError(f"{text!r} is outside the marketplace")
    return Source(kind="directory", location=path, raw=text)


def _base(metadata: Any, root: str) -> str:
    folder = metadata.get("pluginRoot") if isinstance(metadata, dict) else None
    if not root or not isinstance(folder, str):
        return root
    base = os.path.normpath(os.path.join(root, folder))
    return base if base.startswith(root.rstrip("/") + "/") else root


def _root_of(file: str) -> str:
    folder = os.path.dirname(os.path.abspath(file))
    return os.path.dirname(folder) if os.path.basename(folder) == ".claude-plugin" else ""


def _is_deeper(value: Any, levels: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    if inner is None:
        return False
    return levels == 0 or any(_is_deeper(each, levels - 1) for each in inner)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _description(values: Mapping[str, Any]) -> str:
    metadata = values.get("metadata")
    inner = metadata.get("description") if isinstance(metadata, dict) else None
    return _text(values.get("description") or inner)


def _renames(value: Any) -> dict[str, str | None]:
    if not isinstance(value, dict):
        return {}
    return {old: new for old, new in value.items() if new is None or isinstance(new, str)}


def _names(value: Any) -> frozenset[str]:
    return (
        frozenset(each for each in value if isinstance(each, str)) if isinstance(value, list) else frozenset()
    )
