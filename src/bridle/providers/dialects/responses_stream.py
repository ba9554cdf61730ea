"""The stream of Responses: each item of the output becomes a block of the answer."""

from typing import Any

from msgspec import DecodeError, Struct, ValidationError
from msgspec.json import Decoder as JsonDecoder

from bridle.providers import refusals
from bridle.providers.dialects.answer_builder import UNREADABLE, Assembly, reread, unreadable, usage_of
from bridle.providers.vendor import Vendor
from bridle.types.errors import ProviderError, StreamBroken
from bridle.types.model import ModelEvent
from bridle.types.text import decode_json

_NOTHING: tuple[ModelEvent, ...] = ()
_KEPT = ("id", "type", "summary", "content", "encrypted_content")
"""What is sent back of an item of reasoning."""


class Decoder:
    """Folds the events of a response into model events, one answer at a time."""

    __slots__ = ("_assembly", "_grown", "_model", "_open", "_request_id", "_vendor")

    def __init__(self, model: str, vendor: Vendor, request_id: str | None = None) -> None:
        self._assembly = Assembly(model, request_id)
        self._model = model
        self._vendor = vendor
        self._request_id = request_id
        self._open: int | None = None
        """The place in the output of the item that is open."""
        self._grown = False

    def feed(self, data: bytes) -> tuple[ModelEvent, ...]:
        """The events that `data` stands for.

        Raises:
            ProviderError: the service reports an error before it began to answer.
            StreamBroken: the service reports an error in its answer, or `data` makes no sense.
        """
        if data == b"[DONE]":
            return _NOTHING
        event = _read(data)
        match event.type:
            case "response.output_text.delta" | "response.refusal.delta":
                return self._text(event)
            case "response.function_call_arguments.delta":
                if event.output_index != self._open or not event.delta:
                    return _NOTHING
                self._grown = True
                return (self._assembly.piece(event.delta),)
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                return self._thought(event.output_index, event.delta)
            case "response.reasoning_summary_part.added":
                # Parts of a summary are paragraphs.
                return self._thought(event.output_index, "\n\n") if self._grown else _NOTHING
            case "response.output_item.added":
                return self._added(event)
            case "response.output_item.done":
                return self._done(event)
            case "response.created" | "response.in_progress" | "response.queued":
                return self._begun(event.response or {})
            case "response.completed" | "response.incomplete" | "response.done":
                return self._completed(event.response or {})
            case "response.failed":
                raise self._reported((event.response or {}).get("error") or {"message": "the answer failed"})
            case "error":
                raise self._reported(event.error or {"message": event.message, "code": event.code})
            case _:
                return _NOTHING

    def finish(self) -> tuple[ModelEvent, ...]:
        return _NOTHING

    def whole(self, body: bytes) -> tuple[ModelEvent, ...]:
        """Every event of an answer that came whole."""
        try:
            response: Any = decode_json(body)
        except DecodeError as error:
            raise unreadable(error) from error
        if not isinstance(response, dict) or not isinstance(response.get("output"), list):
            raise StreamBroken("The service sent an invalid response. Check its address.")
        if response.get("status") == "failed":
            raise self._reported(response.get("error") or {"message": "the answer failed"})
        events = self._begun(response)
        for place, item in enumerate(response["output"]):
            events += self._done(_Event("", output_index=place, item=item))
        return (*events, *self._completed(response))

    def _begun(self, response: dict[str, Any]) -> tuple[ModelEvent, ...]:
        return _NOTHING if self._assembly.begun else (self._assembly.start(response.get("id")),)

    def _text(self, event: "_Event") -> tuple[ModelEvent, ...]:
        if event.output_index != self._open or not event.delta:
            return _NOTHING
        self._grown = True
        return (self._assembly.text(event.delta),)

    def _thought(self, place: int, text: str) -> tuple[ModelEvent, ...]:
        if place != self._open or not text:
            return _NOTHING
        self._grown = True
        return (self._assembly.thinking(text),)

    def _added(self, event: "_Event") -> tuple[ModelEvent, ...]:
        # An item that begins inside another is sent as a whole when it is done.
        if self._open is not None:
            return _NOTHING
        opened = self._opened(event.item or {})
        if opened:
            self._open, self._grown = event.output_index, False
        return (*self._begun({}), *opened)

    def _opened(self, item: dict[str, Any]) -> tuple[ModelEvent, ...]:
        match item.get("type"):
            case "message":
                return (self._assembly.open_text(),)
            case "reasoning":
                return (self._assembly.open_thinking(),)
            case "function_call":
                call = str(item.get("call_id") or item.get("id") or "")
                return (self._assembly.open_call(call, str(item.get("name") or "")),)
            case _:
                return _NOTHING

    def _done(self, event: "_Event") -> tuple[ModelEvent, ...]:
        item = event.item or {}
        if event.output_index != self._open:
            if self._open is not None:
                return _NOTHING
            events = self._added(event)
            if self._open is None:
                return events
            return (*events, *self._done(event))
        events = _NOTHING if self._grown else self._rest(item)
        if item.get("type") == "reasoning":
            kept = {key: item[key] for key in _KEPT if item.get(key) is not None}
            self._assembly.keep({"responses": {"item": {"summary": [], **kept}}})
        elif item.get("phase"):
            self._assembly.keep({"responses": {"phase": item["phase"]}})
        self._open, self._grown = None, False
        return (*events, self._assembly.close(cut=item.get("status") == "incomplete"))

    def _rest(self, item: dict[str, Any]) -> tuple[ModelEvent, ...]:
        """The content of an item none of which was streamed."""
        match item.get("type"):
            case "message":
                parts: list[Any] = item.get("content") or []
                text = "".join(part.get("text") or part.get("refusal") or "" for part in parts)
                return (self._assembly.text(text),) if text else _NOTHING
            case "reasoning":
                parts = item.get("summary") or item.get("content") or []
                text = "\n\n".join(part.get("text", "") for part in parts)
                return (self._assembly.thinking(text),) if text else _NOTHING
            case _:
                arguments = str(item.get("arguments") or "")
                return (self._assembly.piece(arguments),) if arguments else _NOTHING

    def _completed(self, response: dict[str, Any]) -> tuple[ModelEvent, ...]:
        events = self._begun(response)
        if self._open is not None:
            events += (self._assembly.close(cut=True),)
            self._open = None
        if isinstance(usage := response.get("usage"), dict):
            self._assembly.usage = _usage(usage)
        return (*events, *self._assembly.complete(self._reason(response)))

    def _reason(self, response: dict[str, Any]) -> str:
        details: dict[str, Any] = response.get("incomplete_details") or {}
        match details.get("reason"):
            case "max_output_tokens":
                return "max_tokens"
            case "content_filter":
                return "refusal"
            case _:
                return "tool_use" if self._assembly.has_calls else "end_turn"

    def _reported(self, error: Any) -> ProviderError:
        begun = self._assembly.begun
        return refusals.reported(
            error, model=self._model, vendor=self._vendor, begun=begun, request_id=self._request_id
        )


class _Event(Struct, gc=False):
    type: str
    delta: str = ""
    output_index: int = -1
    item: dict[str, Any] | None = None
    response: dict[str, Any] | None = None
    error: Any = None
    message: str | None = None
    code: str | None = None


class _Bare(Struct):
    type: str


_EVENTS = JsonDecoder(_Event)
_BARE = JsonDecoder(_Bare)


def _read(data: bytes) -> _Event:
    try:
        return _EVENTS.decode(data)
    except ValidationError as error:
        # An event of a kind that is newer than this code may use the same names for other things.
        try:
            kind = _BARE.decode(data).type
        except DecodeError:
            raise unreadable(error) from error
        if kind in _OURS:
            raise unreadable(error) from error
        return _Event("")
    except UNREADABLE as error:
        return reread(data, _Event, error)


_OURS = frozenset(
    {
        "response.output_text.delta",
        "response.function_call_arguments.delta",
        "response.output_item.added",
        "response.output_item.done",
        "response.completed",
        "response.incomplete",
        "response.failed",
    }
)


def _usage(usage: dict[str, Any]) -> dict[str, Any]:
    read: dict[str, Any] = usage.get("input_tokens_details") or {}
    written: dict[str, Any] = usage.get("output_tokens_details") or {}
    return usage_of(
        prompt=usage.get("input_tokens") or 0,
        cached=read.get("cached_tokens") or 0,
        written=read.get("cache_write_tokens") or 0,
        output=usage.get("output_tokens") or 0,
        reasoning=written.get("reasoning_tokens") or 0,
    )
