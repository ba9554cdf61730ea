import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wcwidth import iter_graphemes, wcswidth

from bridle.frontends.tui.style import cells
from bridle.frontends.tui.style.text import Line, Span, Style, line, text_of
from tests.tables import table

_RED = Style(color="error")
_BOLD = Style(bold=True)


def _said(rows: list[Line]) -> list[str]:
    return [text_of(row) for row in rows]


def test_fast_table_agrees_with_the_full_tables():
    wrong = [
        hex(code)
        for code in range(0x20, 0x3000)
        if cells._NARROW.fullmatch(chr(code))
        and (wcswidth(chr(code)) != 1 or len(list(iter_graphemes(f"a{chr(code)}a"))) != 3)
    ]
    assert wrong == []


@table(
    ("text", "expected"),
    [
        ("plain", 5),
        ("äöü Привет", 10),
        ("│ ─ ⏺ … →", 9),
        ("日本", 4),
        ("👨‍👩‍👧", 2),
        ("🇩🇪", 2),
        ("☀️", 2),
        ("☀", 1),
        ("👍🏽", 2),
        ("e\u0301", 1),
        ("한", 2),
        ("שלום", 4),
        ("\u200b", 0),
        ("", 0),
    ],
)
def test_width_counts_cells(text: str, expected: int):
    assert cells.width(text) == expected


def test_graphemes_keep_sequences_together():
    assert list(cells.graphemes("a👨‍👩‍👧e\u0301🇩🇪")) == ["a", "👨‍👩‍👧", "e\u0301", "🇩🇪"]


def test_terminals_disagree_about_sequences_but_not_about_letters():
    assert [cells.is_doubtful(text) for text in ("abc", "日本", "é│", "👍", "☀️", "e\u0301")] == [
        False, False, False, True, True, True,
    ]  # fmt: skip


def test_cut_never_tears_a_wide_character():
    styled = (Span("ab", _RED), Span("日本", _BOLD))
    assert cells.cut(styled, 3) == (Span("ab", _RED),)
    assert cells.cut(styled, 4) == (Span("ab", _RED), Span("日", _BOLD))
    assert cells.split(styled, 1) == ((Span("a", _RED),), (Span("b", _RED), Span("日本", _BOLD)))


def test_truncate_says_that_something_is_missing():
    assert cells.truncate(line("hello world"), 11) == line("hello world")
    assert text_of(cells.truncate(line("hello world"), 6)) == "hello…"
    assert text_of(cells.truncate(line("hello"), 0)) == ""
    assert cells.truncate_text("日本語", 4) == "日…"
    assert cells.truncate_start("/very/long/path.py", 8) == "…path.py"
    assert cells.truncate_start("/very/long", 0) == ""


def test_pad_fills_up_with_spaces():
    assert text_of(cells.pad(line("日"), 4)) == "日  "
    assert cells.pad(line("long"), 2) == line("long")


def test_wrap_breaks_between_words_and_keeps_styles():
    styled = (Span("one two ", _RED), Span("three", _BOLD))
    assert cells.wrap(styled, 8) == [(Span("one two", _RED),), (Span("three", _BOLD),)]


def test_wrap_starts_further_rows_with_the_indent():
    assert _said(cells.wrap(line("- one two three"), 8, indent=line("  "))) == ["- one", "  two", "  three"]


def test_wrap_breaks_a_word_that_is_too_long():
    assert _said(cells.wrap(line("abcdefghij xy"), 4)) == ["abcd", "efgh", "ij", "xy"]


def test_wrap_keeps_indentation_with_the_first_word():
    assert _said(cells.wrap(line("    word next"), 9)) == ["    word", "next"]


def test_wrap_breaks_between_wide_characters_but_not_before_closing_marks():
    assert _said(cells.wrap(line("日本語です。"), 10)) == ["日本語で", "す。"]
    assert _said(cells.wrap(line("ab 日本"), 6)) == ["ab 日", "本"]


def test_wrap_gives_up_an_indent_that_leaves_no_room():
    assert _said(cells.wrap(line("abc def"), 3, indent=line("      "))) == ["abc", "def"]


def test_chop_breaks_exactly_where_rows_are_full():
    assert _said(cells.chop(line("ab cd日e"), 3)) == ["ab ", "cd", "日e"]
    assert _said(cells.chop(line("日x"), 1)) == ["x"]
    assert cells.chop((), 5) == [()]


def test_right_to_left_text_is_isolated_and_other_text_left_alone():
    assert cells.isolate("abc") == "abc"
    assert cells.isolate("שלום") == "\u2068שלום\u2069"


_TEXT = st.text(alphabet=st.sampled_from("ab  日é👍\u200d🇩🇪e\u0301。ש"), max_size=60)


@given(_TEXT, st.integers(2, 20), st.integers(0, 6))
def test_wrapped_rows_fit_and_lose_nothing_but_spaces(text: str, room: int, margin: int):
    rows = cells.wrap((Span(text[:7], _RED), Span(text[7:], _BOLD)), room, indent=line(" " * margin))
    assert all(cells.line_width(row) <= room for row in rows)
    squeezed = re.sub(" ", "", "".join(_said(rows)))
    assert squeezed == text.replace(" ", "")


@given(_TEXT, st.integers(0, 30))
def test_split_parts_make_up_the_line(text: str, room: int):
    head, tail = cells.split(line(text), room)
    assert text_of(head) + text_of(tail) == text
    assert cells.line_width(head) <= room


def test_wide_characters_in_a_row_of_one_cell_are_left_out():
    assert _said(cells.wrap(line("日本語"), 1)) == [""]
    assert _said(cells.wrap(line("a日b"), 1)) == ["a", "b"]
    assert _said(cells.wrap(line("日本語"), 4, indent=line("   "))) == ["日本", "語"]


@pytest.mark.parametrize(
    ("path", "size", "shown"),
    [
        ("/home/ada/project/CLAUDE.md", 40, "/home/ada/project/CLAUDE.md"),
        ("/home/ada/project/CLAUDE.md", 20, "/home/ada…/CLAUDE.md"),
        ("/home/ada/project/CLAUDE.md", 8, "…AUDE.md"),
        ("/家/項目/記録.md", 12, "/家…/記録.md"),
    ],
)
def test_a_path_is_cut_in_the_middle_and_keeps_its_name(path: str, size: int, shown: str):
    assert cells.truncate_path(path, size) == shown
