import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.types.text import decode_json, encodable, encodable_value


@given(st.text())
def test_text_that_can_be_encoded_stays_as_it_is(text: str):
    assert encodable(text) is text


@given(st.text(alphabet=st.characters(categories=["Cs", "L"])))
def test_any_text_can_be_encoded_afterwards(text: str):
    encodable(text).encode()


def test_bytes_that_are_not_utf8_become_replacement_characters():
    assert encodable("a\udcff b") == "a� b"


def test_values_are_cleaned_all_the_way_down():
    assert encodable_value({"k\udcff": ["\ud800", 1, None, ("x",)]}) == {"k�": ["�", 1, None, ["x"]]}


def test_half_a_pair_in_json_costs_only_itself():
    assert decode_json(b'{"a": "x\\ud83dy", "b": "\\ud83d\\ude00"}') == {"a": "x�y", "b": "😀"}


@pytest.mark.parametrize("data", [b"{", b'"\\ud800', b"\xff", b'{"a": \\ud800}'])
def test_what_is_not_json_is_refused(data: bytes):
    with pytest.raises(msgspec.DecodeError):
        decode_json(data)
