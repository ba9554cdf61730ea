from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.providers.dialects import sse as module
from bridle.providers.dialects.sse import EventReader
from bridle.types.errors import StreamBroken
from tests.fakes import sse

WIRE = sse.wire(sse.events_of(sse.message("Grüße, 世界", sse.tool_use("Read", file_path="/a"))))


def read(*chunks: bytes) -> list[tuple[str, bytes]]:
    reader = EventReader()
    return [event for chunk in chunks for event in reader.feed(chunk)] + reader.finish()


def test_events_come_with_their_name_and_data():
    assert read(b"event: ping\ndata: {}\n\ndata: 2\n\n") == [("ping", b"{}"), ("message", b"2")]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_every_kind_of_line_end_separates_lines(end: bytes):
    wire = b"event: a\ndata: 1\n\nevent: b\ndata: 2\n\n".replace(b"\n", end)
    expected = [("a", b"1"), ("b", b"2")]
    assert read(wire) == expected
    assert read(*(wire[i : i + 1] for i in range(len(wire)))) == expected


def test_a_cut_between_return_and_line_feed_makes_no_blank_line():
    assert read(b"event: a\r", b"\ndata: 1\r", b"\n\r", b"\ndata: 2\r\n\r\n") == [
        ("a", b"1"),
        ("message", b"2"),
    ]


def test_comments_and_unknown_fields_are_left_out():
    assert read(b": hello\n\nid: 7\nretry: 10\ndata: x\n: inside\n\n") == [("message", b"x")]


def test_data_of_several_lines_is_joined_with_line_feeds():
    assert read(b"data: one\ndata:two\ndata:  three\n\n") == [("message", b"one\ntwo\n three")]


def test_an_event_without_data_is_no_event():
    assert read(b"event: ping\n\n\n\n") == []


def test_the_last_event_needs_no_blank_line():
    assert read(b"data: 1\n\ndata: 2") == [("message", b"1"), ("message", b"2")]
    assert read(b"data: 1\n\ndata: 2\n") == [("message", b"1"), ("message", b"2")]


def test_a_byte_order_mark_is_no_part_of_the_first_field():
    assert read(b"\xef\xbb", b"\xbfdata: 1\n\n") == [("message", b"1")]


def test_an_endless_event_is_refused():
    reader = EventReader()
    piece = b"x" * (1 << 20)
    with pytest.raises(StreamBroken):
        for _ in range(module._LIMIT // len(piece) + 1):
            reader.feed(piece)


def test_twenty_thousand_small_events_are_all_found():
    wire = b'event: e\ndata: {"t":"x"}\n\n' * 20_000
    assert read(wire) == [("e", b'{"t":"x"}')] * 20_000


@given(st.lists(st.integers(0, len(WIRE)), max_size=30))
def test_chunking_changes_nothing(cuts: list[int]):
    edges = [0, *sorted(cuts), len(WIRE)]
    chunks = [WIRE[a:b] for a, b in pairwise(edges)]
    assert read(*chunks) == read(WIRE)
