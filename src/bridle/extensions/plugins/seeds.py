"""Folders with marketplaces and plugins that an image brings along: read where they lie, never written to."""

import os
import os.path
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from bridle.extensions.plugins.names import PluginId, is_name
from bridle.extensions.plugins.versions import newest
from bridle.host.files import read_bytes
from bridle.types.errors import ConfigError

_LARGEST = 16 * 1024 * 1024


def seed_folders(env: Mapping[str, str]) -> tuple[str, ...]:
    """The folders, each laid out like the one for plugins; of equal names in them the first counts."""
    given = env.get("CLAUDE_CODE_PLUGIN_SEED_DIR", "").split(os.pathsep)
    return tuple(os.path.abspath(os.path.expanduser(each)) for each in given if each)


def seeded_marketplaces(env: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """The marketplaces of the folders as their files say, at the place where they are now.

    Raises:
        ConfigError: a file does not parse.
    """
    found: dict[str, dict[str, Any]] = {}
    for folder in seed_folders(env):
        for name, entry in read_object(os.path.join(folder, "known_marketplaces.json")).items():
            place = _place(folder, name)
            if place is not None and isinstance(entry, dict):
                found.setdefault(name, {**entry, "installLocation": place, "autoUpdate": False})
    return found


def seeded_plugin(env: Mapping[str, str], plugin: PluginId) -> str | None:
    """The folder of a plugin's newest version; None where no folder has it."""
    for folder in seed_folders(env):
        versions = list(_folders(os.path.join(folder, "cache", plugin.marketplace, plugin.name)))
        if versions:
            return os.path.join(
                folder, "cache", plugin.marketplace, plugin.name, newest(versions, "*") or max(versions)
            )
    return None


def _place(folder: str, name: str) -> str | None:
    """Where the copy of a marketplace lies; the file names the place where it was made."""
    if not is_name(name):
        return None
    places = (os.path.join(folder, "marketplaces", f"{name}{ending}") for ending in ("", ".json"))
    return next((place for place in places if os.path.exists(place)), None)


def _folders(folder: str) -> Iterator[str]:
    try:
        with os.scandir(folder) as entries:
            yield from sorted(each.name for each in entries if each.is_dir())
    except OSError:
        return  # Most folders have only some plugins.


def read_object(file: str) -> dict[str, Any]:
    """The JSON object in a file of the plugins, empty without one.

    Raises:
        ConfigError: it is invalid.
    """
    try:
        return msgspec.json.decode(read_bytes(file, _LARGEST), type=dict[str, Any])
    except FileNotFoundError:
        return {}
    except (OSError, msgspec.DecodeError, RecursionError) as error:
        raise ConfigError(f"{file} could not be read ({error}). Fix or remove it.") from error
