from hypothesis import given
from hypothesis import strategies as st

from bridle.frontends.tui.terminal.keys import Answer, Focus, Input, Key, KeyReader, Paste
from tests.tables import table


def _read(data: bytes) -> list[Input]:
    reader = KeyReader()
    return [*reader.feed(data), *reader.flush()]


@table(
    ("data", "name"),
    [
        (b"a", "a"),
        (b"A", "shift+a"),
        (b"?", "?"),
        (b" ", "space"),
        (b"\r", "enter"),
        (b"\n", "ctrl+j"),
        (b"\t", "tab"),
        (b"\x1b[Z", "shift+tab"),
        (b"\x7f", "backspace"),
        (b"\x08", "backspace"),
        (b"\x03", "ctrl+c"),
        (b"\x00", "ctrl+space"),
        (b"\x1f", "ctrl+_"),
        (b"\x1b", "escape"),
        (b"\x1bb", "alt+b"),
        (b"\x1b\r", "alt+enter"),
        (b"\x1b\x7f", "alt+backspace"),
        (b"\x1b[A", "up"),
        (b"\x1bOA", "up"),
        (b"\x1b[1;5C", "ctrl+right"),
        (b"\x1b[1;2A", "shift+up"),
        (b"\x1b[3~", "delete"),
        (b"\x1b[5;3~", "alt+pageup"),
        (b"\x1bOP", "f1"),
        (b"\x1b[24~", "f12"),
        (b"\x1b[13;2u", "shift+enter"),
        (b"\x1b[27;2;13~", "shift+enter"),
        (b"\x1b[97;5u", "ctrl+a"),
        (b"\x1b[102:70;6u", "ctrl+shift+f"),
        (b"\x1b[27u", "escape"),
        (b"\x1b[57414u", "enter"),
        (b"\x1b[99;9u", "super+c"),
        (b"\x1b[57376u", "f13"),
        ("é".encode(), "é"),
        ("É".encode(), "shift+é"),
        ("日".encode(), "日"),
        (b"\x1b[", "alt+["),
    ],
)
def test_bytes_are_read_as_the_key_that_was_pressed(data: bytes, name: str):
    assert [str(key) for key in _read(data)] == [name]


def test_keys_type_their_text_only_when_nothing_is_held():
    typed = _read(b"Aa \x1ba\x01\x1b[97;2u\x1b[97;5u")
    assert [key.text for key in typed if isinstance(key, Key)] == ["A", "a", " ", "", "", "A", ""]


def test_byte_eight_can_mean_ctrl_backspace():
    assert [str(key) for key in KeyReader(backspace_is_ctrl=True).feed(b"\x08")] == ["ctrl+backspace"]


def test_two_escapes_are_two_keys():
    assert _read(b"\x1b\x1b") == [Key("escape"), Key("escape")]


def test_an_escape_waits_for_what_may_follow():
    reader = KeyReader()
    assert (reader.feed(b"\x1b"), reader.is_waiting) == ([], True)
    assert (reader.feed(b"[A"), reader.is_waiting) == ([Key("up")], False)


def test_pasted_text_comes_in_one_piece_with_its_line_breaks():
    assert _read(b"a\x1b[200~one\r\ntwo\rthree\x1b[31m\x1b[201~b") == [
        Key("a", text="a"), Paste("one\ntwo\nthree\x1b[31m"), Key("b", text="b"),
    ]  # fmt: skip


def test_megabytes_are_pasted_quickly():
    reader = KeyReader()
    data = b"\x1b[200~" + b"x" * 5_000_000 + b"\x1b[201~"
    found = [each for at in range(0, len(data), 4096) for each in reader.feed(data[at : at + 4096])]
    assert found == [Paste("x" * 5_000_000)]


def test_much_text_at_once_is_taken_as_a_paste_even_without_brackets():
    assert _read(b"x" * 100 + b"\r") == [Paste("x" * 100), Key("enter")]


def test_key_releases_mouse_and_lone_modifiers_are_ignored():
    assert _read(b"\x1b[97;1:3u\x1b[<0;10;20M\x1b[<0;10;20m\x1b[M !!\x1b[57441;2u") == []


def test_focus_is_reported():
    assert _read(b"\x1b[I\x1b[O") == [Focus(gained=True), Focus(gained=False)]


def test_answers_of_the_terminal_are_told_from_keys():
    data = (
        b"\x1b[?1u\x1b[?62;22c\x1b[?2026;2$y\x1b]11;rgb:1e1e/2020/ffff\x1b\\\x1b]11;rgb:1/2/f\x07"
        b"\x1bP>|XTerm(388)\x1b\\\x1b[12;40R"
    )
    assert _read(data) == [
        Answer("keyboard", (1,)),
        Answer("attributes", (62, 22)),
        Answer("mode", (2026, 2)),
        Answer("color", (11, 0x1E, 0x20, 0xFF)),
        Answer("color", (11, 0x11, 0x22, 0xFF)),
        Answer("version", text="XTerm(388)"),
        Answer("position", (12, 40)),
    ]


def test_invalid_bytes_are_marked_and_harm_nothing_else():
    assert [key.text for key in _read(b"a\xff\xc3(b") if isinstance(key, Key)] == [
        "a",
        "\ufffd",
        "\ufffd",
        "(",
        "b",
    ]


_PIECES = st.lists(
    st.sampled_from([
        b"a", "é日👍".encode(), b"\x1b[A", b"\x1b[1;5D", b"\x1b[200~p\xc3\xa9\r\nq\x1b[201~", b"\x1bOP",
        b"\x1bx", b"\x1b]11;rgb:0/0/0\x07", b"\x03", b"\r", b"\x1b[13;2u", b"\xff", b"\x1b\x1b[B",
    ]),
    max_size=8,
)  # fmt: skip


@given(_PIECES, st.data())
def test_it_does_not_matter_where_bytes_are_cut(pieces: list[bytes], data: st.DataObject):
    whole = b"".join(pieces)
    reader = KeyReader()
    found: list[Input] = []
    rest = whole
    while rest:
        size = data.draw(st.integers(1, len(rest)))
        found += reader.feed(rest[:size])
        rest = rest[size:]
    assert [*found, *reader.flush()] == _read(whole)


@table(("data",), [(b"\x1b[200",), (b"\x1b[?62;22",), (b"\x1b[>1;4",), (b"\x1b[12;40",)])
def test_what_the_terminal_began_to_answer_is_not_typed(data: bytes):
    reader = KeyReader()
    assert [*reader.feed(data), *reader.flush()] == []
    assert [str(key) for key in reader.feed(b"x") if isinstance(key, Key)] == ["x"]


@given(st.binary(max_size=200))
def test_any_bytes_can_be_read(data: bytes):
    _read(data)
