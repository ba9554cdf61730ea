import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.host.http.event_stream import EventDecoder
from bridle.providers.dialects.messages_stream import Decoder, stream_of
from bridle.types.errors import ProviderError, StreamBroken
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
from tests.fakes import sse

ANSWER = sse.message(
    sse.thinking("First I look, größer.", "Zm9vYmFy+/=="),
    "Looking at two files.",
    sse.tool_use("Read", "toolu_1", file_path="/a b/ü.py", limit=3),
    sse.tool_use("Glob", "toolu_2", pattern="**/*.py"),
)
WIRE = sse.wire(sse.events_of(ANSWER))


def decode(*events: dict[str, Any]) -> list[ModelEvent]:
    decoder = Decoder("req_1")
    return [each for event in events if (each := decoder.feed(json.dumps(event).encode())) is not None]


def opened(block: dict[str, Any], index: int = 0) -> list[dict[str, Any]]:
    return [
        {"type": "message_start", "message": sse.message(id="msg_1")},
        {"type": "content_block_start", "index": index, "content_block": block},
    ]


def delta(index: int = 0, **fields: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": fields}


STOP = {"type": "content_block_stop", "index": 0}
DONE = {"type": "message_stop"}
FIELDS = [
    "type",
    "index",
    "delta",
    "message",
    "content_block",
    "usage",
    "error",
    "text",
    "thinking",
    "id",
    "x",
]
TYPES = [
    "message_start",
    "message_delta",
    "content_block_start",
    "content_block_delta",
    "error",
    "ping",
    "new",
]


def test_an_answer_comes_out_as_it_went_in():
    events = decode(*sse.events_of(ANSWER))
    last = events[-1]
    assert isinstance(last, Completed)
    assert last.message == ANSWER
    assert last.request_id == "req_1"
    closed = [event.block for event in events if isinstance(event, BlockClosed)]
    assert closed == ANSWER["content"]


def test_each_event_is_told_in_order_and_carries_its_wire():
    events = list(sse.events_of(sse.message("Hello, world", sse.tool_use("Glob", pattern="*")), piece=20))
    told = decode(*events)
    kinds = [type(event) for event in told]
    text = [BlockOpened, TextArrived, BlockClosed]
    call = [BlockOpened, PieceArrived, PieceArrived, BlockClosed]
    assert kinds == [Started, *text, *call, Noted, Completed]
    wires = [json.loads(getattr(event, "wire", b"")) for event in told]
    assert wires == [event for event in events if event["type"] != "ping"]


def test_what_started_is_not_changed_by_what_follows():
    events = decode(*sse.events_of(ANSWER))
    first = events[0]
    assert isinstance(first, Started)
    assert first.message["content"] == []
    assert first.message["stop_reason"] is None
    assert first.message["usage"]["output_tokens"] == 1
    blocks = [event.block for event in events if isinstance(event, BlockOpened)]
    assert blocks[1] == {"type": "text", "text": ""}


def test_signatures_and_thoughts_are_kept_to_the_byte():
    events = decode(
        *opened({"type": "thinking", "thinking": "", "signature": ""}),
        delta(type="thinking_delta", thinking="a\n "),
        delta(type="thinking_delta", thinking="b"),
        delta(type="signature_delta", signature="AB+/"),
        delta(type="signature_delta", signature="=="),
        STOP,
    )
    assert [event.text for event in events if isinstance(event, ThinkingArrived)] == ["a\n ", "b"]
    closed = events[-1]
    assert isinstance(closed, BlockClosed)
    assert closed.block == {"type": "thinking", "thinking": "a\n b", "signature": "AB+/=="}


def test_unknown_blocks_deltas_and_fields_survive():
    block = {"type": "future_block", "content": None, "extra": {"kept": [1]}}
    events = decode(
        *opened(block),
        delta(type="future_delta", content="ab"),
        delta(type="future_delta", content="cd", note=5),
        STOP,
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn", "container": {"id": "c"}},
            "usage": {},
        },
        DONE,
    )
    last = events[-1]
    assert isinstance(last, Completed)
    whole: Any = last.message
    assert whole["content"] == [{**block, "content": "abcd", "note": 5}]
    assert whole["container"] == {"id": "c"}


def test_citations_are_collected():
    events = decode(
        *opened({"type": "text", "text": "", "citations": None}),
        delta(type="citations_delta", citation={"n": 1}),
        delta(type="citations_delta", citation={"n": 2}),
        STOP,
    )
    closed = events[-1]
    assert isinstance(closed, BlockClosed)
    assert closed.block == {"type": "text", "text": "", "citations": [{"n": 1}, {"n": 2}]}


@pytest.mark.parametrize("event", [{"type": "new_thing", "delta": "text", "index": "x"}, {"type": "other"}])
def test_unknown_events_are_noted(event: dict[str, Any]):
    assert decode(event) == [Noted(json.dumps(event).encode())]


def test_counts_of_the_end_complete_those_of_the_start_and_nulls_do_not():
    start = sse.message(usage={"input_tokens": 9, "output_tokens": 1, "cache_read_input_tokens": 4})
    end = {
        "input_tokens": 0,
        "output_tokens": 30,
        "cache_read_input_tokens": None,
        "server_tool_use": {"n": 1},
    }
    events = decode(
        {"type": "message_start", "message": start},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": end},
        DONE,
    )
    last = events[-1]
    assert isinstance(last, Completed)
    assert last.message["usage"] == {
        "input_tokens": 9,
        "output_tokens": 30,
        "cache_read_input_tokens": 4,
        "server_tool_use": {"n": 1},
    }


@pytest.mark.parametrize("text", ['{"path": "/a', "[1, 2]", '"x"', "{'a': 1}"])
def test_input_that_is_no_object_is_a_flaw_and_becomes_empty(text: str):
    events = decode(*opened(sse.tool_use("Read")), delta(type="input_json_delta", partial_json=text), STOP)
    closed = events[-1]
    assert isinstance(closed, BlockClosed)
    assert closed.flaw is not None
    assert closed.block == sse.tool_use("Read")


@pytest.mark.parametrize("pieces", [[], [""], ["", " "], ["{", "}"]])
def test_a_call_without_input_has_an_empty_object(pieces: list[str]):
    parts = [delta(type="input_json_delta", partial_json=piece) for piece in pieces]
    closed = decode(*opened(sse.tool_use("List")), *parts, STOP)[-1]
    assert isinstance(closed, BlockClosed)
    assert (closed.block, closed.flaw) == (sse.tool_use("List"), None)


def test_a_message_with_missing_fields_gets_them():
    events = decode({"type": "message_start", "message": {"model": "m", "usage": None}}, DONE)
    last = events[-1]
    assert isinstance(last, Completed)
    assert last.message["id"].startswith("msg_")
    assert last.message["usage"] == {}
    assert last.message["role"] == "assistant"


@pytest.mark.parametrize(
    "events",
    [
        [STOP],
        [delta(type="text_delta", text="x")],
        [DONE],
        [{"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}],
        [*opened({"type": "text", "text": ""}), DONE],
        [*opened({"type": "text", "text": ""}), delta(type="text_delta", text=5)],
        [*opened({"type": "text", "text": ""}), {"type": "message_start", "message": sse.message()}],
        [{"type": "message_start", "message": "x"}],
        [{"no": "type"}],
        [{"type": "message_delta", "delta": {}, "usage": {}}],
    ],
)
def test_events_out_of_order_break_the_stream(events: list[dict[str, Any]]):
    with pytest.raises(StreamBroken):
        decode(*events)


@pytest.mark.parametrize(
    "data", [b"", b"[DONE", b"\xff\xfe", b'{"type": "ping"', b"[1]", b"null", b"[" * 100_000]
)
def test_data_that_is_no_event_breaks_the_stream(data: bytes):
    with pytest.raises(StreamBroken):
        Decoder().feed(data)


def test_an_error_before_the_start_is_the_services_error():
    with pytest.raises(ProviderError) as caught:
        decode(sse.error_event("overloaded_error", "Too busy"))
    assert not isinstance(caught.value, StreamBroken)
    error = caught.value
    assert (error.kind, error.error_type, error.retryable) == ("overloaded", "overloaded_error", True)
    assert "Too busy" in str(error)


def test_a_passing_error_in_the_answer_breaks_the_stream():
    with pytest.raises(StreamBroken) as caught:
        decode(*opened({"type": "text", "text": ""}), sse.error_event("api_error", "Oops"))
    assert (caught.value.kind, caught.value.retryable) == ("server_error", True)


def test_a_lasting_error_in_the_answer_is_no_reason_to_try_again():
    with pytest.raises(ProviderError) as caught:
        decode(*opened({"type": "text", "text": ""}), sse.error_event("invalid_request_error", "No"))
    assert not isinstance(caught.value, StreamBroken)
    assert not caught.value.retryable


def test_wire_is_one_line_even_if_the_event_was_not():
    event = Decoder().feed(b'{"type":\n"message_start",\n"message": {}}')
    assert isinstance(event, Started)
    assert b"\n" not in event.wire


def test_a_whole_answer_streams_as_the_same_events():
    decoder = Decoder()
    events = [decoder.feed(data) for data in stream_of(ANSWER)]
    last = events[-1]
    assert isinstance(last, Completed)
    assert last.message == ANSWER
    assert decoder.completed


def test_twenty_thousand_deltas_become_one_text():
    answer = sse.message("word " * 20_000)
    events = decode(*sse.events_of(answer, piece=5))
    last = events[-1]
    assert isinstance(last, Completed)
    assert last.message["content"] == answer["content"]
    assert sum(isinstance(event, TextArrived) for event in events) == 20_000


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=4),
    max_leaves=12,
)


@given(
    st.lists(st.tuples(st.sampled_from(TYPES), st.dictionaries(st.sampled_from(FIELDS), JSON)), max_size=4)
)
def test_no_event_whatever_does_more_than_break_the_stream(events: list[tuple[str, dict[str, Any]]]):
    decoder = Decoder()
    try:
        for data in sse.events_of(sse.message("x")):
            decoder.feed(json.dumps(data).encode())
            for kind, fields in events:
                decoder.feed(json.dumps({**fields, "type": kind}).encode())
    except ProviderError:
        pass


@given(st.lists(st.integers(0, len(WIRE)), max_size=40))
def test_every_chunking_gives_the_same_events(cuts: list[int]):
    def events(edges: list[int]) -> list[ModelEvent | None]:
        reader, decoder = EventDecoder(1 << 20), Decoder()
        found = [item for a, b in pairwise(edges) for item in reader.feed(WIRE[a:b])]
        return [decoder.feed(event.data) for event in found + reader.finish()]

    assert events([0, *sorted(cuts), len(WIRE)]) == events([0, len(WIRE)])


def test_a_stream_cut_at_any_byte_closes_no_block_that_was_not_whole():
    for cut in range(len(WIRE)):
        reader, decoder = EventDecoder(1 << 20), Decoder()
        closed: list[Any] = []
        try:
            for whole in reader.feed(WIRE[:cut]) + reader.finish():
                if isinstance(event := decoder.feed(whole.data), BlockClosed):
                    assert event.flaw is None
                    closed.append(event.block)
        except StreamBroken:
            pass
        assert closed == ANSWER["content"][: len(closed)]
        assert decoder.completed == (cut >= len(WIRE) - 2)


def test_half_a_surrogate_pair_costs_a_character_and_not_the_answer():
    decoder = Decoder(None)
    decoder.feed(b'{"type":"message_start","message":{"id":"m","model":"x","content":[],"usage":{}}}')
    decoder.feed(b'{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}')
    event = decoder.feed(
        b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a\\ud83d"}}'
    )
    assert isinstance(event, TextArrived) and event.text == "a�"
