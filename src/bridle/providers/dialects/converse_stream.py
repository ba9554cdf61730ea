"""The stream of Bedrock's Converse: its content blocks become blocks of the answer."""

from typing import Any

from msgspec import Struct, ValidationError, convert
from msgspec.json import Decoder as JsonDecoder
from msgspec.json import encode as to_json

from bridle.providers.dialects.answer_builder import UNREADABLE, Assembly, reread, unreadable, usage_of
from bridle.types.errors import StreamBroken
from bridle.types.model import ModelEvent

_REASONS = {
    "end_turn": "end_turn",
    "stop_sequence": "end_turn",
    "tool_use": "tool_use",
    "max_tokens": "max_tokens",
    "model_context_window_exceeded": "max_tokens",
    "guardrail_intervened": "refusal",
    "content_filtered": "refusal",
}
_UNUSABLE = ("malformed_model_output", "malformed_tool_use")
_NOTHING: tuple[ModelEvent, ...] = ()
KINDS = frozenset(
    {"messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop", "metadata"}
)
"""The events of such a stream."""


class Decoder:
    """Folds the events of a stream into model events, one answer at a time."""

    __slots__ = ("_assembly", "_open", "_reason")

    def __init__(self, model: str, request_id: str | None = None) -> None:
        self._assembly = Assembly(model, request_id)
        self._open = -1
        """The place in the answer of the block that is open."""
        self._reason: str | None = None

    @property
    def begun(self) -> bool:
        return self._assembly.begun

    def feed(self, kind: str, data: bytes) -> tuple[ModelEvent, ...]:
        """The events that a message of the stream stands for.

        Raises:
            StreamBroken: `data` makes no sense, or the model wrote something unusable.
        """
        event = _read(data)
        match kind:
            case "contentBlockDelta":
                return self._delta(event)
            case "contentBlockStart":
                return self._opened(event)
            case "contentBlockStop":
                return self._closed()
            case "messageStop":
                self._reason = event.stop_reason or "end_turn"
                return self._closed()
            case "metadata":
                if event.usage is not None:
                    self._assembly.usage = event.usage.to_api()
                return self.finish()
            case _:
                return self._begun()

    def finish(self) -> tuple[ModelEvent, ...]:
        """The end of the answer, if the service has said why it ended."""
        if self._reason is None:
            return _NOTHING
        reason, self._reason = self._reason, None
        if reason in _UNUSABLE:
            raise StreamBroken(f"The model's answer is invalid ({reason}). Try again.", retryable=True)
        called = self._assembly.has_calls and reason == "end_turn"
        return self._assembly.complete("tool_use" if called else _REASONS.get(reason, "end_turn"))

    def whole(self, response: dict[str, Any]) -> tuple[ModelEvent, ...]:
        """Every event of an answer that came whole."""
        try:
            answer = convert(response, _Whole)
        except ValidationError as error:
            raise unreadable(error) from error
        events = self._begun()
        for block in answer.output.message.content:
            events += self._block(block)
        if answer.usage is not None:
            self._assembly.usage = answer.usage.to_api()
        self._reason = answer.stop_reason or "end_turn"
        return (*events, *self.finish())

    def _delta(self, event: "_Event") -> tuple[ModelEvent, ...]:
        assembly, delta = self._assembly, event.delta
        if delta is None:
            return _NOTHING
        if delta.text is not None:
            if event.content_block_index == self._open and assembly.kind == "text":
                return (assembly.text(delta.text),)
            return (*self._text_opened(event.content_block_index), assembly.text(delta.text))
        if delta.tool_use is not None:
            fits = event.content_block_index == self._open and assembly.kind == "tool_use"
            return (assembly.piece(delta.tool_use.input),) if fits and delta.tool_use.input else _NOTHING
        if delta.reasoning_content is not None:
            return self._thought(event.content_block_index, delta.reasoning_content)
        return _NOTHING

    def _thought(self, place: int, thought: "_Thought") -> tuple[ModelEvent, ...]:
        assembly = self._assembly
        events: tuple[ModelEvent, ...] = _NOTHING
        if assembly.kind != "thinking" or place != self._open:
            events = (*self._begun(), *self._closed(), assembly.open_thinking())
            self._open = place
        if thought.text:
            events += (assembly.thinking(thought.text),)
        if thought.signature:
            assembly.keep({"converse": {"signature": thought.signature}})
        if thought.redacted_content:
            assembly.keep({"converse": {"redacted": thought.redacted_content}})
        return events

    def _text_opened(self, place: int) -> tuple[ModelEvent, ...]:
        events = (*self._begun(), *self._closed(), self._assembly.open_text())
        self._open = place
        return events

    def _opened(self, event: "_Event") -> tuple[ModelEvent, ...]:
        call = None if event.start is None else event.start.tool_use
        if call is None:
            return self._begun()
        events = (*self._begun(), *self._closed(), self._assembly.open_call(call.tool_use_id, call.name))
        self._open = event.content_block_index
        return events

    def _block(self, block: "_Block") -> tuple[ModelEvent, ...]:
        assembly = self._assembly
        if block.text:
            return assembly.open_text(), assembly.text(block.text), assembly.close()
        if block.tool_use is not None:
            call = block.tool_use
            opened = assembly.open_call(call.tool_use_id, call.name)
            return opened, assembly.piece(to_json(call.input).decode()), assembly.close()
        if block.reasoning_content is not None:
            said = block.reasoning_content
            thought = said.reasoning_text or _Thought(redacted_content=said.redacted_content)
            return (*self._thought(-1, thought), assembly.close())
        return _NOTHING

    def _begun(self) -> tuple[ModelEvent, ...]:
        return _NOTHING if self._assembly.begun else (self._assembly.start(None),)

    def _closed(self) -> tuple[ModelEvent, ...]:
        self._open = -1
        return (self._assembly.close(),) if self._assembly.kind else _NOTHING


class _Thought(Struct, rename="camel", gc=False, kw_only=True):
    text: str | None = None
    signature: str | None = None
    redacted_content: str | None = None


class _Piece(Struct, gc=False):
    input: str = ""


class _Delta(Struct, rename="camel", gc=False):
    text: str | None = None
    tool_use: _Piece | None = None
    reasoning_content: _Thought | None = None


class _Call(Struct, rename="camel", gc=False):
    tool_use_id: str = ""
    name: str = ""
    input: Any = {}


class _Start(Struct, rename="camel", gc=False):
    tool_use: _Call | None = None


class _Usage(Struct, rename="camel", gc=False):
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_input_tokens: int = 0
    cache_write_input_tokens: int = 0

    def to_api(self) -> dict[str, Any]:
        cached, written = self.cache_read_input_tokens, self.cache_write_input_tokens
        # Here, as in the Messages API, cached tokens are not part of the input.
        prompt = self.input_tokens + cached + written
        return usage_of(prompt=prompt, cached=cached, written=written, output=self.output_tokens, reasoning=0)


class _Event(Struct, rename="camel", gc=False):
    content_block_index: int = 0
    delta: _Delta | None = None
    start: _Start | None = None
    stop_reason: str | None = None
    usage: _Usage | None = None


class _Reasoning(Struct, rename="camel", gc=False):
    reasoning_text: _Thought | None = None
    redacted_content: str | None = None


class _Block(Struct, rename="camel", gc=False):
    text: str | None = None
    tool_use: _Call | None = None
    reasoning_content: _Reasoning | None = None


class _Message(Struct, gc=False):
    content: list[_Block] = []


class _Output(Struct, gc=False):
    message: _Message


class _Whole(Struct, rename="camel", gc=False):
    output: _Output
    stop_reason: str | None = None
    usage: _Usage | None = None


_EVENTS = JsonDecoder(_Event)


def _read(data: bytes) -> _Event:
    try:
        return _EVENTS.decode(data)
    except UNREADABLE as error:
        return reread(data, _Event, error)
