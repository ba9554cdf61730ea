import json

from hypothesis import given
from hypothesis import strategies as st

from bridle.transcripts.line import decode_line, encode_line, is_uuid, timestamp
from bridle.types.ids import new_uuid

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


@given(st.dictionaries(st.text(), _JSON))
def test_what_is_written_is_read_back(entry: dict[str, object]):
    line = encode_line(entry)
    assert decode_line(line) == json.loads(line) == entry
    assert line.decode().splitlines() == [line.decode()[:-1]]


def test_unicode_line_separators_are_escaped():
    assert encode_line({"a": "x\u2028y\u2029z"}) == b'{"a":"x\\u2028y\\u2029z"}\n'


def test_half_a_surrogate_pair_is_replaced_on_writing():
    assert decode_line(encode_line({"a": "x\ud83dy 😀"})) == {"a": "x\ufffdy 😀"}


def test_half_a_surrogate_pair_that_another_program_wrote_is_replaced_on_reading():
    assert decode_line(b'{"a":"x\\ud83dy","n":12345678901234567890}') == {
        "a": "x\ufffdy",
        "n": 12345678901234567890,
    }


def test_broken_lines_are_nothing():
    for line in (b"", b"{", b'{"a":', b"[1]", b"7", b'"\\ud83d', b"\xff\xfe", b"\0\0\0", b"[" * 100_000):
        assert decode_line(line) is None


def test_a_time_has_milliseconds_and_is_utc():
    assert timestamp(0) == "1970-01-01T00:00:00.000Z"
    assert timestamp(1_767_225_600.9999) == "2026-01-01T00:00:00.999Z"


def test_new_ids_are_uuids_and_differ():
    assert is_uuid(new_uuid())
    assert new_uuid() != new_uuid()
    assert not is_uuid("../../etc/passwd")
    assert not is_uuid(new_uuid() + "\n")
