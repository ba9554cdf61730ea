"""Plugins that a marketplace thinks useful where the user works."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bridle.extensions.plugins.around import Around
from bridle.extensions.plugins.marketplaces import load
from bridle.extensions.plugins.state import read_installed, read_known
from bridle.host.globs import compile_glob
from bridle.types.errors import ConfigError, UsageError

_MOST_PATTERNS = 10
_LONGEST_PATTERN = 256
_LONGEST_TOPIC = 64
_MOST_SUGGESTED = 3


def suggestions(around: Around, trusted: Sequence[str]) -> tuple[str, ...]:
    """A sentence for each plugin that is meant for this folder and not installed, the first few.

    Only marketplaces in `trusted` may suggest any. Nothing is fetched: their copies on this machine count.

    Raises:
        ConfigError: the file of marketplaces, or of what is installed, cannot be read.
    """
    known, installed = read_known(around.env), read_installed(around.env).plugins
    found: list[str] = []
    for name in (each for each in trusted if each in known):
        try:
            offers = load(around, name).offers
        except (ConfigError, UsageError):
            continue  # Whoever lists marketplaces is told why.
        for offer in offers.values():
            plugin = f"{offer.name}@{name}"
            if plugin not in installed and _is_for(offer.values.get("relevance"), around.cwd):
                topic = _topic(offer.values["relevance"])
                found.append(f"The plugin {plugin}{topic} is meant for this folder: /plugin install {plugin}")
    return tuple(found[:_MOST_SUGGESTED])


def _is_for(relevance: Any, cwd: str) -> bool:
    # With a name behind it, `infra/**` means the folder itself too.
    paths = (cwd.strip("/"), f"{cwd.strip('/')}/.")
    return any(pattern.fullmatch(path) for pattern in _patterns(relevance) for path in paths)


def _patterns(relevance: Any) -> Iterator[Any]:
    match relevance:
        case {"signals": {"cwd": list() as written}}:
            pass
        case _:
            return
    for each in written[:_MOST_PATTERNS]:
        if not isinstance(each, str) or not 0 < len(each) <= _LONGEST_PATTERN:
            continue
        try:
            yield compile_glob(each.removeprefix("/"), anchored=each.startswith("/"))
        except ValueError:
            continue


def _topic(relevance: Mapping[str, Any]) -> str:
    topic = relevance.get("topic")
    return f" ({topic})" if isinstance(topic, str) and 0 < len(topic) <= _LONGEST_TOPIC else ""
