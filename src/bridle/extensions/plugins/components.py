"""Finds what a plugin folder contributes: by the usual names, or where its manifest says."""

import os
import os.path
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from bridle.config.approvals import digest
from bridle.config.validate import parse
from bridle.extensions.cache import Stamps, stamps_of
from bridle.extensions.plugins.faults import FaultKind, PluginFault
from bridle.extensions.plugins.manifest import FILE, LARGEST, Reading
from bridle.extensions.plugins.plugin import ComponentPath, Components, HookFile, Manifest, Monitor
from bridle.extensions.roots import Kind
from bridle.host.files import read_bytes

_SETTINGS = ("agent", "subagentStatusLine")
_FOLDERS: dict[Kind, tuple[str, str]] = {
    "skills": ("skills", "skills"),
    "commands": ("commands", "commands"),
    "agents": ("agents", "agents"),
    "output-styles": ("outputStyles", "output-styles"),
    "themes": ("experimental.themes", "themes"),
    "workflows": ("workflows", "workflows"),
}
"""The key of the manifest and the usual folder of each kind."""
_MOST_PATHS = 200
_MOST_ENTRIES = 100


def brings(components: Components) -> tuple[str, ...]:
    """What there is of each kind, in words; files are counted."""
    counted = dict.fromkeys(_FOLDERS, 0)
    for place in components.places:
        counted[place.kind] += 1 if place.single else _count(place)
    rows = [(number, str(kind)) for kind, number in counted.items()]
    rows += [
        (len(components.hooks), "hook files"),
        (len(components.mcp_servers), "MCP servers"),
        (len(components.lsp_servers), "language servers"),
        (len(components.monitors), "monitors"),
        (1 if components.programs else 0, "program folders"),
    ]
    return tuple(
        f"{number} {word.removesuffix('s') if number == 1 else word}" for number, word in rows if number
    )


class KnownPlugin(Struct, array_like=True):
    """A plugin folder as it was when it was last read."""

    stamps: Stamps
    manifest: Manifest | None
    components: Components
    faults: tuple[PluginFault, ...]
    approval: str = ""
    """The digest of what it would run."""


def examine(folder: str, reading: Reading) -> KnownPlugin:
    """Look into a plugin folder whose manifest was read."""
    if reading.manifest is None:
        return KnownPlugin(Stamps(), None, Components(), reading.faults)
    components = discover(folder, reading.manifest)
    # The folder around them tells when they come and go, and what is in them is looked at by others.
    watched = {each.path for each in components.places if each.kind != "skills" and not each.single}
    return KnownPlugin(
        stamps_of(os.path.dirname(path) if path in watched else path for path in components.looked_at),
        reading.manifest,
        replace(components, looked_at=()),
        (*reading.faults, *components.faults),
        approval(components),
    )


def discover(folder: str, manifest: Manifest) -> Components:
    """What a plugin contributes; a part that cannot be used is named and left out."""
    search = _Search(os.path.realpath(folder), manifest)
    places = tuple(place for kind in _FOLDERS for place in search.places(kind))
    hooks = tuple(search.hooks())
    mcp_servers = search.servers("mcpServers", ".mcp.json", "mcp-config-invalid")
    lsp_servers = {
        name: entry
        for name, entry in search.servers("lspServers", ".lsp.json", "lsp-config-invalid").items()
        if search.is_language_server(name, entry)
    }
    monitors = tuple(search.monitors())
    programs = search.existing("bin")
    return Components(
        places=places,
        hooks=hooks,
        mcp_servers=mcp_servers,
        lsp_servers=lsp_servers,
        monitors=monitors,
        programs=programs if programs is not None and os.path.isdir(programs) else None,
        settings=search.settings(),
        faults=tuple(search.faults),
        looked_at=tuple(dict.fromkeys((os.path.join(folder, FILE), *search.looked_at))),
    )


def approval(components: Components) -> str:
    """A digest of everything that would be run."""
    return digest(
        {
            "hooks": [each.values for each in components.hooks],
            "mcp": components.mcp_servers,
            "lsp": components.lsp_servers,
            "monitors": [[each.name, each.command, each.when] for each in components.monitors],
            "settings": components.settings,
            "programs": components.programs is not None,
        }
    )


class _Search:
    def __init__(self, folder: str, manifest: Manifest) -> None:
        self._folder = folder
        self._manifest = manifest
        self.faults: list[PluginFault] = []
        self.looked_at: list[str] = [folder]

    def places(self, kind: Kind) -> Iterator[ComponentPath]:
        key, usual = _FOLDERS[kind]
        for path in self.paths(key, usual, adds=kind == "skills" and not self._is_only_listed(key)):
            yield ComponentPath(kind, path, self._is_single(kind, path))
        if kind == "skills" and self._value(key) is None and os.path.isfile(f"{self._folder}/SKILL.md"):
            yield ComponentPath(kind, self._folder, True)

    def paths(self, key: str, usual: str, *, adds: bool = False) -> Iterator[str]:
        """The paths that count for a key: what the manifest names in place of the usual, or beside it."""
        value = self._value(key)
        if value is None or adds:
            found = self.existing(usual)
            if found is not None:
                yield found
        for named in self._named(key, value):
            path = self.inside(named, key)
            if path is not None:
                yield path

    def hooks(self) -> Iterator[HookFile]:
        read: set[str] = set()
        value = self._value("hooks")
        # Hooks add up: the usual file counts beside those that the manifest names.
        for file in self._files("hooks/hooks.json", value, "hooks"):
            if file in read:
                continue
            read.add(file)
            values, text = self._json(file, "hook-load-failed")
            if "modules" in values:
                self._complain(
                    "hook-load-failed", "JavaScript modules are not supported; see bridle docs plugins", file
                )
            if "hooks" in values:
                yield HookFile(file, values["hooks"], text)
        for inline in _objects(value):
            yield HookFile(os.path.join(self._folder, FILE), inline.get("hooks", inline))

    def servers(self, key: str, usual: str, kind: FaultKind) -> dict[str, Any]:
        """Servers by name; of equal names the one in the manifest counts."""
        found: dict[str, Any] = {}
        value = self._value(key)
        for file in self._files(usual, value, key):
            if file.endswith((".mcpb", ".dxt")):
                self._complain(kind, "server bundles are not supported: use a JSON file", file)
                continue
            values, _ = self._json(file, kind)
            wrapped = values.get(key, values)
            found |= wrapped if isinstance(wrapped, dict) else {}
        for inline in _objects(value):
            found |= inline
        for name in [name for name, entry in found.items() if not isinstance(entry, dict)]:
            self._complain(kind, f"{name!r} is not an object", self._folder)
            del found[name]
        return dict(list(found.items())[:_MOST_ENTRIES])

    def is_language_server(self, name: str, entry: Mapping[str, Any]) -> bool:
        known = isinstance(entry.get("extensionToLanguage"), dict) and isinstance(entry.get("command"), str)
        if not known:
            message = f"{name!r} needs a command and extensionToLanguage"
            self._complain("lsp-config-invalid", message, self._folder)
        return known

    def monitors(self) -> Iterator[Monitor]:
        value = self._value("experimental.monitors")
        listed: list[Any] = list(value) if isinstance(value, list) and not _is_paths(value) else []
        for path in () if listed else self.paths("experimental.monitors", "monitors/monitors.json"):
            listed += self._json_list(path)
        for each in listed[:_MOST_ENTRIES]:
            given = each if isinstance(each, dict) else {}
            name, command = given.get("name"), given.get("command")
            if isinstance(name, str) and isinstance(command, str):
                described, when = given.get("description"), given.get("when")
                yield Monitor(name, command, str(described or ""), str(when or "always"))
            else:
                self._complain("component-load-failed", "a monitor needs a name and a command", self._folder)

    def settings(self) -> dict[str, Any]:
        file = self.existing("settings.json")
        if file is None:
            return {}
        values, _ = self._json(file, "component-load-failed")
        return {key: value for key, value in values.items() if key in _SETTINGS}

    def existing(self, usual: str) -> str | None:
        """A path with a usual name, where it exists and stays inside the plugin."""
        path = os.path.join(self._folder, usual)
        self.looked_at.append(path)
        return path if os.path.exists(path) and self._is_inside(path) else None

    def inside(self, named: str, key: str) -> str | None:
        """A path that the manifest names; None with a complaint where it leads out or nowhere."""
        path = os.path.normpath(os.path.join(self._folder, named))
        if "\0" in named or os.path.isabs(named) or not self._is_inside(path):
            self._complain("component-load-failed", f"{key}: {named!r} is outside the plugin", self._folder)
            return None
        self.looked_at.append(path)
        if not os.path.exists(path):
            self._complain("path-not-found", f"{key}: {named!r} does not exist", path)
            return None
        return path

    def _value(self, key: str) -> Any:
        value: Any = self._manifest.values
        for part in key.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        return value

    def _is_only_listed(self, key: str) -> bool:
        return key in self._manifest.only_listed

    def _named(self, key: str, value: Any) -> Iterator[str]:
        """The paths in a value: one, a list, or an object whose entries have a `source`."""
        listed: list[Any] = list(value) if isinstance(value, list) else [value]
        if isinstance(value, dict):
            listed = [each.get("source") if isinstance(each, dict) else each for each in value.values()]
        for each in listed[:_MOST_PATHS]:
            if isinstance(each, str):
                yield each
            elif each is not None:
                self._complain("component-load-failed", f"{key} must contain paths", self._folder)

    def _files(self, usual: str, value: Any, key: str) -> Iterator[str]:
        found = None if self._is_only_listed(key) else self.existing(usual)
        if found is not None:
            yield found
        for named in [value] if isinstance(value, str) else value if isinstance(value, list) else ():
            path = self.inside(named, key) if isinstance(named, str) else None
            if path is not None:
                yield path

    def _is_single(self, kind: Kind, path: str) -> bool:
        return os.path.isfile(path) or (kind == "skills" and os.path.isfile(os.path.join(path, "SKILL.md")))

    def _is_inside(self, path: str) -> bool:
        real = os.path.realpath(path)
        return real == self._folder or real.startswith(self._folder + os.sep)

    def _json(self, file: str, kind: FaultKind) -> tuple[dict[str, Any], str]:
        try:
            values, text, problem = parse(read_bytes(file, LARGEST), file=file)
        except OSError as error:
            self._complain(kind, f"could not be read: {error.strerror or error}", file)
            return {}, ""
        if problem is not None:
            self._complain(kind, str(problem), file)
        return values, text

    def _json_list(self, file: str) -> list[Any]:
        try:
            return msgspec.json.decode(read_bytes(file, LARGEST), type=list[Any])
        except (OSError, msgspec.DecodeError, RecursionError) as error:
            self._complain("component-load-failed", f"must be a JSON list: {error}", file)
            return []

    def _complain(self, kind: FaultKind, message: str, path: str) -> None:
        self.faults.append(PluginFault(plugin=self._manifest.name, type=kind, message=message, path=path))


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    for each in value if isinstance(value, list) else [value]:
        if isinstance(each, dict):
            yield each


def _is_paths(value: list[Any]) -> bool:
    return any(isinstance(each, str) for each in value)


_ENDINGS: dict[Kind, Callable[[str], bool]] = {
    "skills": lambda name: name == "SKILL.md",
    "themes": lambda name: name.endswith(".json"),
    "workflows": lambda name: name.endswith((".js", ".mjs")),
}


def _count(place: ComponentPath) -> int:
    fits = _ENDINGS.get(place.kind, lambda name: name.endswith(".md"))
    return sum(fits(name) for _, _, files in os.walk(place.path) for name in files)
