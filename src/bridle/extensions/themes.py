"""Color themes that users keep as JSON files."""

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct

from bridle.config.problems import Problem
from bridle.config.validate import parse
from bridle.extensions.index import Index
from bridle.extensions.roots import Root
from bridle.host.files import read_bytes

CUSTOM = "custom:"
"""Stands before the names of themes that are files."""
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


def find_theme(index: Index, roots: Sequence[Root], wanted: str) -> Theme | Problem:
    """The theme that a setting such as `custom:sea` names, or why it cannot be used."""
    name = wanted.removeprefix(CUSTOM)
    file = next((each for each in list_themes(index, roots) if each.name == name), None)
    if file is None:
        return Problem(file=name, message="unknown theme; /theme lists the themes")
    return read_theme(file)


def theme_problems(index: Index, roots: Sequence[Root]) -> list[Problem]:
    """What is wrong with the files of themes."""
    read = map(read_theme, list_themes(index, roots))
    return [theme for theme in read if isinstance(theme, Problem)]


class _Written(Struct):
    name: str | None = None
    base: str = "dark"
    overrides: dict[str, str] = {}


def read_theme(file: ThemeFile) -> Theme | Problem:
    """What a theme file says, or why it cannot be used."""
    try:
        values, _, problem = parse(read_bytes(file.path, _LARGEST), file=file.path)
        written = msgspec.convert(values, _Written)
    except OSError as error:
        return Problem(file=file.path, message=f"the theme could not be read: {error.strerror or error}")
    except msgspec.ValidationError as error:
        return Problem(file=file.path, message=f"invalid theme: {error}")
    if problem is not None:
        return problem
    return Theme(name=written.name or file.name, base=written.base, overrides=written.overrides)
