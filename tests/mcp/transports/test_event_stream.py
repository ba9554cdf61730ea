import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.mcp.transports.event_stream import Event, EventReader

_STREAM = (
    b": hello\n\nid: 1\nretry: 250\ndata:\n\nevent: endpoint\r\ndata: /messages\r\n\r\n"
    b'data: {"a":\rdata: 1}\rid: 2\r\rdata: last\n\nid\n'
)
_EVENTS = [Event(b""), Event(b"/messages", "endpoint"), Event(b'{"a":\n1}'), Event(b"last")]


@given(st.lists(st.integers(0, len(_STREAM)), max_size=12))
def test_events_are_the_same_however_the_stream_was_cut(cuts: list[int]):
    reader = EventReader()
    found: list[Event] = []
    ends = [0, *sorted(cuts), len(_STREAM)]
    for start, end in itertools.pairwise(ends):
        found += reader.feed(_STREAM[start:end])
    assert found == _EVENTS
    assert (reader.last_id, reader.retry) == ("2", 0.25)


def test_event_without_end_is_refused():
    reader = EventReader()
    from bridle.mcp.errors import ConnectionLost

    with pytest.raises(ConnectionLost):
        for _ in range(70):
            reader.feed(b"x" * 1024 * 1024)
