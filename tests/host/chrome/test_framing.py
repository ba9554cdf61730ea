import random
import struct
from typing import Any

import msgspec
import pytest

from bridle.host.chrome.framing import (
    LARGEST,
    LONGEST_PART,
    MOST_PARTS,
    BadFrame,
    Frames,
    Parts,
    frame,
    read_message,
    write_request,
)
from tests.tables import table

_DEEP = b'{"a":' * 100_000 + b"1" + b"}" * 100_000


def test_messages_come_out_as_they_went_in_wherever_they_are_cut():
    rows = [{"id": number, "text": "ü" * number} for number in range(60)]
    sent = b"".join(frame(msgspec.json.encode(row)) for row in rows)
    chance = random.Random(7)
    for _ in range(50):
        frames, found, at = Frames(), [], 0
        while at < len(sent):
            length = chance.choice((1, 2, 3, 5, 100, 5000))
            found += [read_message(payload) for payload in frames.feed(sent[at : at + length])]
            at += length
        assert found == rows


@table("length", [0, LARGEST + 1, 2**31, 2**32 - 1])
def test_a_length_that_no_message_may_have_is_refused_before_anything_is_kept(length: int):
    with pytest.raises(BadFrame):
        list(Frames().feed(struct.pack("<I", length)))


def test_the_largest_message_is_taken_and_one_more_byte_is_not_sent():
    assert [len(each) for each in Frames().feed(frame(b"x" * LARGEST))] == [LARGEST]
    for payload in (b"", b"x" * (LARGEST + 1)):
        with pytest.raises(BadFrame):
            frame(payload)


@table("payload", [b"", b"[]", b"null", b"1", b'"text"', b"{", b'{"a":\xff}', b"\x00", b"{} {}", _DEEP])
def test_what_is_no_object_of_json_is_refused(payload: bytes):
    with pytest.raises(BadFrame):
        read_message(payload)


def test_a_long_request_goes_in_parts_and_comes_out_whole():
    request = {"id": 3, "session": "s", "method": "upload", "params": {"data": '"\\\x01ü' * 200_000}}
    sent = list(write_request(request))
    parts, whole = Parts(), None
    for payload in (each for data in sent for each in Frames().feed(data)):
        whole = parts.join(read_message(payload))
    assert len(sent) > 5 and whole == request


def test_a_request_that_is_too_long_is_not_sent():
    with pytest.raises(BadFrame):
        list(write_request({"id": 1, "params": "x" * (LONGEST_PART * MOST_PARTS)}))


_PART = {"id": 1, "part": 0, "parts": 2, "text": "{"}


@table(
    "messages",
    [
        [{**_PART, "part": 1}],
        [{**_PART, "parts": MOST_PARTS + 1}],
        [{**_PART, "part": -1}],
        [{**_PART, "parts": 0}],
        [{**_PART, "parts": "2"}],
        [{**_PART, "id": None}],
        [{**_PART, "text": None}],
        [{**_PART, "text": "x" * (LONGEST_PART + 1)}],
        [_PART, _PART],
        [_PART, {**_PART, "part": 1}],
        [{**_PART, "id": each, "text": "x" * LONGEST_PART} for each in range(40)],
    ],
)
def test_parts_that_do_not_fit_are_refused(messages: list[dict[str, Any]]):
    parts = Parts(4_000_000)
    with pytest.raises(BadFrame):
        for message in messages:
            parts.join(message)


def test_random_bytes_never_raise_anything_else():
    chance = random.Random(11)
    for _ in range(2000):
        data = struct.pack("<I", chance.randrange(40)) * chance.randrange(3) + chance.randbytes(
            chance.randrange(60)
        )
        frames, parts = Frames(), Parts()
        try:
            for payload in frames.feed(data):
                parts.join(read_message(payload))
        except BadFrame:
            pass
