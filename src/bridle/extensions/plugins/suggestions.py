"""Plugins that a marketplace thinks useful for what the user works on."""

import os.path
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from re import Pattern
from typing import Any

from msgspec import Struct

from bridle.extensions.plugins.context import PluginContext
from bridle.extensions.plugins.marketplaces import load
from bridle.extensions.plugins.state import read_installed, read_known
from bridle.host.globs import compile_glob
from bridle.types.errors import ConfigError, UsageError
from bridle.types.text import printable

_MOST_PATTERNS = 10
_LONGEST_PATTERN = 256
_LONGEST_TOPIC = 64
_MOST_SUGGESTED = 3


class Work(Struct, frozen=True, kw_only=True):
    """What happens in a session; each part is a kind of signal."""

    cwd: str | None = None
    files: Sequence[str] = ()
    """Absolute paths of files that were read."""
    programs: Sequence[str] = ()
    """Names of programs that commands have run."""
    hosts: Sequence[str] = ()
    """Hosts that were asked for something."""
    dependencies: Callable[[], frozenset[str]] = frozenset[str]
    """What the project needs; asked only where some plugin wants to know."""


class Suggestion(Struct, frozen=True):
    plugin: str
    sentence: str


def suggestions(
    around: PluginContext, trusted: Sequence[str], work: Work | None = None
) -> tuple[Suggestion, ...]:
    """Plugins that are meant for this work and not installed, the first few; without work, for the folder.

    Only marketplaces in `trusted` may suggest any. Nothing is fetched: their copies on this machine count.

    Raises:
        ConfigError: the file of marketplaces, or of what is installed, cannot be read.
    """
    work = work or Work(cwd=around.cwd)
    known, installed = read_known(around.env), read_installed(around.env).plugins
    found: list[Suggestion] = []
    for name in (each for each in trusted if each in known):
        try:
            offers = load(around, name).offers
        except (ConfigError, UsageError):
            continue  # The list of marketplaces shows why.
        for offer in offers.values():
            plugin, relevance = f"{offer.name}@{name}", offer.values.get("relevance")
            if plugin not in installed and (reason := _reason(relevance, work, around.cwd)) is not None:
                sentence = (
                    f"The plugin {plugin}{_topic(relevance)} is meant for {reason}. Install it with: "
                    f"/plugin install {plugin}"
                )
                found.append(Suggestion(plugin, printable(sentence)))
    return tuple(found[:_MOST_SUGGESTED])


def _reason(relevance: Any, work: Work, cwd: str) -> str | None:
    """What the plugin is meant for and the session has; None when there is nothing."""
    match relevance:
        case {"signals": {**signals}}:
            pass
        case _:
            return None
    if work.cwd is not None and _is_for(_written(signals, "cwd"), work.cwd):
        return "this folder"
    for pattern in _globs(_written(signals, "filesRead")):
        for file in work.files:
            if pattern.fullmatch(os.path.relpath(file, cwd)) or pattern.fullmatch(file.strip("/")):
                return f"files such as {os.path.basename(file)}"
    for name in _written(signals, "cli"):
        if name in work.programs:
            return f"the command {name}"
    for name in _written(signals, "hosts"):
        if any(_is_host(host, name.lower()) for host in work.hosts):
            return f"the host {name}"
    if wanted := _written(signals, "manifestDeps"):
        needed = sorted(work.dependencies())
        for dependency in needed:
            if any(fnmatchcase(dependency, each) for each in wanted):
                return f"projects that use {dependency}"
    return None


def _is_for(patterns: Sequence[str], cwd: str) -> bool:
    # With a name behind it, `infra/**` means the folder itself too.
    paths = (cwd.strip("/"), f"{cwd.strip('/')}/.")
    return any(pattern.fullmatch(path) for pattern in _globs(patterns) for path in paths)


def _is_host(host: str, wanted: str) -> bool:
    wanted = wanted.removeprefix("*.")
    return host == wanted or host.endswith(f".{wanted}")


def _written(signals: Mapping[str, Any], kind: str) -> list[str]:
    """The values of a signal that can be used."""
    values = signals.get(kind)
    return [
        each
        for each in (values[:_MOST_PATTERNS] if isinstance(values, list) else ())
        if isinstance(each, str) and 0 < len(each) <= _LONGEST_PATTERN
    ]


def _globs(patterns: Sequence[str]) -> Iterator[Pattern[str]]:
    for each in patterns:
        try:
            yield compile_glob(each.removeprefix("/"), anchored=each.startswith("/"))
        except ValueError:
            continue


def _topic(relevance: Any) -> str:
    match relevance:
        case {"topic": str() as topic} if 0 < len(topic) <= _LONGEST_TOPIC:
            return f" ({topic})"
        case _:
            return ""
