"""Warns of settings that have no effect in bridle."""

from collections.abc import Iterator, Mapping
from typing import Any

from bridle.config.problems import Fault


def without_effect(values: Mapping[str, Any]) -> Iterator[Fault]:
    """The keys that ask for something that does not happen."""
    if not values:
        return
    # Many runs have no settings.
    from bridle.config.settings_table import NO_EFFECT, stated

    for path, value, row in stated(values):
        if not row.no_effect or row.asks_for_less or ".".join(path[:-1]) in NO_EFFECT:
            continue
        if value not in (False, row.default):
            yield path, f"has no effect: {row.no_effect}"
