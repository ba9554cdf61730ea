import asyncio
import os
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import msgspec
import pytest

from bridle.host.jsonlines import BadLine, JsonLines, LineBuffer, read_lines, to_line
from tests.tables import table

_LONGEST = 1_000
_decode = msgspec.json.Decoder(dict[str, int]).decode


@asynccontextmanager
async def _connection() -> AsyncGenerator[tuple[JsonLines, socket.socket]]:
    """One end that speaks in lines, and the other as it is."""
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    lines = JsonLines(*await asyncio.open_unix_connection(sock=ours, limit=_LONGEST))
    try:
        yield lines, theirs
    finally:
        theirs.close()
        await lines.close()


@table(
    "chunks",
    [
        [b'{"a": 1}\n{"a": 2}\n'],
        [b'{"a"', b": 1}", b'\n{"a": 2}\n'],
        [bytes((byte,)) for byte in b'{"a": 1}\n{"a": 2}\n'],
    ],
)
def test_lines_are_the_same_however_their_bytes_come(chunks: list[bytes]):
    buffer = LineBuffer(_LONGEST)
    assert [line for chunk in chunks for line in buffer.feed(chunk)] == [b'{"a": 1}', b'{"a": 2}']
    assert buffer.rest() == b""


def test_line_that_does_not_end_is_told_of_and_lines_before_it_are_not_lost():
    buffer = LineBuffer(4)
    assert (buffer.feed(b"one\nlong"), buffer.is_overfull) == ([b"one"], False)
    assert (buffer.feed(b"er"), buffer.is_overfull) == ([], True)
    assert (buffer.rest(), buffer.rest(), buffer.is_overfull) == (b"longer", b"", False)


def test_line_that_does_not_end_is_given_out_in_pieces_where_that_is_wanted():
    buffer = LineBuffer(4, cut=True)
    assert buffer.feed(b"one\nlonger") == [b"one", b"longer"]
    assert buffer.feed(b" still\n") == [b" still"]


async def test_lines_of_a_descriptor_end_with_it_and_the_last_needs_no_end():
    reading, writing = os.pipe()
    os.write(writing, b"o\n\nthree")
    os.close(writing)
    try:
        assert [line async for line in read_lines(reading, read=b"zero\ntw")] == [
            b"zero",
            b"two",
            b"",
            b"three",
        ]
    finally:
        os.close(reading)


async def test_messages_go_both_ways_and_the_end_is_none():
    async with _connection() as (lines, other), asyncio.timeout(50):
        other.send(to_line({"a": 1}) + b'{"a":')
        assert lines.write({"b": [1, 2]})
        assert await lines.read(_decode) == {"a": 1}
        other.send(b"2}\n")
        assert await lines.read(_decode) == {"a": 2}
        assert await asyncio.get_running_loop().sock_recv(other, 100) == b'{"b":[1,2]}\n'
        other.shutdown(socket.SHUT_WR)
        assert await lines.read(_decode) is None


_BAD = (
    b'{"a": 1',
    b"hello\n",
    b'{"a": "text"}\n',
    b"[1]\n",
    b'{"\xff": 1}\n',
    b'{"a": ' + b"1" * 2 * _LONGEST + b"}\n",
    b"[" * 900 + b"\n",
)


@pytest.mark.parametrize("sent", _BAD)
async def test_line_that_is_cut_off_too_long_or_something_else_is_an_error(sent: bytes):
    async with _connection() as (lines, other), asyncio.timeout(50):
        other.send(sent)
        other.shutdown(socket.SHUT_WR)
        with pytest.raises(BadLine):
            await lines.read(_decode)


async def test_line_after_a_bad_one_is_read():
    async with _connection() as (lines, other), asyncio.timeout(50):
        other.send(b'noise\n{"a": 1}\n')
        with pytest.raises(BadLine):
            await lines.read(_decode)
        assert await lines.read(_decode) == {"a": 1}


async def test_sender_waits_while_the_other_end_does_not_read():
    async with _connection() as (lines, other), asyncio.timeout(50):
        sending = asyncio.ensure_future(lines.send({"text": "x" * 4_000_000}))
        await asyncio.sleep(0)
        assert not sending.done()
        while not sending.done():
            await asyncio.get_running_loop().sock_recv(other, 1 << 20)
        await sending


async def test_connection_whose_other_end_stopped_reading_is_given_up():
    async with _connection() as (lines, _):
        written = 0
        while lines.write({"text": "x" * 8_000_000}):
            written += 1
        assert 1 < written < 20
        await asyncio.sleep(0)
        assert not lines.write({})


async def test_end_that_is_gone_is_written_nothing():
    async with _connection() as (lines, other), asyncio.timeout(50):
        other.close()
        assert await lines.read(_decode) is None
        with pytest.raises(OSError):
            while True:
                await lines.send({"a": 1})
        assert not lines.write({"a": 1})
