"""Reads the usage out of an answer that passes through, without keeping any of it."""

from typing import Any, Protocol

import msgspec

from bridle.host.http.event_stream import EventDecoder, EventSizeError, ServerEvent
from bridle.types.usage import Usage

_LONGEST_EVENT = 1024 * 1024


class _AnthropicEvent(msgspec.Struct):
    usage: dict[str, Any] | None = None
    message: "_AnthropicEvent | None" = None


class _ChatEvent(msgspec.Struct):
    usage: dict[str, Any] | None = None


_ANTHROPIC = msgspec.json.Decoder(_AnthropicEvent)
_CHAT = msgspec.json.Decoder(_ChatEvent)


class UsageReader(Protocol):
    def feed(self, chunk: bytes) -> None: ...

    def usage(self) -> Usage: ...


class StreamUsage:
    """Looks at the events of a stream that name usage; one that is too long is skipped."""

    def __init__(self, dialect: str) -> None:
        self._dialect = dialect
        self._decoder = EventDecoder(_LONGEST_EVENT)
        self._found: dict[str, Any] = {}

    def feed(self, chunk: bytes) -> None:
        try:
            self._take(self._decoder.feed(chunk))
        except EventSizeError:
            self._decoder.reset()

    def usage(self) -> Usage:
        """What is known at the end; the last event may lack the blank line behind it."""
        try:
            self._take(self._decoder.finish())
        except EventSizeError:
            self._decoder.reset()
        return counted(self._dialect, self._found)

    def _take(self, events: list[ServerEvent]) -> None:
        for event in events:
            if b'"usage"' in event.data:
                self._found |= _usage_in(self._dialect, event.data)


class WholeUsage:
    """Collects a JSON answer up to a size, to read its usage at the end."""

    def __init__(self, dialect: str) -> None:
        self._dialect = dialect
        self._body = bytearray()

    def feed(self, chunk: bytes) -> None:
        if len(self._body) <= 32 * _LONGEST_EVENT:
            self._body += chunk

    def usage(self) -> Usage:
        return counted(self._dialect, _usage_in(self._dialect, bytes(self._body)))


def counted(dialect: str, usage: dict[str, Any]) -> Usage:
    """The counts of a service in our own terms; what is not a number counts as nothing."""
    numbers = {name: value for name, value in usage.items() if not isinstance(value, str | list)}
    try:
        return Usage.from_api(numbers) if dialect == "anthropic" else _of_chat(numbers)
    except (TypeError, AttributeError):
        return Usage()


def _of_chat(usage: dict[str, Any]) -> Usage:
    cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
    prompt = usage.get("prompt_tokens") or 0
    return Usage(input=max(0, prompt - cached), output=usage.get("completion_tokens") or 0, cache_read=cached)


def _usage_in(dialect: str, data: bytes) -> dict[str, Any]:
    try:
        if dialect != "anthropic":
            return _CHAT.decode(data).usage or {}
        event = _ANTHROPIC.decode(data)
    except (msgspec.MsgspecError, RecursionError):
        return {}
    inner = event.message.usage if event.message is not None else None
    return {**(inner or {}), **(event.usage or {})}
