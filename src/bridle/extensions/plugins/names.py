"""How plugins and marketplaces are named, and where their files lie."""

import os.path
import re
from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from bridle.host.paths import config_home
from bridle.types.errors import UsageError

Scope = Literal["user", "project", "local", "managed"]

SKILLS_DIR = "skills-dir"
"""Stands for the marketplace of a plugin that lies among the skills."""
INLINE = "inline"
"""Stands for the marketplace of a plugin that a flag names."""
_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}"


class PluginId(Struct, frozen=True):
    name: str
    marketplace: str

    def __str__(self) -> str:
        return f"{self.name}@{self.marketplace}"


def is_name(text: object) -> bool:
    """Whether a plugin or a marketplace can be called that: it becomes a folder and stands before a colon."""
    return isinstance(text, str) and re.fullmatch(_NAME, text) is not None


def parse_id(text: str) -> PluginId:
    """Read `name@marketplace`.

    Raises:
        UsageError: it is not of that form.
    """
    name, _, marketplace = text.partition("@")
    if not is_name(name) or not is_name(marketplace):
        raise UsageError(f"{text!r} is not a plugin: write name@marketplace")
    return PluginId(name, marketplace)


def plugins_dir(env: Mapping[str, str]) -> str:
    """The folder with marketplaces, installed plugins and their data."""
    given = env.get("CLAUDE_CODE_PLUGIN_CACHE_DIR")
    if given:
        return os.path.abspath(os.path.expanduser(given))
    return os.path.join(config_home(env), "plugins")


def data_dir(env: Mapping[str, str], plugin: PluginId) -> str:
    """What a plugin keeps from version to version."""
    return os.path.join(plugins_dir(env), "data", re.sub(r"[^A-Za-z0-9_-]", "-", str(plugin)))


def cache_dir(env: Mapping[str, str], plugin: PluginId) -> str:
    """The folder with the installed versions of a plugin."""
    return os.path.join(plugins_dir(env), "cache", plugin.marketplace, plugin.name)
