"""Which marketplaces management lets in."""

import os.path
import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any

from bridle.config.schema import Settings
from bridle.extensions.plugins.sources import Source
from bridle.types.errors import ConfigError


def check_marketplace(source: Source, settings: Settings) -> None:
    """Nothing, unless management does not let a marketplace in.

    Raises:
        ConfigError: it is blocked, or it is not among those that are known.
    """
    if any(_matches(pattern, source) for pattern in settings.blocked_marketplaces or ()):
        raise ConfigError(f"your organization blocks {source} (blockedMarketplaces)")
    known = settings.strict_known_marketplaces
    if known is not None and not any(_matches(pattern, source) for pattern in known):
        raise ConfigError(
            f"your organization does not allow {source} (strictKnownMarketplaces): ask your "
            "administrator to add it"
        )


def check_command_source(source: Source, settings: Settings) -> None:
    """Nothing, unless management keeps plugins from being made by commands.

    Raises:
        ConfigError: it does.
    """
    closed = settings.disable_command_plugin_sources
    if closed is None:
        closed = settings.allow_managed_hooks_only is True
    if source.kind == "command" and closed:
        raise ConfigError("your organization does not allow plugins from commands")


def _matches(pattern: Any, source: Source) -> bool:
    if isinstance(pattern, str):
        return _place_matches(pattern, source)
    if not isinstance(pattern, dict):
        return False
    if isinstance(host := pattern.get("hostPattern"), str):
        return bool(source.host) and _fits(host, source.host)
    if isinstance(path := pattern.get("pathPattern"), str):
        return source.kind in ("directory", "file") and _fits(path, source.location)
    place = next((pattern[key] for key in ("repo", "url", "path", "package") if key in pattern), None)
    if not isinstance(place, str) or not _place_matches(place, source):
        return False
    pinned: Sequence[tuple[str, str]] = (("ref", source.ref), ("sha", source.sha))
    return all(key not in pattern or pattern[key] == value for key, value in pinned)


def _place_matches(place: str, source: Source) -> bool:
    if source.repository:
        repository = _repository(place)
        return fnmatchcase(source.repository.lower(), repository.lower())
    own = _repository(source.location)
    if own != source.location and "://" not in place:
        return fnmatchcase(own.lower(), place.lower())
    if source.kind in ("directory", "file"):
        return os.path.realpath(place) == os.path.realpath(source.location)
    return place.rstrip("/").removesuffix(".git") == source.location.rstrip("/").removesuffix(".git")


def _repository(address: str) -> str:
    """`owner/name` for an address at GitHub; any other as it is."""
    found = re.fullmatch(
        r"(?:https?://github\.com/|ssh://git@github\.com/|git@github\.com:)([\w.-]+/[\w.-]+?)(?:\.git)?/?",
        address,
    )
    return found[1] if found else address


def _fits(pattern: str, text: str) -> bool:
    try:
        return re.search(pattern, text) is not None
    except re.error:
        return False
