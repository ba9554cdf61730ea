"""The stream of generateContent: parts of the candidate become blocks of the answer."""

from typing import Any

from msgspec import DecodeError, Raw, Struct
from msgspec.json import Decoder as JsonDecoder
from msgspec.json import encode as to_json

from bridle.providers import refusals
from bridle.providers.dialects.answer_builder import UNREADABLE, Assembly, reread, unreadable, usage_of
from bridle.providers.vendor import Vendor
from bridle.types.errors import ProviderError, StreamBroken
from bridle.types.model import ModelEvent

_REASONS = {"STOP": "end_turn", "MAX_TOKENS": "max_tokens"}
_UNUSABLE = ("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS")
_NOTHING: tuple[ModelEvent, ...] = ()


class Decoder:
    """Folds chunks of a response into model events, one answer at a time."""

    __slots__ = ("_assembly", "_model", "_reason", "_request_id", "_usage", "_vendor")

    def __init__(self, model: str, vendor: Vendor, request_id: str | None = None) -> None:
        self._assembly = Assembly(model, request_id)
        self._model = model
        self._vendor = vendor
        self._request_id = request_id
        self._reason: str | None = None
        self._usage = _NO_COUNTS
        """The counts of the last chunk; as every one has them, only the last are read."""

    def feed(self, data: bytes) -> tuple[ModelEvent, ...]:
        """The events that a chunk stands for.

        Raises:
            ProviderError: the service reports an error before it began to answer, or blocks the prompt.
            StreamBroken: the service reports an error in its answer, or `data` makes no sense.
        """
        chunk = _read(data)
        if chunk.usage_metadata:
            self._usage = chunk.usage_metadata
        if self._assembly.kind == "text" and len(chunk.candidates) == 1:
            candidate = chunk.candidates[0]
            if candidate.finish_reason is None and candidate.content is not None:
                parts = candidate.content.parts
                # Most chunks are a piece of text and nothing else.
                if len(parts) == 1 and _is_plain(part := parts[0]) and part.text:
                    return (self._assembly.text(part.text),)
        if chunk.error is not None:
            raise self._reported(chunk.error)
        if not chunk.candidates and chunk.prompt_feedback is not None and chunk.prompt_feedback.block_reason:
            raise self._blocked(chunk.prompt_feedback.block_reason)
        assembly = self._assembly
        events: tuple[ModelEvent, ...] = _NOTHING
        if not assembly.begun:
            events = (assembly.start(chunk.response_id),)
        for candidate in chunk.candidates[:1]:
            if candidate.content is not None:
                for part in candidate.content.parts:
                    events += self._part(part)
            if candidate.finish_reason is not None:
                self._reason = candidate.finish_reason
        return events

    def finish(self) -> tuple[ModelEvent, ...]:
        """The end of the answer, if the service has said why it ended."""
        if self._reason is None:
            return _NOTHING
        if self._reason in _UNUSABLE and self._assembly.is_empty:
            text = f"{self._vendor.label} wrote an invalid tool call ({self._reason}). Try again."
            raise StreamBroken(text, retryable=True)
        events = self._closed()
        if self._usage:
            self._assembly.usage = _counts(self._usage)
        reason = _REASONS.get(self._reason, "end_turn" if self._reason in _UNUSABLE else "refusal")
        if reason == "end_turn" and self._assembly.has_calls:
            reason = "tool_use"
        return (*events, *self._assembly.complete(reason))

    def whole(self, body: bytes) -> tuple[ModelEvent, ...]:
        """Every event of an answer that came whole."""
        events = self.feed(body)
        if self._reason is None:
            raise StreamBroken("The service sent an invalid response. Check its address.")
        return (*events, *self.finish())

    def _part(self, part: "_Part") -> tuple[ModelEvent, ...]:
        assembly = self._assembly
        if part.function_call is not None:
            return (*self._closed(), *self._call(part.function_call, part.thought_signature))
        wanted = "thinking" if part.thought else "text"
        events: tuple[ModelEvent, ...] = _NOTHING
        if part.text:
            if assembly.kind != wanted:
                opened = assembly.open_thinking if part.thought else assembly.open_text
                events = (*self._closed(), opened())
            events += (assembly.thinking(part.text) if part.thought else assembly.text(part.text),)
        if part.thought_signature and assembly.kind == wanted:
            assembly.keep({"gemini": {"signature": part.thought_signature}})
        return events

    def _call(self, call: "_FunctionCall", signature: str | None) -> tuple[ModelEvent, ...]:
        assembly = self._assembly
        opened = assembly.open_call(call.id or "", call.name)
        piece = assembly.piece(to_json(call.args or {}).decode())
        kept = {"signature": signature} if signature else {}
        if call.id:
            kept["id"] = call.id
        if kept:
            assembly.keep({"gemini": kept})
        return opened, piece, assembly.close()

    def _closed(self) -> tuple[ModelEvent, ...]:
        return (self._assembly.close(),) if self._assembly.kind else _NOTHING

    def _blocked(self, reason: str) -> ProviderError:
        text = f"{self._vendor.label} blocked the prompt ({reason}): change it, or choose another model."
        return ProviderError(text, kind="invalid_request", request_id=self._request_id)

    def _reported(self, error: Any) -> ProviderError:
        begun = self._assembly.begun
        return refusals.reported(
            error, model=self._model, vendor=self._vendor, begun=begun, request_id=self._request_id
        )


class _FunctionCall(Struct, rename="camel", gc=False):
    name: str = ""
    id: str | None = None
    args: dict[str, Any] | None = None


class _Part(Struct, rename="camel", gc=False):
    text: str | None = None
    thought: bool = False
    thought_signature: str | None = None
    function_call: _FunctionCall | None = None


class _Content(Struct, gc=False):
    parts: list[_Part] = []


class _Candidate(Struct, rename="camel", gc=False):
    content: _Content | None = None
    finish_reason: str | None = None


class _Feedback(Struct, rename="camel", gc=False):
    block_reason: str | None = None


class _Usage(Struct, rename="camel", gc=False):
    prompt_token_count: int = 0
    cached_content_token_count: int = 0
    candidates_token_count: int = 0
    thoughts_token_count: int = 0
    tool_use_prompt_token_count: int = 0

    def to_api(self) -> dict[str, Any]:
        return usage_of(
            prompt=self.prompt_token_count + self.tool_use_prompt_token_count,
            cached=self.cached_content_token_count,
            written=0,
            output=self.candidates_token_count + self.thoughts_token_count,
            reasoning=self.thoughts_token_count,
        )


class _Chunk(Struct, rename="camel", gc=False):
    candidates: list[_Candidate] = []
    usage_metadata: Raw = Raw()
    prompt_feedback: _Feedback | None = None
    response_id: str | None = None
    error: Any = None


_CHUNKS = JsonDecoder(_Chunk)
_USAGES = JsonDecoder(_Usage)
_NO_COUNTS = Raw()


def _counts(raw: Raw) -> dict[str, Any]:
    try:
        return _USAGES.decode(raw).to_api()
    except DecodeError as error:
        raise unreadable(error) from error


def _is_plain(part: _Part) -> bool:
    return not part.thought and part.thought_signature is None and part.function_call is None


def _read(data: bytes) -> _Chunk:
    try:
        return _CHUNKS.decode(data)
    except UNREADABLE as error:
        return reread(data, _Chunk, error)
