"""Reads what a plugin says about itself."""

import os.path
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from bridle.config.problems import Fault, located
from bridle.config.validate import parse
from bridle.extensions.plugins.faults import FaultKind, PluginFault
from bridle.extensions.plugins.names import is_name
from bridle.extensions.plugins.plugin import Dependency, Manifest, OptionField
from bridle.host.files import read_bytes

FILE = os.path.join(".claude-plugin", "plugin.json")
LARGEST = 2 * 1024 * 1024
COMPONENTS = (
    "skills", "commands", "agents", "workflows", "hooks", "mcpServers", "outputStyles", "lspServers",
    "experimental",
)  # fmt: skip
_MOST_DEPENDENCIES = 100


class Reading(Struct, frozen=True, kw_only=True):
    """What came of reading a manifest; None where the plugin cannot be used at all."""

    manifest: Manifest | None
    faults: tuple[PluginFault, ...] = ()


def read_manifest(
    folder: str, *, entry: Mapping[str, Any] | None = None, fallback: str | None = None
) -> Reading:
    """The manifest of a plugin folder over what its marketplace says; wrong optional fields are left out.

    Without a manifest the entry counts, or else the name of the folder.
    """
    given = entry or {}
    name = fallback or given.get("name") or os.path.basename(os.path.abspath(folder))
    file = os.path.join(folder, FILE)
    try:
        data = read_bytes(file, LARGEST)
    except (FileNotFoundError, NotADirectoryError):
        alone = _named_components(given)
        return _checked(
            {"name": name, **_supplement(given)}, str(name), file, written=False, only_listed=alone
        )
    except OSError as error:
        return _broken(
            str(name), "manifest-parse-error", f"could not be read: {error.strerror or error}", file
        )
    values, text, problem = parse(data, file=file)
    if problem is not None:
        return _broken(str(name), "manifest-parse-error", str(problem), file)
    alone = _named_components(given) if given.get("strict") is False else ()
    if alone and (clash := _named_components(values)):
        message = (
            f"the marketplace defines everything (strict is false), but the manifest sets {clash[0]} too"
        )
        return _broken(str(name), "manifest-validation-error", message, file)
    merged = {**_supplement(given), **values}
    return _checked(merged, str(name), file, written=True, only_listed=alone, text=text)


_OF_MARKETPLACES = ("source", "category", "tags", "strict", "relevance")


def _supplement(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if key not in _OF_MARKETPLACES}


def _named_components(values: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(key for key in COMPONENTS if values.get(key) is not None)


def _checked(
    values: dict[str, Any],
    label: str,
    file: str,
    *,
    written: bool,
    only_listed: tuple[str, ...] = (),
    text: str = "",
) -> Reading:
    name = values.get("name")
    if not isinstance(name, str) or not is_name(name):
        message = '"name" is missing or invalid: use letters, digits, dots, dashes and underscores'
        return _broken(label, "manifest-validation-error", message, file)
    wrong: list[Fault] = []

    def complain(message: str, *key: str | int) -> None:
        wrong.append((key, message))

    manifest = Manifest(
        name=name,
        values=values,
        version=_text(values, "version", complain),
        description=_text(values, "description", complain),
        author=_author(values.get("author")),
        default_enabled=values.get("defaultEnabled") is not False,
        options=_options(values.get("userConfig"), complain),
        dependencies=_dependencies(values.get("dependencies"), complain),
        channels=_channels(values.get("channels"), complain),
        written=written,
        only_listed=only_listed,
    )
    faults = tuple(
        PluginFault(
            plugin=name,
            type="manifest-validation-error",
            message=f"{problem.key} {problem.message}",
            path=file,
            line=problem.line,
        )
        for problem in located(wrong, file=file, text=text)
    )
    return Reading(manifest=manifest, faults=faults)


def _broken(name: str, kind: FaultKind, message: str, path: str) -> Reading:
    return Reading(manifest=None, faults=(PluginFault(plugin=name, type=kind, message=message, path=path),))


def _text(values: Mapping[str, Any], key: str, complain: Any) -> str:
    value = values.get(key)
    if value is None or isinstance(value, str):
        return (value or "").strip()
    complain("is not a string; ignored", key)
    return ""


def _author(value: Any) -> str:
    name = value.get("name") if isinstance(value, dict) else value
    return name if isinstance(name, str) else ""


def _options(value: Any, complain: Any) -> dict[str, OptionField]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        complain("is not an object; ignored", "userConfig")
        return {}
    found: dict[str, OptionField] = {}
    for key, field in value.items():
        if not key.replace("_", "").isalnum() or not key.isascii():
            complain("is not a valid variable name", "userConfig", key)
            continue
        try:
            found[key] = msgspec.convert(field, OptionField)
        except msgspec.ValidationError as error:
            complain(f"was ignored: {error}", "userConfig", key)
    return found


def _channels(listed: Any, complain: Any) -> tuple[str, ...] | None:
    if listed is None:
        return None
    servers: list[str] = []
    for each in listed if isinstance(listed, list) else [listed]:
        match each:
            case {"server": str() as server} if server:
                servers.append(server)
            case _:
                complain(
                    'must be a list of objects such as {"server": "name"}; others are ignored', "channels"
                )
    return tuple(servers)


def _dependencies(value: Any, complain: Any) -> tuple[Dependency, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        complain("is not a list; ignored", "dependencies")
        return ()
    found: list[Dependency] = []
    for index, each in enumerate(value[:_MOST_DEPENDENCIES]):
        dependency = _dependency(each)
        if dependency is None:
            complain('was ignored: write "name" or {"name": …, "version": …}', "dependencies", index)
        else:
            found.append(dependency)
    return tuple(found)


def _dependency(value: Any) -> Dependency | None:
    if isinstance(value, str):
        name, _, marketplace = value.partition("@")
        value = {"name": name, **({"marketplace": marketplace} if marketplace else {})}
    try:
        found = msgspec.convert(value, Dependency)
    except msgspec.ValidationError:
        return None
    fits = is_name(found.name) and (found.marketplace is None or is_name(found.marketplace))
    return found if fits else None
