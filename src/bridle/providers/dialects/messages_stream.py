"""The events of a Messages API stream: read from the wire, and written for an answer that came whole."""

import os
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import DecodeError, Struct, ValidationError, convert
from msgspec.json import Decoder as JsonDecoder
from msgspec.json import encode as to_json
from msgspec.json import format as reformat

from bridle.types.block import AssistantMessage
from bridle.types.errors import ApiErrorKind, ProviderError, StreamBroken
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

ERROR_KINDS: Mapping[str, ApiErrorKind] = {
    "authentication_error": "authentication_failed",
    "permission_error": "authentication_failed",
    "billing_error": "billing_error",
    "rate_limit_error": "rate_limit",
    "overloaded_error": "overloaded",
    "invalid_request_error": "unknown",
    "request_too_large": "invalid_request",
    "not_found_error": "model_not_found",
    "api_error": "server_error",
    "timeout_error": "server_error",
}
PASSING_TYPES = frozenset({"rate_limit_error", "overloaded_error", "api_error", "timeout_error"})
"""Errors that may be gone on the next try."""

_QUOTED = 200
"""Characters of a service's own words that an error repeats."""


class Decoder:
    """Folds the data of server-sent events into model events, one answer at a time."""

    __slots__ = ("_closed", "_message", "_model", "_open", "_request_id", "completed")

    def __init__(self, request_id: str | None = None, *, model: str | None = None) -> None:
        self._request_id = request_id
        self._model = model
        """What the answer says it is from, when the service's own name for the model does not tell."""
        self._message: dict[str, Any] | None = None
        self._open: dict[int, _OpenBlock] = {}
        self._closed: dict[int, Any] = {}
        self.completed = False
        """Whether the whole answer has come; a stream that ends before was broken."""

    @property
    def begun(self) -> bool:
        return self._message is not None

    def feed(self, data: bytes) -> ModelEvent | None:
        """The event that `data` stands for, None when there is nothing to tell.

        Raises:
            ProviderError: the service reports an error before it began to answer.
            StreamBroken: the service reports an error in its answer, or `data` makes no sense.
        """
        if data == b"[DONE]":
            return None  # Some gateways end with it, as another vendor's API does.
        try:
            frame = _frame(data)
        except _UNREADABLE as error:
            raise broken(f"The service sent an event that is not JSON: {error}.") from error
        # Hosts write `wire` into lines of their own.
        wire = reformat(data, indent=-1) if b"\n" in data else data
        match frame.type:
            case "content_block_delta":
                return self._grow(frame, wire)
            case "content_block_start":
                return self._open_block(frame, wire)
            case "content_block_stop":
                return self._close_block(frame.index, wire)
            case "message_start":
                return self._start(frame.message, wire)
            case "message_delta":
                return Noted(wire, self._merge(frame.rest(wire), frame.usage or {}))
            case "message_stop":
                return self._complete(wire)
            case "error":
                raise self._reported(frame.error)
            case "ping":
                return None
            case _:
                return Noted(wire)

    def _start(self, message: dict[str, Any] | None, wire: bytes) -> Started:
        if self._message is not None or message is None:
            raise broken("The service sent an invalid start of an answer. Try again.")
        if self._model is not None:
            message = {**message, "model": self._model}
            wire = to_json({"type": "message_start", "message": message})
        self._message = _whole_message(message)
        # A copy, because later events complete the one kept here.
        return Started(_message(self._message, []), wire, self._request_id)

    def _open_block(self, frame: "_Frame", wire: bytes) -> BlockOpened:
        block = frame.content_block
        known = frame.index in self._open or frame.index in self._closed
        if self._message is None or block is None or known or not isinstance(block.get("type"), str):
            raise broken("The service opened a block out of order. Try again.")
        self._open[frame.index] = _OpenBlock(dict(block))
        opened: Any = block
        return BlockOpened(frame.index, opened, wire)

    def _grow(self, frame: "_Frame", wire: bytes) -> ModelEvent:
        block = self._open.get(frame.index)
        piece = frame.delta
        if block is None or piece is None:
            raise broken("The service sent part of a block that is not open. Try again.")
        match piece.type:
            case "text_delta":
                block.parts.append(piece.text)
                return TextArrived(frame.index, piece.text, wire)
            case "thinking_delta":
                block.parts.append(piece.thinking)
                return ThinkingArrived(frame.index, piece.thinking, wire)
            case "input_json_delta":
                block.parts.append(piece.partial_json)
            case "signature_delta":
                block.signature.append(piece.signature)
            case "citations_delta":
                block.value["citations"] = [*(block.value.get("citations") or ()), piece.citation]
            case _:
                _fold_unknown(block.value, frame.rest(wire))
        return PieceArrived(frame.index, wire)

    def _close_block(self, index: int, wire: bytes) -> BlockClosed:
        block = self._open.pop(index, None)
        if block is None:
            raise broken("The service closed a block that is not open. Try again.")
        flaw = block.finish()
        closed: Any = block.value
        self._closed[index] = closed
        return BlockClosed(index, closed, wire, flaw)

    def _merge(self, event: dict[str, Any], usage: dict[str, Any]) -> AssistantMessage:
        message = self._message
        if message is None:
            raise broken("The service ended an answer that it did not start. Try again.")
        added = {**event, **(event.get("delta") or {})}
        message.update({key: added[key] for key in added if key not in _FIXED})
        known = message["usage"]
        for name, count in usage.items():
            # Gateways repeat counts they do not know as null or zero.
            if count or name not in known:
                known[name] = count
        return _message(message, [])

    def _complete(self, wire: bytes) -> Completed:
        if self._message is None or self._open:
            raise broken("The service ended its answer in the middle of a block. Try again.")
        self.completed = True
        content = [self._closed[index] for index in sorted(self._closed)]
        return Completed(_message(self._message, content), wire, self._request_id)

    def _reported(self, error: Any) -> ProviderError:
        detail: dict[str, Any] = error if isinstance(error, dict) else {"message": str(error)}
        kind = str(detail.get("type") or "api_error")
        passing = kind in PASSING_TYPES
        form = StreamBroken if self._message is not None and passing else ProviderError
        return form(
            f"The service stopped with an error: {str(detail.get('message') or kind)[:_QUOTED]}",
            kind=ERROR_KINDS.get(kind, "unknown"),
            retryable=passing,
            error_type=kind,
            request_id=self._request_id,
        )


class _Piece(Struct):
    type: str = ""
    text: str = ""
    thinking: str = ""
    partial_json: str = ""
    signature: str = ""
    citation: Any = None


class _Frame(Struct):
    type: str
    index: int = 0
    delta: _Piece | None = None
    message: dict[str, Any] | None = None
    content_block: dict[str, Any] | None = None
    usage: dict[str, Any] | None = None
    error: Any = None

    def rest(self, wire: bytes) -> dict[str, Any]:
        """The event with the fields that have no place here."""
        try:
            return _VALUES.decode(wire)
        except _UNREADABLE as error:
            raise broken(f"The service sent an event that is not JSON: {error}.") from error


_FRAMES = JsonDecoder(_Frame)
_VALUES: JsonDecoder[Any] = JsonDecoder()
_UNREADABLE = (DecodeError, UnicodeError, RecursionError)
_FIXED = frozenset({"id", "type", "role", "content", "delta", "usage"})
"""Fields of a message that its end does not change."""
_OURS = frozenset(
    {
        "message_start",
        "message_delta",
        "message_stop",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
    }
)


class _OpenBlock:
    __slots__ = ("parts", "signature", "value")

    def __init__(self, value: dict[str, Any]) -> None:
        self.value = value
        self.parts: list[str] = []
        self.signature: list[str] = []

    def finish(self) -> str | None:
        """Put the parts into the block; what is wrong with its input, if something is."""
        if self.signature:
            self._append("signature", self.signature)
        if not self.parts:
            return None
        match self.value["type"]:
            case "text" | "thinking" as field:
                self._append(field, self.parts)
            case _:
                return self._read_input("".join(self.parts))
        return None

    def _append(self, field: str, parts: list[str]) -> None:
        begun = self.value.get(field)
        self.value[field] = "".join([begun, *parts] if isinstance(begun, str) else parts)

    def _read_input(self, text: str) -> str | None:
        self.value["input"] = {}
        if not text.strip():
            return None
        try:
            value = decode_json(text.encode())
        except _UNREADABLE as error:
            return f"the input is not valid JSON ({error}); it began with: {text[:_QUOTED]}"
        if not isinstance(value, dict):
            return f"the input must be a JSON object; it began with: {text[:_QUOTED]}"
        self.value["input"] = value
        return None


def broken(message: str) -> StreamBroken:
    return StreamBroken(message, retryable=True)


def _frame(data: bytes) -> _Frame:
    try:
        return _FRAMES.decode(data)
    except ValidationError:
        value = _VALUES.decode(data)
    except DecodeError:
        # Some services cut text in the middle of a surrogate pair; that costs a character, not the answer.
        return convert(decode_json(data), _Frame)
    kind = value.get("type") if isinstance(value, dict) else None
    if not isinstance(kind, str) or kind in _OURS:
        raise broken("The service sent an event that is not part of the Messages API. Check its address.")
    return _Frame(kind, error=value.get("error"))


def _fold_unknown(block: dict[str, Any], event: dict[str, Any]) -> None:
    """Deltas of blocks that are newer than this code: text grows, everything else is set."""
    for key, value in event["delta"].items():
        if key == "type":
            continue
        known = block.get(key)
        block[key] = known + value if isinstance(known, str) and isinstance(value, str) else value


def _whole_message(message: dict[str, Any]) -> dict[str, Any]:
    """The message with the fields that some gateways leave out."""
    needed: dict[str, Any] = {
        "id": f"msg_{os.urandom(12).hex()}",
        "type": "message",
        "role": "assistant",
        "model": "",
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {},
    }
    whole = message | {key: needed[key] for key in needed if message.get(key) is None}
    whole["usage"] = dict(whole["usage"]) if isinstance(whole["usage"], dict) else {}
    return whole


def _message(fields: dict[str, Any], content: list[Any]) -> AssistantMessage:
    message: Any = {**fields, "content": content, "usage": dict(fields["usage"])}
    return message


def stream_of(message: Mapping[str, Any]) -> Iterator[bytes]:
    """The events that would have carried `message`, had it been streamed."""
    opening = {**message, "content": [], "stop_reason": None, "stop_sequence": None}
    yield to_json({"type": "message_start", "message": opening})
    for index, block in enumerate(message["content"]):
        yield from _stream_of_block(index, block)
    delta = {"stop_reason": message.get("stop_reason"), "stop_sequence": message.get("stop_sequence")}
    yield to_json({"type": "message_delta", "delta": delta, "usage": message.get("usage") or {}})
    yield to_json({"type": "message_stop"})


def _stream_of_block(index: int, block: Mapping[str, Any]) -> Iterator[bytes]:
    emptied = dict(block)
    deltas: list[dict[str, Any]] = []
    match block.get("type"):
        case "text":
            deltas.append({"type": "text_delta", "text": block["text"]})
            emptied["text"] = ""
        case "thinking":
            deltas.append({"type": "thinking_delta", "thinking": block["thinking"]})
            deltas.append({"type": "signature_delta", "signature": block.get("signature", "")})
            emptied |= {"thinking": "", "signature": ""}
        case "tool_use" | "server_tool_use":
            deltas.append({"type": "input_json_delta", "partial_json": to_json(block["input"]).decode()})
            emptied["input"] = {}
        case _:
            pass
    yield to_json({"type": "content_block_start", "index": index, "content_block": emptied})
    for delta in deltas:
        yield to_json({"type": "content_block_delta", "index": index, "delta": delta})
    yield to_json({"type": "content_block_stop", "index": index})
