import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.features.language_servers.session import units_before
from bridle.host.lsp.framing import Frames, LspFault, encode

_MESSAGES = st.lists(st.dictionaries(st.text(max_size=5), st.text(max_size=20), max_size=3), max_size=5)


@given(_MESSAGES, st.lists(st.integers(1, 40), min_size=1, max_size=30))
def test_messages_come_out_as_they_went_in_however_they_are_cut(
    messages: list[dict[str, str]], cuts: list[int]
):
    data = b"".join(map(encode, messages))
    frames, found, at = Frames(), list[object](), 0
    for cut in cuts:
        found += frames.feed(data[at : at + cut])
        at += cut
    found += frames.feed(data[at:])
    assert found == messages


@given(st.binary(max_size=400))
def test_any_bytes_are_messages_or_a_fault(data: bytes):
    try:
        assert isinstance(Frames().feed(data), list)
    except LspFault:
        pass


def test_words_between_messages_are_passed_over():
    frames = Frames()
    assert frames.feed(b"loading\n" + encode({"a": 1}) + b"done\nmore\n" + encode({"b": 2})) == [
        {"a": 1},
        {"b": 2},
    ]


@pytest.mark.parametrize(
    "data",
    [b"Content-Length: 3\r\n\r\n{a}", b"Content-Length: 2\r\n\r\n[]", b"Content-Length: 99999999999\r\n\r\n"],
)
def test_what_is_no_message_is_a_fault(data: bytes):
    with pytest.raises(LspFault):
        Frames().feed(data)


@given(st.text(max_size=20), st.sampled_from(["utf-8", "utf-16", "utf-32"]), st.integers(0, 20))
def test_columns_are_counted_in_the_units_of_the_server(line: str, encoding: str, character: int):
    width = {"utf-8": 1, "utf-16": 2, "utf-32": 4}[encoding]
    codec = encoding if width == 1 else f"{encoding}-le"
    before = line.encode(codec, "surrogatepass")[: units_before(line, character, encoding) * width]
    assert before.decode(codec, "surrogatepass") == line[:character]


def test_an_encoding_that_is_not_known_is_taken_for_the_usual_one():
    assert units_before("😀x", 1, "utf-7") == 2
