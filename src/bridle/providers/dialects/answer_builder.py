"""Puts an answer together block by block, and writes each step as an event of the Messages API."""

import os
from typing import Any, TypeVar

from msgspec import DecodeError, ValidationError, convert
from msgspec.json import Encoder

from bridle.providers.dialects.json_repair import repair_json
from bridle.providers.dialects.messages_request import OURS
from bridle.types.block import AssistantMessage
from bridle.types.errors import StreamBroken
from bridle.types.model import (
    BlockClosed,
    BlockOpened,
    Completed,
    ModelEvent,
    Noted,
    PieceArrived,
    Started,
    TextArrived,
    ThinkingArrived,
)
from bridle.types.text import decode_json

_QUOTED = 200
"""Characters of unreadable input that a flaw repeats."""
_encode = Encoder().encode
UNREADABLE = (DecodeError, UnicodeError, RecursionError)
"""What reading JSON from outside may raise."""
Form = TypeVar("Form")


class Assembly:
    """One answer in the making: blocks are open one at a time, and closed in order."""

    __slots__ = (
        "_content",
        "_id",
        "_index",
        "_model",
        "_open",
        "_parts",
        "_prefix",
        "_request_id",
        "kind",
        "usage",
    )

    def __init__(self, model: str, request_id: str | None) -> None:
        self._model = model
        self._request_id = request_id
        self._id = ""
        self._index = -1
        self._open: dict[str, Any] = {}
        self._parts: list[str] = []
        self._prefix = b""
        self._content: list[Any] = []
        self.kind = ""
        """The type of the block that is open, empty when none is."""
        self.usage: dict[str, Any] = {"input_tokens": 0, "output_tokens": 0}

    @property
    def begun(self) -> bool:
        return bool(self._id)

    @property
    def has_calls(self) -> bool:
        return any(block["type"] == "tool_use" for block in self._content)

    @property
    def is_empty(self) -> bool:
        return not self._content and not self.kind

    def start(self, identity: str | None) -> Started:
        """Begin the answer; `identity` is what the service calls it."""
        self._id = identity or f"msg_{os.urandom(12).hex()}"
        message = self._message(None, [])
        wire = _encode({"type": "message_start", "message": message})
        return Started(message, wire, self._request_id)

    def open_text(self) -> BlockOpened:
        return self._open_block({"type": "text", "text": ""}, b'"text_delta","text":')

    def open_thinking(self) -> BlockOpened:
        block = {"type": "thinking", "thinking": "", "signature": ""}
        return self._open_block(block, b'"thinking_delta","thinking":')

    def open_call(self, identity: str, name: str) -> BlockOpened:
        block = {"type": "tool_use", "id": identity or new_call_id(), "name": name, "input": {}}
        return self._open_block(block, b'"input_json_delta","partial_json":')

    def text(self, text: str) -> TextArrived:
        self._parts.append(text)
        return TextArrived(self._index, text, self._prefix + _encode(text) + b"}}")

    def thinking(self, text: str) -> ThinkingArrived:
        self._parts.append(text)
        return ThinkingArrived(self._index, text, self._prefix + _encode(text) + b"}}")

    def piece(self, text: str) -> PieceArrived:
        self._parts.append(text)
        return PieceArrived(self._index, self._prefix + _encode(text) + b"}}")

    def keep(self, vendor_data: dict[str, Any]) -> None:
        """Put data that only its vendor understands into the open block."""
        self._open[OURS] = self._open.get(OURS, {}) | vendor_data

    def input_is_whole(self) -> bool:
        """Whether the input of the open call is a JSON object by now."""
        text = "".join(self._parts)
        if not text.rstrip().endswith("}"):
            return False
        try:
            return isinstance(decode_json(text.encode()), dict)
        except UNREADABLE:
            return False

    def close(self, *, cut: bool = False) -> BlockClosed:
        """Close the open block; with `cut` its end is missing, so that broken input is not repaired."""
        block, joined = self._open, "".join(self._parts)
        flaw: str | None = None
        match block["type"]:
            case "text":
                block["text"] = joined
            case "thinking":
                block["thinking"] = joined
            case _:
                block["input"], flaw = _input(joined, cut=cut)
        self._content.append(block)
        self.kind = ""
        wire = b'{"type":"content_block_stop","index":%d}' % self._index
        closed: Any = block
        return BlockClosed(self._index, closed, wire, flaw)

    def complete(self, stop_reason: str) -> tuple[ModelEvent, ...]:
        """The end of the answer: how it ended, what it used, and all of it."""
        delta = {"stop_reason": stop_reason, "stop_sequence": None}
        noted = Noted(_encode({"type": "message_delta", "delta": delta, "usage": self.usage}))
        message = self._message(stop_reason, self._content)
        return noted, Completed(message, b'{"type":"message_stop"}', self._request_id)

    def _open_block(self, block: dict[str, Any], delta: bytes) -> BlockOpened:
        self._index += 1
        self._open, self._parts, self.kind = block, [], block["type"]
        self._prefix = b'{"type":"content_block_delta","index":%d,"delta":{"type":%s' % (self._index, delta)
        opened: Any = dict(block)
        wire = _encode({"type": "content_block_start", "index": self._index, "content_block": opened})
        return BlockOpened(self._index, opened, wire)

    def _message(self, stop_reason: str | None, content: list[Any]) -> AssistantMessage:
        return {
            "id": self._id,
            "type": "message",
            "role": "assistant",
            "model": self._model,
            "content": content,
            "stop_reason": stop_reason,
            "stop_sequence": None,
            "usage": dict(self.usage),
        }


def new_call_id() -> str:
    """An id for a call that its vendor gave none; every vendor accepts its form."""
    return f"call_{os.urandom(12).hex()}"


def usage_of(*, prompt: int, cached: int, written: int, output: int, reasoning: int) -> dict[str, Any]:
    """Counts in the words of the Messages API, where cached tokens are not part of the input."""
    usage: dict[str, Any] = {
        "input_tokens": max(0, prompt - cached - written),
        "output_tokens": output,
        "cache_read_input_tokens": cached,
        "cache_creation_input_tokens": written,
    }
    if reasoning:
        usage["output_tokens_details"] = {"reasoning_tokens": reasoning}
    return usage


def unreadable(error: Exception) -> StreamBroken:
    return StreamBroken(f"The service sent an invalid event: {error}.", retryable=True)


def reread(data: bytes, form: type[Form], error: Exception) -> Form:
    """An event that could not be read at first go.

    Some services cut text in the middle of a surrogate pair; that costs a character, not the answer.

    Raises:
        StreamBroken: it cannot be read at all.
    """
    if isinstance(error, ValidationError):
        raise unreadable(error) from error
    try:
        return convert(decode_json(data), form)
    except UNREADABLE as worse:
        raise unreadable(worse) from worse


def _input(text: str, *, cut: bool) -> tuple[dict[str, Any], str | None]:
    if not text.strip():
        return {}, None
    try:
        value = decode_json(text.encode())
    except UNREADABLE as error:
        repaired = None if cut else repair_json(text)
        if repaired is None:
            return {}, f"the input is not valid JSON ({error}); it began with: {text[:_QUOTED]}"
        return repaired, None
    if isinstance(value, dict):
        return value, None
    if isinstance(value, str) and (inner := repair_json(value)) is not None:
        return inner, None  # Some models quote the object once more.
    if value is None:
        return {}, None
    return {}, f"the input must be a JSON object; it began with: {text[:_QUOTED]}"
