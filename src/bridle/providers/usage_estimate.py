"""Counts tokens where a service has not, or not yet: an answer that is cut early is not free."""

from typing import Any, TypeVar

from msgspec.json import encode as to_json
from msgspec.structs import replace

from bridle.types.model import Completed, Started

_BYTES_PER_TOKEN = 4
_Counted = TypeVar("_Counted", Started, Completed)


def guessed(event: _Counted, sent: int, window: int) -> _Counted:
    """The event with a guess at its prompt of `sent` bytes and, at the end, at the answer."""
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
