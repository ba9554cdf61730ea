"""A model that answers from a script, for tests of anything that talks to a model."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from typing import Any

from msgspec import Struct
from msgspec.json import decode as from_json
from msgspec.json import encode as to_json

from bridle.providers.dialects.messages_stream import Decoder, stream_of
from bridle.types.block import SentMessage, TextBlock
from bridle.types.model import ModelEvent, ModelRequest, ToolDefinition

Pause = Callable[[], Awaitable[object]]


class Answer(Struct, frozen=True, kw_only=True):
    """One line of a script, best made with `says`."""

    content: tuple[Mapping[str, Any], ...]
    stop_reason: str
    usage: Mapping[str, int]
    model: str | None = None
    """Who signs the answer; the model that was asked when None."""
    closed: bool = True
    """Whether the last block is closed before `then`."""
    then: Exception | Pause | None = None
    """Raised, or called and awaited, when all blocks have come and the end has not."""


class SeenRequest(Struct, frozen=True, kw_only=True):
    """A request as it was when it was made."""

    model: str
    system: tuple[TextBlock, ...]
    tools: tuple[ToolDefinition, ...]
    messages: list[SentMessage]
    """A copy: what the conversation becomes later does not show here."""
    request: ModelRequest


Line = Answer | Exception | Callable[[SeenRequest], Answer]


class ScriptEnded(AssertionError):
    """The model was asked more often than its script has lines."""


class ScriptedProvider:
    """Answers each request with the next line: an answer, an error to raise, or a function of the request."""

    def __init__(self, lines: Iterable[Line]) -> None:
        self._lines = list(lines)
        self._calls = 0
        self.requests: list[SeenRequest] = []
        self.closed = False

    @property
    def left(self) -> int:
        """How many lines have not been used."""
        return len(self._lines) - len(self.requests)

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        answer = self._next_answer(request)
        decoder = Decoder(f"req_{len(self.requests)}")
        for data in self._wire(answer, request.model):
            if data is None:
                await _interlude(answer)
            elif (event := decoder.feed(data)) is not None:
                yield event

    async def close(self) -> None:
        self.closed = True

    def _next_answer(self, request: ModelRequest) -> Answer:
        asked = SeenRequest(
            model=request.model,
            system=request.system,
            tools=request.tools,
            messages=from_json(to_json(request.history.messages)),
            request=request,
        )
        self.requests.append(asked)
        if len(self.requests) > len(self._lines):
            raise ScriptEnded(
                f"request {len(self.requests)} has no answer: the script holds {len(self._lines)} lines"
            )
        line = self._lines[len(self.requests) - 1]
        if isinstance(line, Exception):
            raise line
        return line if isinstance(line, Answer) else line(asked)

    def _wire(self, answer: Answer, model: str) -> list[bytes | None]:
        """The events on the wire, with None where the answer's `then` belongs."""
        message = {
            "id": f"msg_{len(self.requests)}",
            "type": "message",
            "role": "assistant",
            "model": answer.model or model,
            "content": [self._numbered(block) for block in answer.content],
            "stop_reason": answer.stop_reason,
            "stop_sequence": None,
            "usage": dict(answer.usage),
        }
        events: list[bytes | None] = list(stream_of(message))
        ending = 2 if answer.closed or not answer.content else 3
        events.insert(len(events) - ending, None)
        return events

    def _numbered(self, block: Mapping[str, Any]) -> Mapping[str, Any]:
        if block.get("type") != "tool_use" or block.get("id"):
            return block
        self._calls += 1
        return {**block, "id": f"call-{self._calls}"}


def says(
    *content: str | Mapping[str, Any],
    thinking: str | None = None,
    stop_reason: str | None = None,
    usage: Mapping[str, int] | None = None,
    model: str | None = None,
    closed: bool = True,
    then: Exception | Pause | None = None,
) -> Answer:
    """An answer of these blocks in order; a string is a text block."""
    blocks: list[Mapping[str, Any]] = []
    if thinking is not None:
        blocks.append({"type": "thinking", "thinking": thinking, "signature": f"signed {len(thinking)}"})
    blocks += ({"type": "text", "text": each} if isinstance(each, str) else each for each in content)
    called = any(block.get("type") == "tool_use" for block in blocks)
    return Answer(
        content=tuple(blocks),
        stop_reason=stop_reason or ("tool_use" if called else "end_turn"),
        usage={"input_tokens": 10, "output_tokens": 5} if usage is None else usage,
        model=model,
        closed=closed,
        then=then,
    )


def calls(tool: str, /, **input: Any) -> Mapping[str, Any]:
    """A call of `tool`; its id is `call-N`, counted over the whole script."""
    return {"type": "tool_use", "id": "", "name": tool, "input": input}


async def _interlude(answer: Answer) -> None:
    if isinstance(answer.then, Exception):
        raise answer.then
    if answer.then is not None:
        await answer.then()
