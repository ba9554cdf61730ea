"""Counts tokens where a service has not, or not yet: an answer that is cut early is not free."""

from typing import Any

from msgspec.json import encode as to_json
from msgspec.structs import replace

from bridle.types.model import Completed, Started

_BYTES_PER_TOKEN = 4


def begun(event: Started, sent: int, window: int) -> Started:
    """The start of an answer, with a guess at its prompt of `sent` bytes where no count came with it."""
    usage: dict[str, Any] = dict(event.message["usage"])
    if _counted(usage):
        return event
    message: Any = {**event.message, "usage": {**usage, "input_tokens": _tokens(sent, window)}}
    wire = to_json({"type": "message_start", "message": message})
    return replace(event, message=message, wire=wire)


def ended(event: Completed, sent: int, window: int) -> Completed:
    """A whole answer, with a guess where the service counted nothing at all."""
    usage: dict[str, Any] = dict(event.message["usage"])
    if _counted(usage):
        return event
    guess = {"input_tokens": _tokens(sent, window)}
    if not usage.get("output_tokens"):
        guess["output_tokens"] = len(to_json(event.message["content"])) // _BYTES_PER_TOKEN
    message: Any = {**event.message, "usage": {**usage, **guess}}
    return replace(event, message=message)


def _counted(usage: dict[str, Any]) -> bool:
    names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    return any(usage.get(name) for name in names)


def _tokens(sent: int, window: int) -> int:
    # Files travel as long text but count little; more than the window holds it cannot be.
    return min(sent // _BYTES_PER_TOKEN, window)
