from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.host.http.event_stream import EventDecoder, EventSizeError, ServerEvent
from tests.fakes import sse

_ANSWER = sse.wire(sse.events_of(sse.message("Grüße, 世界", sse.tool_use("Read", file_path="/a"))))
_STREAM = (
    "\ufeff: hello\n\nid: 1\nretry: 250\ndata:\n\nevent: endpoint\r\ndata: /messages\r\n\r\n"
    'data: {"a":\rdata: "世界 🎉"}\rid: zwölf\r\r: ping\r\ndata: last\n\nid\ndata: cut off'
).encode()
_EVENTS = [
    ServerEvent(b""),
    ServerEvent(b"/messages", "endpoint"),
    ServerEvent('{"a":\n"世界 🎉"}'.encode()),
    ServerEvent(b"last"),
]


def decode(*chunks: bytes) -> list[ServerEvent]:
    events = EventDecoder(1 << 20)
    return [event for chunk in chunks for event in events.feed(chunk)]


@given(st.lists(st.integers(0, len(_STREAM)), max_size=12))
def test_events_id_and_retry_are_the_same_however_the_stream_was_cut(cuts: list[int]):
    events = EventDecoder(1 << 20)
    found: list[ServerEvent] = []
    for start, end in pairwise([0, *sorted(cuts), len(_STREAM)]):
        found += events.feed(_STREAM[start:end])
    assert found == _EVENTS
    assert (events.last_id, events.retry) == ("zwölf", 0.25)
    assert events.finish() == [ServerEvent(b"cut off")]


@given(st.lists(st.integers(0, len(_ANSWER)), max_size=30))
def test_answer_of_a_model_is_the_same_however_it_was_cut(cuts: list[int]):
    chunks = [_ANSWER[a:b] for a, b in pairwise([0, *sorted(cuts), len(_ANSWER)])]
    assert decode(*chunks) == decode(_ANSWER) != []


def test_stream_of_single_bytes_is_the_same():
    assert decode(*(bytes([byte]) for byte in _STREAM)) == _EVENTS


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_every_kind_of_line_end_separates_lines(end: bytes):
    wire = b"event: a\ndata: 1\n\nevent: b\ndata: 2\n\n".replace(b"\n", end)
    expected = [ServerEvent(b"1", "a"), ServerEvent(b"2", "b")]
    assert decode(wire) == expected
    assert decode(*(wire[i : i + 1] for i in range(len(wire)))) == expected


def test_other_characters_that_python_ends_lines_with_are_data():
    data = "a\x0bb\x0cc\x1cd\x85e\u2028f".encode()
    assert decode(b"data: " + data + b"\n\n") == [ServerEvent(data)]


def test_cut_between_return_and_line_feed_makes_no_blank_line():
    chunks = (b"event: a\r", b"", b"\ndata: 1\r", b"\n\r", b"\ndata: 2\r\n\r\n")
    assert decode(*chunks) == [ServerEvent(b"1", "a"), ServerEvent(b"2")]


def test_comments_and_unknown_fields_are_left_out():
    wire = b": hello\n\n:data: no\nunknown: 10\ndata: x\n:\nDATA: no\n data: no\ndatas: no\n\n"
    assert decode(wire) == [ServerEvent(b"x")]


def test_data_of_several_lines_is_joined_with_line_feeds():
    wire = b"data: one\ndata:two\ndata:  three\ndata\ndata: five: 5\n\n"
    assert decode(wire) == [ServerEvent(b"one\ntwo\n three\n\nfive: 5")]


def test_event_without_data_is_no_event_and_its_name_is_not_kept():
    assert decode(b"event: ping\n\n\n\ndata: 1\n\n") == [ServerEvent(b"1")]


def test_event_with_an_empty_name_is_a_message():
    assert decode(b"event: ping\nevent:\ndata: 1\n\n") == [ServerEvent(b"1")]


def test_id_counts_when_its_event_is_whole():
    events = EventDecoder(1 << 20)
    events.feed(b"id: 1\n\nid: 2\ndata: x\n")
    assert events.last_id == "1"
    events.feed(b"\n")
    assert events.last_id == "2"
    events.feed(b"id: 3\0\n\n")
    assert events.last_id == "2"
    events.feed(b"id\n\n")
    assert events.last_id is None


@pytest.mark.parametrize("value", ["", "-1", "1.5", "1e3", "10s", " 10 ", "१०"])
def test_retry_that_is_no_number_is_left_out(value: str):
    events = EventDecoder(1 << 20)
    events.feed(f"retry: 1500\n\nretry: {value}\n\n".encode())
    assert events.retry == 1.5


def test_retry_of_very_many_digits_is_a_number():
    events = EventDecoder(1 << 20)
    events.feed(b"retry:" + b"9" * 10_000 + b"\n")
    assert events.retry == 999_999.999


def test_reset_forgets_the_event_that_has_begun_and_keeps_where_to_resume():
    events = EventDecoder(1 << 20)
    events.feed(b"retry: 10\nid: 1\ndata: 1\n\nevent: other\nid: 2\ndata: 2\r")
    events.reset()
    assert events.feed(b"\xef\xbb\xbfdata: 3\n\n") == [ServerEvent(b"3")]
    assert (events.last_id, events.retry) == ("1", 0.01)


def test_finish_gives_the_last_event_without_its_blank_line():
    for end in (b"", b"\n", b"\r", b"\r\n"):
        events = EventDecoder(1 << 20)
        assert events.feed(b"data: 1\n\nevent: e\ndata: 2" + end) == [ServerEvent(b"1")]
        assert events.finish() == [ServerEvent(b"2", "e")]
        assert events.finish() == []


@pytest.mark.parametrize("piece", [b"x" * 1000, b"data: " + b"x" * 1000 + b"\n", b"data\n" * 200])
def test_event_without_end_is_refused(piece: bytes):
    events = EventDecoder(1 << 16)
    with pytest.raises(EventSizeError):
        for _ in range(100):
            events.feed(piece)


def test_many_events_and_comments_without_a_blank_line_are_no_large_event():
    events = EventDecoder(1 << 16)
    wire = b'event: e\ndata: {"t":"x"}\n\n' * 20_000
    assert events.feed(wire) == [ServerEvent(b'{"t":"x"}', "e")] * 20_000
    for _ in range(100):
        assert events.feed(b": keep alive\n" * 100) == []
    assert events.feed(b"data: 1\n\n") == [ServerEvent(b"1")]
