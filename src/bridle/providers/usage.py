"""What an answer says about limits on use, and a count of its tokens where the service has none."""

from collections.abc import Mapping
from typing import Any, TypeVar

from msgspec.json import encode as to_json
from msgspec.structs import replace

from bridle.types.model import Completed, Started

_PREFIX = "anthropic-ratelimit-unified-"
_STATES = ("allowed", "allowed_warning", "rejected")
_BYTES_PER_TOKEN = 4
_Counted = TypeVar("_Counted", Started, Completed)
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


def guessed(event: _Counted, sent: int, window: int) -> _Counted:
    """The event with a guess at its prompt of `sent` bytes and, at the end, at the answer.

    An answer that is cut early is not free.
    """
    # Files travel as long text but count little; more than the window holds it cannot be.
    guess = {"input_tokens": min(sent // _BYTES_PER_TOKEN, window)}
    usage: dict[str, Any] = dict(event.message["usage"])
    message: Any = {**event.message, "usage": {**usage, **guess}}
    if isinstance(event, Started):
        return replace(event, message=message, wire=to_json({"type": "message_start", "message": message}))
    if not usage.get("output_tokens"):
        written = len(to_json(event.message["content"])) // _BYTES_PER_TOKEN
        message["usage"]["output_tokens"] = written
    return replace(event, message=message)


def _whole(text: str | None) -> int | None:
    return int(text) if text is not None and text.isascii() and text.isdecimal() else None


def _share(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return None
