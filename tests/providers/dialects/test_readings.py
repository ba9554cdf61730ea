"""Bodies of every dialect, cut after each of their bytes and in pieces of any size."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from bridle.providers.dialects.bedrock import EventStreamReading
from bridle.providers.dialects.chat_stream import Decoder as ChatDecoder
from bridle.providers.dialects.gemini_stream import Decoder as GeminiDecoder
from bridle.providers.dialects.messages import MessagesDecoder
from bridle.providers.dialects.responses_stream import Decoder as ResponsesDecoder
from bridle.providers.dialects.sse import SseReading
from bridle.providers.http_provider import Reading
from bridle.providers.vendor import Vendor
from bridle.types.errors import StreamBroken
from bridle.types.model import BlockClosed, Completed, ModelEvent
from tests.fakes.bedrock_server import BedrockApi, MessagesApi
from tests.fakes.converse_server import ConverseApi
from tests.fakes.gemini_server import GeminiApi
from tests.fakes.model_server import Api, Said, call, text, thought
from tests.fakes.openai_server import ChatApi, ResponsesApi
from tests.tables import table

VENDOR = Vendor(name="v", label="V", dialect="chat")
SAID = Said(
    (thought("Hm, ö."), text("Two → files 🙂."), call("Read", "c1", path="/ä"), call("Stop", "c2")),
    "calls",
    4,
    (),
)
MADE: dict[str, tuple[Api, Callable[[], Reading]]] = {
    "chat": (ChatApi(), lambda: SseReading(ChatDecoder("m", VENDOR))),
    "responses": (ResponsesApi(), lambda: SseReading(ResponsesDecoder("m", VENDOR))),
    "gemini": (GeminiApi(), lambda: SseReading(GeminiDecoder("m", VENDOR))),
    "messages": (MessagesApi(), lambda: SseReading(MessagesDecoder("m", None))),
    "bedrock": (BedrockApi(), lambda: EventStreamReading("m", VENDOR, None)),
    "converse": (ConverseApi(), lambda: EventStreamReading("m", VENDOR, None)),
}


def read(reading: Reading, *chunks: bytes) -> list[ModelEvent]:
    events = [event for chunk in chunks for event in reading.feed(chunk)]
    if events and isinstance(events[-1], Completed):
        return events
    # Half an event at the end is told as a broken stream, which is as good as nothing.
    with suppress(StreamBroken):
        events += reading.finish()
    return events


def closed(events: list[ModelEvent]) -> list[Any]:
    return [event.block for event in events if isinstance(event, BlockClosed)]


@pytest.mark.parametrize("name", MADE)
def test_a_body_that_ends_after_any_byte_gives_whole_blocks_or_nothing(name: str):
    api, make = MADE[name]
    body = b"".join(api.frames(SAID))
    whole = closed(read(make(), body))
    assert [block["type"] for block in whole] == ["thinking", "text", "tool_use", "tool_use"]
    for cut in range(len(body)):
        events = read(make(), body[:cut])
        found = [_neutral(block) for block in closed(events)]
        assert found == [_neutral(block) for block in whole][: len(found)]
        assert all(event.flaw is None for event in events if isinstance(event, BlockClosed))
        if events and isinstance(events[-1], Completed):
            assert len(found) == len(whole)


@table("name", MADE)
@table("size", [1, 2, 5, 17, 64])
def test_a_body_in_pieces_of_any_size_is_the_same(name: str, size: int):
    api, make = MADE[name]
    body = b"".join(api.frames(SAID))
    events = read(make(), *(body[at : at + size] for at in range(0, len(body), size)))
    assert isinstance(events[-1], Completed)
    assert [_neutral(block) for block in closed(events)] == [
        _neutral(block) for block in closed(read(make(), body))
    ]


@table("name", [name for name, (_, make) in MADE.items() if isinstance(make(), SseReading)])
@table("end", [b"\n", b"\r\n", b"\r"])
def test_line_ends_comments_and_data_of_several_lines_change_nothing(name: str, end: bytes):
    api, make = MADE[name]
    body = b"".join(api.frames(SAID))
    other = body.replace(b"\r\n", b"\n").replace(b"data: {", b": ping\ndata: {\ndata: ").replace(b"\n", end)
    events = read(make(), *(other[at : at + 7] for at in range(0, len(other), 7)))
    assert isinstance(events[-1], Completed)
    assert [_neutral(block) for block in closed(events)] == [
        _neutral(block) for block in closed(read(make(), body))
    ]


def test_event_without_end_is_a_broken_stream():
    reading = SseReading(ChatDecoder("m", VENDOR))
    with pytest.raises(StreamBroken):
        for _ in range(65):
            list(reading.feed(b"x" * (1 << 20)))


def _neutral(block: Any) -> Any:
    return {key: value for key, value in block.items() if key != "bridle"}
