import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.frontends.tui.render.markdown import MarkdownStream, render_markdown
from bridle.frontends.tui.style.cells import line_width
from bridle.frontends.tui.style.text import Line, text_of
from tests.fakes.counting import steps_of

_PIECES = (
    "# Title\n", "\n", "\n\n", "- one\n", "- two\n", "  - deeper\n", "  still two\n", "1. first\n",
    "2) other\n", "```python\n", "```\n", "~~~\n", "def f():\n", "    indented\n", "> quoted\n",
    "lazy\n", "---\n", "===\n", "| a | b |\n", "|---|--:|\n", "| 1 | 2 |\n", "[ref]: http://x.y\n",
    "[ref]", "**bold", "**", "`code`", "~~gone~~", "<div>\n", "</div>\n", "<!-- note\n", "word ",
    "日本語 ", "🇩🇪 👨‍👩‍👧 ", "\t", "\r\n", "\x1b[31mred\x1b[0m", "\x1b]8;;http://evil\x07", "&#27;",
    "[link](http://a.b)", "![pic](x.png)", "\\", "*", "_a_", "- [x] done\n", "- ```js\n", "  ```\n",
    "[^1]: note\n", "   three\n", "\u202e", "10. ten\n", "* * *\n", "#", "-", "1.",
)  # fmt: skip
_documents = st.lists(st.sampled_from(_PIECES) | st.text(max_size=6), max_size=40).map("".join)


def _shown(text: str, width: int = 40) -> list[str]:
    return [text_of(line) for line in render_markdown(text, width)]


def _styles(text: str, wanted: str, width: int = 60):
    return next(span.style for line in render_markdown(text, width) for span in line if wanted in span.text)


@given(_documents, st.randoms(use_true_random=False), st.integers(1, 90))
def test_text_in_any_pieces_gives_the_same_lines_as_the_whole(text: str, chance: random.Random, width: int):
    stream = MarkdownStream(width)
    lines: list[Line] = []
    at = 0
    while at < len(text):
        size = chance.choice((1, 1, 2, 3, 7, 40))
        lines += stream.feed(text[at : at + size])
        at += size
        if chance.random() < 0.3:
            assert all(line_width(line) <= width for line in stream.open_lines())
    lines += stream.finish()

    assert lines == render_markdown(text, width)


@given(_documents | st.text(max_size=80), st.integers(1, 200))
def test_no_line_is_too_wide_or_holds_a_control_character(text: str, width: int):
    for line in render_markdown(text, width):
        assert line_width(line) <= width
        for span in line:
            assert not any(ord(c) < 32 or 0x7F <= ord(c) < 0xA0 or c in "\u202e\u2066" for c in span.text)
            assert span.style.link is None or span.style.link.isprintable()


@given(st.lists(st.sampled_from(_PIECES), max_size=25).map("".join))
def test_open_lines_after_a_whole_line_are_what_finishing_would_add(text: str):
    stream = MarkdownStream(50)
    stream.feed(text.rstrip("\n") + "\n")
    open_lines = stream.open_lines()

    assert open_lines == stream.finish()


def test_blocks_are_laid_out_with_one_empty_line_between_them():
    text = "# Title\nIntro:\n- one\n- two\n  - deeper\n\n> said\n> twice\n\n***\nend\n"
    assert _shown(text, 20) == [
        "Title", "", "Intro:", "• one", "• two", "  ◦ deeper", "", "▎ said", "▎ twice", "", "─" * 20, "",
        "end",
    ]  # fmt: skip


def test_ordered_lists_count_on_and_keep_their_start():
    assert _shown("3. a\n3. b\n\n   more\n9. c\n") == ["3. a", "4. b", "", "   more", "5. c"]


def test_tasks_have_boxes():
    assert _shown("- [ ] open\n- [x] done\n") == ["☐ open", "☑ done"]


def test_long_items_hang_below_their_text():
    assert _shown("- one two three four\n", 12) == ["• one two", "  three four"]


def test_setext_headings_and_hard_breaks():
    assert _shown("Title\n=====\na  \nb\\\nc\n") == ["Title", "", "a", "b", "c"]
    assert _styles("Title\n=====\n", "Title").bold


def test_links_show_their_address_where_the_text_does_not():
    assert _shown("[docs](https://a.b/c) <https://d.e> [https://f.g](https://f.g)") == [
        "docs (https://a.b/c) https://d.e",
        "https://f.g",
    ]
    assert _styles("[docs](https://a.b/c)", "docs").link == "https://a.b/c"
    assert _styles("see https://a.b/c.", "https").link == "https://a.b/c"


def test_a_link_to_a_script_is_only_text():
    assert all(
        span.style.link is None for line in render_markdown("[x](javascript:alert)", 40) for span in line
    )


def test_definitions_serve_the_text_below_them_and_are_not_shown():
    assert _shown("[ref]: https://a.b\n\nsee [ref]\n") == ["see ref (https://a.b)"]


def test_footnotes_images_and_html_are_shown_as_text():
    assert _shown("word[^1] ![a cat](cat.png) <b>x</b>\n\n[^1]: A note.\n") == [
        "word[^1] [image: a cat] <b>x</b>",
        "",
        "[^1]: A note.",
    ]


def test_emphasis_becomes_style():
    text = "**b** *i* ~~s~~ `c`"
    assert _styles(text, "b").bold
    assert _styles(text, "i").italic
    assert _styles(text, "s").strike
    assert _styles(text, "c").color == "code"


def test_code_has_a_label_and_colors_also_across_lines():
    lines = render_markdown("```js\n/* a\nb */ let x\n```\n", 40)
    assert [text_of(line) for line in lines] == ["js", "/* a", "b */ let x"]
    assert [(span.text, span.style.color) for span in lines[2]][:3] == [
        ("b */", "code.comment"),
        (" ", None),
        ("let", "code.keyword"),
    ]


def test_tables_align_their_columns():
    text = "| Name | Value |\n|:--|--:|\n| a | 1 |\n| 日本 | 22 |\n"
    assert _shown(text) == ["Name │ Value", "─────┼──────", "a    │     1", "日本 │    22"]


def test_wide_tables_wrap_their_cells():
    text = "| Key | Text |\n|--|--|\n| a | some words that are too long |\n| b | x |\n"
    assert _shown(text, 20) == [
        "Key │ Text",
        "────┼───────────────",
        "a   │ some words",
        "    │ that are too",
        "    │ long",
        "────┼───────────────",
        "b   │ x",
    ]


def test_tables_too_narrow_for_columns_are_stacked():
    head = "| Name | Description | Status | Owner |\n|-|-|-|-|\n"
    text = f"{head}| alpha-service | does many things | running | somebody |\n"
    assert _shown(text, 26) == [
        "Name: alpha-service",
        "Description: does many",
        "things",
        "Status: running",
        "Owner: somebody",
    ]


def test_lines_of_an_open_code_block_are_final_at_once():
    stream = MarkdownStream(40)
    assert [text_of(line) for line in stream.feed("```python\nx = 1\ny =")] == ["python", "x = 1"]
    assert [text_of(line) for line in stream.open_lines()] == ["y ="]


def test_marks_that_may_become_anything_do_not_flash_up():
    stream = MarkdownStream(40)
    stream.feed("Some text\n--")
    assert [text_of(line) for line in stream.open_lines()] == ["Some text"]
    stream = MarkdownStream(40)
    stream.feed("a **bold wor")
    assert [text_of(line) for line in stream.open_lines()] == ["a bold wor"]


def test_finished_paragraphs_are_handed_out_when_the_next_begins():
    stream = MarkdownStream(40)
    assert stream.feed("one\ntwo\n") == []
    assert [text_of(line) for line in stream.feed("\nthree")] == ["one", "two"]
    assert [text_of(line) for line in stream.open_lines()] == ["", "three"]


def test_a_new_width_holds_for_what_follows():
    stream = MarkdownStream(40)
    assert stream.feed("one two three four\n\n") == render_markdown("one two three four", 40)
    stream.resize(10)
    stream.feed("one two three four")
    assert [text_of(line) for line in stream.open_lines()] == ["", "one two", "three four"]


def test_items_of_a_list_are_handed_out_one_by_one():
    stream = MarkdownStream(40)
    assert [text_of(line) for line in stream.feed("- a\n- b\n- c")] == ["• a"]
    assert [text_of(line) for line in stream.open_lines()] == ["• b", "• c"]


def test_a_long_code_block_streams_with_the_same_work_for_each_line():
    def stream_lines(lines: int) -> None:
        stream = MarkdownStream(80)
        stream.feed("```python\n")
        for number in range(lines):
            stream.feed(f"value_{number:04} = compute({number:04})")
            stream.feed("\n")
            stream.open_lines()
        stream.finish()

    stream_lines(10)
    few, many = steps_of(lambda: stream_lines(50)), steps_of(lambda: stream_lines(200))
    assert many <= few * 4.3


def test_one_endless_line_takes_a_bounded_amount_of_work():
    def feed(pieces: int) -> None:
        stream = MarkdownStream(80)
        for _ in range(pieces):
            stream.feed("word " * 40)
            stream.open_lines()
        assert stream.finish()

    feed(3)
    assert steps_of(lambda: feed(200)) < 20_000_000


@pytest.mark.parametrize("unit", ["x", "word ", "**b ", "`a", "[a](", "http://a.b ", "1. ", "~~a"])
def test_one_endless_line_takes_the_same_work_for_each_piece(unit: str):
    """R11: once it is longer than what is looked at, however long it has become."""

    def begin(pieces: int) -> MarkdownStream:
        stream = MarkdownStream(80)
        for _ in range(pieces):
            stream.feed(unit * 20)
        return stream

    def follow(stream: MarkdownStream) -> None:
        for _ in range(20):
            stream.feed(unit * 20)
            stream.open_lines()

    short, long = begin(500), begin(4_000)
    follow(short)
    few, many = steps_of(lambda: follow(short)), steps_of(lambda: follow(long))
    assert many <= few * 1.05
    assert steps_of(long.finish) <= steps_of(short.finish) * 9


def test_a_paragraph_of_endless_lines_takes_the_same_work_for_each_line():
    """R11"""

    def begin(lines: int) -> MarkdownStream:
        stream = MarkdownStream(80)
        stream.feed("some **words** of it\n" * lines)
        return stream

    def follow(stream: MarkdownStream) -> None:
        for _ in range(20):
            stream.feed("some **words** of it\n")
            stream.open_lines()

    short, long = begin(1_000), begin(8_000)
    follow(short)
    assert steps_of(lambda: follow(long)) <= steps_of(lambda: follow(short)) * 1.05


def test_a_line_that_is_too_long_for_marks_is_shown_as_it_is():
    rows = render_markdown("**b** " * 4_000, 80)
    assert "".join(map(text_of, rows)).count("**b**") == 4_000
    assert render_markdown("**b** " * 100, 80) != render_markdown("b " * 100, 80)
