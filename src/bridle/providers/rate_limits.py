"""What a response of the Messages API says about the limits on its use."""

from collections.abc import Mapping
from typing import Any

_PREFIX = "anthropic-ratelimit-unified-"
_STATES = ("allowed", "allowed_warning", "rejected")
_SHORT = {"five_hour": "5h", "seven_day": "7d", "seven_day_opus": "7d_opus", "seven_day_sonnet": "7d_sonnet"}
"""How the kinds of limits are called in the headers that say how much of them is used."""


def limit_of(headers: Mapping[str, str]) -> dict[str, Any] | None:
    """The state of the limit that counts, None where the service does not tell."""
    status = headers.get(f"{_PREFIX}status")
    if status not in _STATES:
        return None
    kind = headers.get(f"{_PREFIX}representative-claim")
    found: dict[str, Any] = {
        "status": status,
        "resetsAt": _whole(headers.get(f"{_PREFIX}reset")),
        "rateLimitType": kind,
        "utilization": _share(headers.get(f"{_PREFIX}{_SHORT.get(kind or '', '')}-utilization")),
        "overageStatus": headers.get(f"{_PREFIX}overage-status"),
        "overageResetsAt": _whole(headers.get(f"{_PREFIX}overage-reset")),
        "overageDisabledReason": headers.get(f"{_PREFIX}overage-disabled-reason"),
    }
    return {key: value for key, value in found.items() if value is not None}


def _whole(text: str | None) -> int | None:
    return int(text) if text is not None and text.isascii() and text.isdecimal() else None


def _share(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return None
