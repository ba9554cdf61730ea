"""Color themes that users keep as JSON files."""

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct

from bridle.config.problem import Problem
from bridle.extensions.index import Index
from bridle.extensions.places import Root
from bridle.host.files import read_bytes

_LARGEST = 256 * 1024


class ThemeFile(Struct, frozen=True, kw_only=True):
    name: str
    """How the setting `theme` names it."""
    path: str


class Theme(Struct, frozen=True, kw_only=True):
    """Colors by the name of what they are for, over those of another theme."""

    name: str
    base: str = "dark"
    overrides: Mapping[str, str] = {}


def list_themes(index: Index, roots: Sequence[Root]) -> tuple[ThemeFile, ...]:
    """The theme files that there are, unread."""
    found: dict[str, ThemeFile] = {}
    for each in index.look(roots):
        stem = each.entry.path.removesuffix(".json")
        name = f"{each.root.prefix}:{stem}" if each.root.prefix else stem
        found.setdefault(name, ThemeFile(name=name, path=each.path))
    return tuple(found.values())


class _Written(Struct):
    name: str | None = None
    base: str = "dark"
    overrides: dict[str, str] = {}


def read_theme(file: ThemeFile) -> Theme | Problem:
    """What a theme file says, or why it cannot be used."""
    try:
        written = msgspec.json.decode(read_bytes(file.path, _LARGEST), type=_Written)
    except OSError as error:
        return Problem(file=file.path, message=f"the theme cannot be read: {error.strerror or error}")
    except msgspec.DecodeError as error:
        return Problem(file=file.path, message=f"the theme cannot be used: {error}")
    return Theme(name=written.name or file.name, base=written.base, overrides=written.overrides)
