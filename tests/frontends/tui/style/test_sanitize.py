from hypothesis import given
from hypothesis import strategies as st

from bridle.frontends.tui.style.ansi import from_ansi
from bridle.frontends.tui.style.sanitize import clean, clean_line, expand_tabs, reveal
from bridle.frontends.tui.style.text import Span, Style, text_of
from tests.tables import table


@table(
    ("hostile", "harmless"),
    [
        ("\x1b[2J\x1b[Hgone", "gone"),
        ("\x1b]0;title\x07x", "x"),
        ("\x1b]52;c;ZXZpbA==\x1b\\x", "x"),
        ("\x1b]8;;http://evil\x1b\\click\x1b]8;;\x1b\\", "click"),
        ("\x1bP+q544e\x1b\\x", "x"),
        ("\x1b_Gi=1;AAAA\x1b\\x", "x"),
        ("\x9b31mred\x9d0;t\x9cx", "redx"),
        ("\x1bcx\x1b(0y", "xy"),
        ("unfinished \x1b[31", "unfinished "),
        ("unfinished \x1b]0;t", "unfinished "),
        ("a\x00b\x07c\x7fd", "abcd"),
        ("user\u202etxt.exe\u2066", "usertxt.exe"),
        ("zero\u200bwidth\ufeff\U000e0041", "zerowidth"),
        ("one\r\ntwo\u2028three", "one\ntwo\nthree"),
        ("10%\r50%\r100%\nnext", "100%\nnext"),
        ("done\r\n", "done\n"),
        ("b\x08bo\x08ol\x08ld\x08d", "bold"),
        ("a\tb", "a       b"),
        ("日\tb", "日      b"),
        ("bad \udcff byte", "bad \ufffd byte"),
        ("👨\u200d👩\u200d👧 stays", "👨\u200d👩\u200d👧 stays"),
    ],
)
def test_hostile_text_becomes_harmless(hostile: str, harmless: str):
    assert clean(hostile) == harmless


@given(st.text())
def test_clean_text_holds_no_control_characters(text: str):
    cleaned = clean(text)
    assert not [c for c in cleaned if c != "\n" and (ord(c) < 0x20 or 0x7F <= ord(c) < 0xA0)]
    assert clean(cleaned) == cleaned


def test_one_line_stays_one_line():
    assert clean_line("a\nb\x1b[K") == "a b"


def test_what_would_run_is_shown_with_its_hidden_parts():
    assert reveal("echo \x1b[8mhid\u202e\x7f\udcff\nls\tx") == "echo ␛[8mhid<U+202E>␡<FF>\nls      x"
    assert reveal("echo plain") == "echo plain"


def test_tabs_stop_at_multiples():
    assert expand_tabs("ab\tc\n\td", tab=4) == "ab  c\n    d"


def test_colors_of_output_are_kept_and_other_sequences_are_not():
    assert from_ansi("\x1b[31mred \x1b[1mbold\x1b[0m\x1b[2J end\nnext") == [
        (Span("red ", Style(color="ansi.1")), Span("bold", Style(color="ansi.1", bold=True)), Span(" end")),
        (Span("next"),),
    ]


def test_every_way_to_write_a_color_is_read():
    said = "\x1b[38;5;208ma\x1b[38;2;1;2;3mb\x1b[38:2::255:0:16mc\x1b[39;104md\x1b[49;91me\x1b[me"
    assert from_ansi(said)[0] == (
        Span("a", Style(color="ansi.208")),
        Span("b", Style(color="#010203")),
        Span("c", Style(color="#ff0010")),
        Span("d", Style(background="ansi.12")),
        Span("e", Style(color="ansi.9")),
        Span("e"),
    )


def test_colors_go_on_in_the_next_line_and_progress_is_overwritten():
    lines = from_ansi("\x1b[32mone\r\ntwo\x1b[0m 1%\r100%\tok")
    assert lines == [(Span("one", Style(color="ansi.2")),), (Span("100%    ok"),)]


@given(st.text(alphabet=st.sampled_from("a\x1b[]0;:38m52\x9b\x07\\\n\r\t\x08PX"), max_size=40))
def test_any_output_can_be_read(text: str):
    for row in from_ansi(text):
        assert text_of(row).isprintable()
