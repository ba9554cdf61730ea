"""Where extension files lie: a root for each folder that may hold some, the weightiest first."""

import os
import os.path
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Literal

from msgspec import Struct

from bridle.config.load import Config
from bridle.host.paths import config_home

Kind = Literal["skills", "commands", "agents", "output-styles", "themes", "workflows"]
Source = Literal["managed", "user", "project", "plugin", "bundled", "mcp"]

_MOST_PARENTS = 40


class Root(Struct, frozen=True, kw_only=True, array_like=True):
    """One folder of extension files. A plugin contributes one for each kind of component that it has."""

    kind: Kind
    path: str
    source: Source
    prefix: str = ""
    """Stands before every name with a colon: the name of the plugin."""
    owner: str = ""
    """The plugin, as users name it."""
    plugin_root: str | None = None
    plugin_data: str | None = None
    options: Mapping[str, str] = {}
    """What the user set for the plugin, for `${user_config.name}`."""
    edition: str = ""
    """For what bridle installed itself: another one with every installation. Nothing else changes it."""
    single: bool = False
    """`path` is one file, or one skill's folder, instead of a folder of them."""
    shared: bool = False
    """A plugin that came with the folder of the project."""


BUNDLED = Root(kind="skills", path=os.path.join(os.path.dirname(__file__), "bundled"), source="bundled")
"""The skills that come with bridle; any other of the same name goes before them."""


class ExtensionRoots(Struct, frozen=True, kw_only=True):
    """All that decides where to look."""

    home: str
    """The user's folder of configuration."""
    cwd: str
    managed_dir: str
    sources: frozenset[str] = frozenset({"user", "project", "local"})
    extra: tuple[str, ...] = ()
    """Folders that were added to the session."""
    closed: frozenset[str] = frozenset()
    """Kinds that management allows only from itself and from plugins."""


def whereabouts(
    config: Config, env: Mapping[str, str], *, cwd: str, extra: Sequence[str] = ()
) -> ExtensionRoots:
    """Where a session looks, by its settings."""
    chosen = config.inputs.setting_sources
    locked = config.settings.strict_plugin_only_customization
    return ExtensionRoots(
        home=config_home(env),
        cwd=cwd,
        managed_dir=config.inputs.managed_dir,
        sources=frozenset({"user", "project", "local"} if chosen is None else chosen),
        extra=tuple(extra),
        closed=_closed(locked),
    )


def roots_of(kind: Kind, where: ExtensionRoots) -> tuple[Root, ...]:
    """Every folder that may hold files of a kind, the weightiest first, whether it exists or not."""
    found = [Root(kind=kind, path=os.path.join(where.managed_dir, ".claude", kind), source="managed")]
    # Commands are skills in another form, and what closes the one closes the other.
    if ("skills" if kind == "commands" else kind) not in where.closed:
        user = [Root(kind=kind, path=os.path.join(where.home, kind), source="user")]
        project = [
            Root(kind=kind, path=os.path.join(folder, ".claude", kind), source="project")
            for folder in (*_upwards(where.cwd, where.home), *where.extra)
        ]
        user = user if "user" in where.sources else []
        project = project if "project" in where.sources and kind != "themes" else []
        # An agent of the project is made for the project; of skills the user's own go before.
        found += (*project, *user) if kind == "agents" else (*user, *project)
    first: dict[str, Root] = {}
    for root in found:
        first.setdefault(root.path, root)
    return tuple(first.values())


def nested_roots(kind: Kind, path: str, cwd: str) -> tuple[Root, ...]:
    """The folders of a kind between `cwd` and a file below it, the outermost first."""
    if not path.startswith(cwd.rstrip("/") + "/"):
        return ()
    return _roots_between(kind, os.path.dirname(path), cwd)


@lru_cache(maxsize=256)
def _roots_between(kind: Kind, last: str, cwd: str) -> tuple[Root, ...]:
    below = last[len(cwd.rstrip("/")) + 1 :]
    found: list[Root] = []
    folder = cwd
    for name in below.split("/") if below else ():
        folder = os.path.join(folder, name)
        prefix = os.path.relpath(folder, cwd).replace("/", ":")
        place = os.path.join(folder, ".claude", kind)
        found.append(Root(kind=kind, path=place, source="project", prefix=prefix))
    return tuple(found)


def _closed(locked: object) -> frozenset[str]:
    if locked is True:
        return frozenset({"skills", "agents", "output-styles", "workflows"})
    return frozenset(str(kind) for kind in locked) if isinstance(locked, tuple) else frozenset()


def _upwards(cwd: str, home: str) -> list[str]:
    """The project's folder and those above it, the nearest first, without the one that holds the user's."""
    chain = [cwd]
    while (parent := os.path.dirname(chain[-1])) != chain[-1] and len(chain) < _MOST_PARENTS:
        chain.append(parent)
    return [folder for folder in chain if os.path.join(folder, ".claude") != home]
