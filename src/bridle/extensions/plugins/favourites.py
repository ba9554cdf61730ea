"""Plugins that the user likes to see first."""

import os.path
from collections.abc import Mapping
from typing import Any

import msgspec

from bridle.config import edit
from bridle.host.files import read_bytes
from bridle.host.paths import bridle_dir

_LARGEST = 1024 * 1024
_KEY = "plugins"


def read_favourites(env: Mapping[str, str]) -> frozenset[str]:
    """Their names; a list that cannot be read has none."""
    try:
        values = msgspec.json.decode(read_bytes(_file(env), _LARGEST), type=dict[str, Any])
    except (OSError, msgspec.DecodeError):
        return frozenset()
    listed = values.get(_KEY)
    return (
        frozenset(each for each in listed if isinstance(each, str))
        if isinstance(listed, list)
        else frozenset()
    )


def favour(env: Mapping[str, str], plugin: str, *, on: bool) -> None:
    """Put a plugin among them, or take it away.

    Raises:
        ConfigError: the list does not parse.
        OSError: it cannot be written.
    """

    def changed(values: dict[str, Any]) -> dict[str, Any]:
        listed: Any = values.get(_KEY)
        others = [each for each in listed if each != plugin] if isinstance(listed, list) else []
        return {**values, _KEY: [*others, plugin] if on else others}

    edit.update(_file(env), changed)


def _file(env: Mapping[str, str]) -> str:
    return os.path.join(bridle_dir(env), "favourites.json")
