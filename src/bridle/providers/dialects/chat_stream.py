"""The stream of Chat Completions: chunks become the events of an answer."""

from typing import Any

from msgspec import UNSET, Struct, UnsetType
from msgspec.json import Decoder as JsonDecoder
from msgspec.json import encode as to_json

from bridle.providers import refusals
from bridle.providers.dialects.answer_builder import UNREADABLE, Assembly, reread, usage_of
from bridle.providers.dialects.text_calls import Hold
from bridle.providers.vendor import Vendor
from bridle.types.errors import ProviderError, StreamBroken
from bridle.types.model import ModelEvent

_REASONS = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "content_filter": "refusal",
    "model_length": "max_tokens",
    "sensitive": "refusal",
}
_NOTHING: tuple[ModelEvent, ...] = ()


class Decoder:
    """Folds chunks into model events, one answer at a time."""

    __slots__ = (
        "_assembly",
        "_calls",
        "_details",
        "_hold",
        "_model",
        "_open_call",
        "_reason",
        "_request_id",
        "_vendor",
    )

    def __init__(
        self, model: str, vendor: Vendor, request_id: str | None = None, *, hold: Hold | None = None
    ) -> None:
        self._assembly = Assembly(model, request_id)
        self._hold = hold
        """Reads the text first, where calls may stand in it."""
        self._model = model
        self._vendor = vendor
        self._request_id = request_id
        self._calls: list[_Call] = []
        self._open_call: _Call | None = None
        self._details: list[Any] = []
        self._reason: str | None = None

    def feed(self, data: bytes) -> tuple[ModelEvent, ...]:
        """The events that a chunk stands for.

        Raises:
            ProviderError: the service reports an error before it began to answer.
            StreamBroken: the service reports an error in its answer, or `data` makes no sense.
        """
        if data == b"[DONE]":
            self._reason = self._reason or ("stop" if self._assembly.begun else None)
            return self.finish()
        chunk = _read(data)
        plain = len(chunk.choices) == 1 and chunk.usage is None and self._hold is None
        if plain and self._assembly.kind == "text":
            choice = chunk.choices[0]
            delta = choice.delta
            if (
                delta is not None
                and type(delta.content) is str
                and delta.content
                and choice.finish_reason is None
                and not (delta.tool_calls or delta.reasoning_content or delta.reasoning)
            ):
                return (self._assembly.text(delta.content),)
        return self._take(chunk)

    def finish(self) -> tuple[ModelEvent, ...]:
        """The end of the answer, if the service has said why it ended."""
        if self._reason is None or not self._assembly.begun:
            return _NOTHING
        cut = self._reason == "length"
        events = (*self._unheld(), *self._closed(cut=cut))
        for call in self._calls:
            if not call.sent:
                events += (*self._send(call), self._assembly.close(cut=cut))
        reason = _REASONS.get(self._reason, "end_turn")
        if reason in ("end_turn", "tool_use"):
            # Some servers say stop after calls, and some say calls where there are none.
            reason = "tool_use" if self._assembly.has_calls else "end_turn"
        self._reason = None
        return (*events, *self._assembly.complete(reason))

    def whole(self, body: bytes) -> tuple[ModelEvent, ...]:
        """Every event of an answer that came whole."""
        chunk = _read(body)
        if not chunk.choices and chunk.error is UNSET:
            raise StreamBroken("The service sent an invalid response. Check its address.")
        return (*self._take(chunk), *self.finish())

    def _take(self, chunk: "_Chunk") -> tuple[ModelEvent, ...]:
        if chunk.error is not UNSET and chunk.error is not None:
            raise self._reported(chunk.error)
        events: tuple[ModelEvent, ...] = _NOTHING
        if not self._assembly.begun and (chunk.choices or chunk.id):
            events = (self._assembly.start(chunk.id),)
        if chunk.usage is not None:
            self._assembly.usage = _usage(chunk.usage)
        for choice in chunk.choices[:1]:
            delta = choice.delta or choice.message
            if delta is not None:
                events += self._grow(delta)
            if choice.finish_reason:
                if choice.finish_reason == "error":
                    raise self._reported({"message": "the answer ended in an error"})
                self._reason = choice.finish_reason
        return events

    def _grow(self, delta: "_Delta") -> tuple[ModelEvent, ...]:
        assembly = self._assembly
        events: tuple[ModelEvent, ...] = _NOTHING
        if delta.reasoning_details:
            self._details += delta.reasoning_details
        thought, text = _spoken(delta)
        if thought:
            if assembly.kind != "thinking":
                events += (*self._closed(), assembly.open_thinking())
            events += (assembly.thinking(thought),)
        if text and self._hold is not None:
            text = self._hold.feed(text)
        if text:
            if assembly.kind != "text":
                events += (*self._closed(), assembly.open_text())
            events += (assembly.text(text),)
        for piece in delta.tool_calls or ():
            events += self._call_piece(piece)
        return events

    def _unheld(self) -> tuple[ModelEvent, ...]:
        """The rest of the text that was held back, and the calls that were found in it."""
        if self._hold is None:
            return _NOTHING
        assembly = self._assembly
        rest, calls = self._hold.finish(called=bool(self._calls))
        events: tuple[ModelEvent, ...] = _NOTHING
        if rest.strip() or (rest and assembly.kind == "text"):
            if assembly.kind != "text":
                events = (*self._closed(), assembly.open_text())
            events += (assembly.text(rest),)
        for call in calls:
            events += (*self._closed(), assembly.open_call("", call.name))
            events += (assembly.piece(to_json(call.input).decode()),)
        return events

    def _call_piece(self, piece: "_Piece") -> tuple[ModelEvent, ...]:
        call = self._call_of(piece)
        function = piece.function
        name = (function.name or "") if function is not None else ""
        arguments = _arguments(function)
        call.id = call.id or piece.id or ""
        if name and name != call.name:
            call.name += name
        if self._open_call is call:
            call.parts.append(arguments)
            return (self._assembly.piece(arguments),) if arguments else _NOTHING
        call.parts.append(arguments)
        # Pieces of several calls may be mixed: what is open stays open until it is whole.
        if self._open_call is not None and not self._assembly.input_is_whole():
            return _NOTHING
        if not call.name:
            return _NOTHING
        return (*self._closed(), *self._send(call))

    def _send(self, call: "_Call") -> tuple[ModelEvent, ...]:
        call.sent = True
        self._open_call = call
        opened = self._assembly.open_call(call.id, call.name)
        arguments = "".join(call.parts)
        return (opened, self._assembly.piece(arguments)) if arguments else (opened,)

    def _call_of(self, piece: "_Piece") -> "_Call":
        """The call that a piece belongs to; not every server numbers them, and some give all the number 0."""
        named = piece.function is not None and bool(piece.function.name)
        known = [call for call in self._calls if call.index == piece.index]
        renamed = named and piece.id and known and known[-1].id and piece.id != known[-1].id
        if known and not renamed and (piece.index is not None or not named):
            return known[-1]
        call = _Call(piece.index)
        self._calls.append(call)
        return call

    def _closed(self, *, cut: bool = False) -> tuple[ModelEvent, ...]:
        if not self._assembly.kind:
            return _NOTHING
        if self._assembly.kind == "thinking" and self._details:
            self._assembly.keep({"chat": {"details": _joined(self._details)}})
            self._details = []
        self._open_call = None
        return (self._assembly.close(cut=cut),)

    def _reported(self, error: Any) -> ProviderError:
        begun = self._assembly.begun
        return refusals.reported(
            error, model=self._model, vendor=self._vendor, begun=begun, request_id=self._request_id
        )


class _Function(Struct, gc=False):
    name: str | None = None
    arguments: Any = None


class _Piece(Struct, gc=False):
    index: int | None = None
    id: str | None = None
    function: _Function | None = None


class _Delta(Struct, gc=False):
    content: Any = None
    reasoning_content: str | None = None
    reasoning: Any = None
    reasoning_details: list[Any] | None = None
    refusal: str | None = None
    tool_calls: list[_Piece] | None = None


class _Choice(Struct, gc=False):
    delta: _Delta | None = None
    message: _Delta | None = None
    finish_reason: str | None = None


class _Chunk(Struct, gc=False):
    id: str | None = None
    choices: list[_Choice] = []
    usage: dict[str, Any] | None = None
    error: Any | UnsetType = UNSET


class _Call:
    __slots__ = ("id", "index", "name", "parts", "sent")

    def __init__(self, index: int | None) -> None:
        self.index = index
        self.id = ""
        self.name = ""
        self.parts: list[str] = []
        self.sent = False


_CHUNKS = JsonDecoder(_Chunk)


def _read(data: bytes) -> _Chunk:
    try:
        return _CHUNKS.decode(data)
    except UNREADABLE as error:
        return reread(data, _Chunk, error)


def _spoken(delta: _Delta) -> tuple[str, str]:
    """Thought and text of a delta; one vendor sends both as a list of parts in the content."""
    thought = delta.reasoning_content or (delta.reasoning if isinstance(delta.reasoning, str) else "") or ""
    content = delta.content
    if isinstance(content, list):
        text = ""
        for part in content:
            if isinstance(part, dict) and part.get("type") == "thinking":
                inner: Any = part.get("thinking") or ""
                thought += (
                    inner if isinstance(inner, str) else "".join(each.get("text", "") for each in inner)
                )
            elif isinstance(part, dict):
                text += part.get("text", "")
        return thought, text
    return thought, (content if isinstance(content, str) else "") or delta.refusal or ""


def _arguments(function: _Function | None) -> str:
    if function is None or function.arguments is None:
        return ""
    if isinstance(function.arguments, str):
        return function.arguments
    # A server that sends the object instead of its text.
    return to_json(function.arguments).decode()


def _joined(details: list[Any]) -> list[Any]:
    """Details of reasoning with the pieces of one and the same put together."""
    whole: list[Any] = []
    for detail in details:
        last = whole[-1] if whole else None
        same = isinstance(last, dict) and all(
            last.get(key) == detail.get(key) for key in ("type", "index", "format")
        )
        if isinstance(last, dict) and same:
            for key, value in detail.items():
                grows = key in ("text", "summary", "data") and isinstance(last.get(key), str)
                last[key] = (
                    last[key] + value if grows and isinstance(value, str) else (value or last.get(key))
                )
        else:
            whole.append(dict(detail))
    return whole


def _usage(usage: dict[str, Any]) -> dict[str, Any]:
    read: dict[str, Any] = usage.get("prompt_tokens_details") or {}
    written: dict[str, Any] = usage.get("completion_tokens_details") or {}
    cached = (
        read.get("cached_tokens") or usage.get("prompt_cache_hit_tokens") or usage.get("cached_tokens") or 0
    )
    return usage_of(
        prompt=usage.get("prompt_tokens") or 0,
        cached=cached,
        written=read.get("cache_write_tokens") or 0,
        output=usage.get("completion_tokens") or 0,
        reasoning=written.get("reasoning_tokens") or 0,
    )
