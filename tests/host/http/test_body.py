import gzip
import zlib
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.host.http.body import BodyFault, Chunked, Counted, UntilClosed, framing, unpacking


def chunked(*parts: bytes) -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


@given(st.lists(st.binary(min_size=1, max_size=40), max_size=8), st.lists(st.integers(0, 400), max_size=12))
def test_chunks_are_put_together_wherever_the_stream_is_cut(parts: list[bytes], cuts: list[int]):
    wire = chunked(*parts)
    edges = [0, *sorted(cut for cut in cuts if cut < len(wire)), len(wire)]
    body = Chunked()
    taken = [body.feed(wire[a:b]) for a, b in pairwise(edges) if a < b]
    assert b"".join(taken) == b"".join(parts)
    assert (body.ended, body.reusable) == (True, True)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_body_or_a_fault(data: bytes):
    try:
        Chunked().feed(data)
    except BodyFault:
        pass


def test_chunk_extensions_and_trailers_are_skipped():
    body = Chunked()
    assert body.feed(b"3;name=value\r\nabc\r\n0\r\nX-Sum: 1\r\n\r\n") == b"abc"
    assert body.ended


@pytest.mark.parametrize(
    "wire", [b"zz\r\n", b"-1\r\n", b"1_0\r\n", b"\r\n", b"2\r\nabc\r\n", b"5\r\nabc", b"x" * 20_000]
)
def test_damaged_chunks_are_faults(wire: bytes):
    body = Chunked()
    with pytest.raises(BodyFault):
        body.feed(wire)
        body.feed(b"")


def test_bytes_after_the_end_make_the_connection_unfit_for_more():
    body = Chunked()
    body.feed(chunked(b"a") + b"HTTP/1.1 200")
    counted = Counted(1)
    assert counted.feed(b"ab") == b"a"
    assert (body.reusable, counted.reusable) == (False, False)


def test_a_counted_body_that_breaks_off_is_a_fault():
    body = Counted(3)
    body.feed(b"ab")
    with pytest.raises(BodyFault):
        body.feed(b"")


def test_the_head_says_how_the_body_ends():
    assert isinstance(framing(200, "POST", {"transfer-encoding": "chunked"}), Chunked)
    assert isinstance(framing(200, "POST", {"content-length": "3"}), Counted)
    assert isinstance(framing(200, "POST", {}), UntilClosed)
    assert framing(204, "GET", {}).ended
    assert framing(200, "HEAD", {"content-length": "3"}).ended


@given(st.binary(max_size=5000), st.integers(1, 64))
def test_packed_bodies_are_unpacked_piece_by_piece(data: bytes, size: int):
    packed = gzip.compress(data[:100], mtime=0) + gzip.compress(data[100:], mtime=0)
    unpack = unpacking("gzip")
    out = [
        part
        for start in range(0, len(packed), size)
        for part in unpack(packed[start : start + size], start + size >= len(packed))
    ]
    assert b"".join(out) == data


def test_a_small_packed_body_is_unpacked_in_bounded_steps():
    steps = unpacking("gzip")(gzip.compress(bytes(50_000_000)), True)
    assert max(len(step) for step in steps) <= 1024 * 1024


@pytest.mark.parametrize("data", [b"not gzip at all", gzip.compress(b"x" * 1000, mtime=0)[:20]])
def test_damaged_packing_is_a_fault(data: bytes):
    with pytest.raises(BodyFault):
        list(unpacking("gzip")(data, True))


def test_an_unknown_packing_is_a_fault():
    with pytest.raises(BodyFault):
        unpacking("br")


@pytest.mark.parametrize("size", [1, 2, 3, 1000])
@pytest.mark.parametrize("window", [zlib.MAX_WBITS, -zlib.MAX_WBITS])
def test_deflate_is_unpacked_with_and_without_its_wrapping(size: int, window: int):
    data = b"roses and tulips " * 20
    packer = zlib.compressobj(wbits=window)
    packed = packer.compress(data) + packer.flush()
    pieces = [packed[at : at + size] for at in range(0, len(packed), size)]
    unpack = unpacking("deflate")
    parts = [part for index, piece in enumerate(pieces) for part in unpack(piece, index == len(pieces) - 1)]
    assert b"".join(parts) == data
