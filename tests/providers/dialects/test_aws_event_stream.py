import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.providers.dialects.aws_event_stream import Message, MessageReader, write
from bridle.types.errors import StreamBroken

PUBLISHED: list[tuple[bytes, Message]] = [
    (b"\x00\x00\x00\x10\x00\x00\x00\x00\x05\xc2H\xeb}\x98\xc8\xff", ({}, b"")),
    (b"\x00\x00\x00\x17\x00\x00\x00\x07)\x86\x01X\x04byte\x02\xff\xc2\xf8i\xdc", ({}, b"")),
    (b"\x00\x00\x00\x1e\x00\x00\x00\x0e]J\xdb\x8d\x04long\x05" + b"\xff" * 8 + b"K\xc22\xda", ({}, b"")),
    (b"\x00\x00\x00\x1d\x00\x00\x00\x00\xfdR\x8cZ{'foo':'bar'}\xc3e96", ({}, b"{'foo':'bar'}")),
    (
        b"\x00\x00\x00=\x00\x00\x00 \x07\xfd\x83\x96\x0ccontent-type\x07\x00\x10application/json"
        b"{'foo':'bar'}\x8d\x9c\x08\xb1",
        ({"content-type": "application/json"}, b"{'foo':'bar'}"),
    ),
]
"""Messages that Amazon's own implementations are tested with."""


@pytest.mark.parametrize(("data", "expected"), PUBLISHED)
def test_published_messages_are_read(data: bytes, expected: Message):
    assert MessageReader().feed(data) == [expected]


@given(st.lists(st.binary(max_size=40), max_size=5), st.integers(1, 9))
def test_messages_are_read_however_they_are_cut(payloads: list[bytes], size: int):
    data = b"".join(write({":event-type": f"e{number}"}, each) for number, each in enumerate(payloads))
    reader = MessageReader()
    found = [each for at in range(0, len(data), size) for each in reader.feed(data[at : at + size])]
    assert found == [({":event-type": f"e{number}"}, each) for number, each in enumerate(payloads)]


def test_one_wrong_bit_anywhere_is_noticed():
    data = write({":event-type": "chunk"}, b'{"bytes":"aGk="}')
    for place in range(len(data)):
        damaged = bytearray(data)
        damaged[place] ^= 1
        try:
            assert MessageReader().feed(bytes(damaged)) == []
        except StreamBroken as error:
            assert error.retryable


def test_what_is_no_event_stream_is_noticed():
    with pytest.raises(StreamBroken):
        MessageReader().feed(b"<html><body>Sorry</body></html>")
