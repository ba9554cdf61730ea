"""Counts and amounts of any writer, as far as they make sense."""

from collections.abc import Mapping
from math import isfinite
from typing import Any

from bridle.types.usage import Usage

_NESTED = ("cache_creation", "server_tool_use", "output_tokens_details")


def usage_in(counts: Mapping[str, Any]) -> Usage:
    """The usage of a message; what is no count is nothing."""
    plain = {key: _count(value) for key, value in counts.items() if key not in _NESTED}
    nested = {
        key: {name: _count(value) for name, value in inner.items()}
        for key in _NESTED
        if isinstance(inner := counts.get(key), dict)
    }
    return Usage.from_api({**plain, **nested})


def amount(value: Any) -> float | None:
    """An amount of money, None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if isfinite(value) and value >= 0 else None


def _count(value: Any) -> int:
    return max(0, value) if isinstance(value, int) and not isinstance(value, bool) else 0
