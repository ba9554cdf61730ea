import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridle.frontends.tui.editing.editor import MOST_CHARACTERS, Editor
from bridle.frontends.tui.editing.editor_view import PromptStyle, render
from bridle.frontends.tui.style.cells import graphemes, line_width
from bridle.frontends.tui.style.text import Style, text_of
from bridle.frontends.tui.terminal.keys import Key, KeyReader
from tests.fakes.counting import steps_of

_KEYS = {
    "left": b"\x1b[D", "right": b"\x1b[C", "up": b"\x1b[A", "down": b"\x1b[B", "home": b"\x1b[H",
    "end": b"\x1b[F", "backspace": b"\x7f", "delete": b"\x1b[3~",
}  # fmt: skip


def _press(editor: Editor, *names: str) -> None:
    """Press keys by name; other words are typed."""
    reader = KeyReader()
    for name in names:
        if "+" in name and len(name) > 1:
            *held, last = name.split("+")
            key = Key(last, ctrl="ctrl" in held, alt="alt" in held, shift="shift" in held)
            assert editor.press(key), name
            continue
        for key in reader.feed(_KEYS.get(name) or name.encode()):
            assert isinstance(key, Key)
            assert editor.press(key), name


def _editor(text: str, cursor: int | None = None) -> Editor:
    editor = Editor()
    editor.set(text, cursor=cursor)
    return editor


def test_typing_goes_where_the_cursor_is():
    editor = Editor()
    _press(editor, "helo", "left", "l", "home", ">", "end", "!")
    assert (editor.text, editor.cursor) == (">hello!", 7)


def test_the_cursor_steps_over_whole_characters():
    editor = _editor("a👨‍👩‍👧e\u0301b")
    _press(editor, "left", "left")
    assert editor.cursor == len("a👨‍👩‍👧")
    _press(editor, "backspace")
    assert editor.text == "ae\u0301b"
    _press(editor, "delete")
    assert editor.text == "ab"


@pytest.mark.parametrize(
    ("key", "at", "expected"),
    [
        ("alt+b", 12, 8),
        ("ctrl+left", 8, 4),
        ("alt+f", 0, 3),
        ("ctrl+right", 3, 7),
        ("ctrl+a", 6, 0),
        ("ctrl+e", 0, 12),
        ("ctrl+home", 6, 0),
        ("ctrl+end", 6, 12),
    ],
)
def test_motions_by_word_and_line(key: str, at: int, expected: int):
    editor = _editor("one two.four", at)
    _press(editor, key)
    assert editor.cursor == expected


def test_motions_by_paragraph():
    editor = _editor("one\ntwo\n\nthree\nfour", 0)
    _press(editor, "alt+}")
    assert editor.cursor == 8
    _press(editor, "alt+}", "alt+{")
    assert editor.cursor == 8


def test_up_and_down_keep_the_column_and_end_at_the_edges():
    editor = _editor("long line here\nab\nanother line", 10)
    assert editor.move_rows(1) and editor.cursor == 17
    assert editor.move_rows(1) and editor.cursor == 28
    assert not editor.move_rows(1) and editor.cursor == 28
    assert editor.move_rows(-2) and editor.cursor == 10
    assert not editor.move_rows(-1)


def test_up_and_down_follow_rows_as_they_are_shown():
    editor = _editor("abcdefghij", 7)
    editor.columns = 5
    assert editor.move_rows(-1)
    assert editor.cursor == 2


def test_cuts_in_a_row_are_put_back_together():
    editor = _editor("one two three")
    _press(editor, "ctrl+w", "ctrl+w", "ctrl+a", "ctrl+y")
    assert editor.text == "two threeone "


def test_older_cuts_can_be_put_back_instead():
    editor = _editor("one two")
    _press(editor, "ctrl+w", "left", "right", "ctrl+u", "ctrl+y")
    assert editor.text == "one "
    _press(editor, "alt+y")
    assert editor.text == "two"
    _press(editor, "alt+y")
    assert editor.text == "one "


def test_cutting_to_the_end_of_the_line_takes_the_break_when_nothing_is_left():
    editor = _editor("ab\ncd", 1)
    _press(editor, "ctrl+k")
    assert editor.text == "a\ncd"
    _press(editor, "ctrl+k")
    assert editor.text == "acd"


def test_ctrl_w_can_cut_back_to_a_space_as_shells_do():
    classic, shell = _editor("open src/main.py"), Editor(readline_words=True)
    shell.set("open src/main.py")
    _press(classic, "ctrl+w")
    _press(shell, "ctrl+w")
    assert (classic.text, shell.text) == ("open src/main.", "open ")


def test_typed_words_are_undone_together_and_can_be_redone():
    editor = Editor()
    _press(editor, "hello", " ", "world")
    assert editor.undo() and editor.text == "hello "
    assert editor.undo() and editor.text == "hello"
    assert editor.undo() and editor.text == ""
    assert not editor.undo()
    assert editor.redo() and editor.redo() and editor.text == "hello "
    _press(editor, "x")
    assert not editor.redo()


def test_short_pastes_stay_and_long_ones_are_folded_until_sent():
    editor = Editor()
    editor.paste("short\ntext")
    assert editor.text == "short\ntext"
    editor.set("see ")
    editor.paste("\n".join(f"line {number}" for number in range(20)))
    editor.paste("y" * 2000)
    assert editor.text == "see [Pasted text #1 +19 lines][Pasted text #2]"
    draft = editor.submit()
    assert draft.shown == "see [Pasted text #1 +19 lines][Pasted text #2]"
    assert draft.text.startswith("see line 0\nline 1\n") and draft.text.endswith("y" * 2000)
    assert (editor.text, sorted(draft.attachments)) == ("", [1, 2])


def test_placeholders_are_crossed_and_removed_in_one_piece():
    editor = Editor()
    editor.paste("x" * 2000)
    _press(editor, "left")
    assert editor.cursor == 0
    _press(editor, "right")
    assert editor.cursor == len("[Pasted text #1]")
    _press(editor, "backspace")
    assert editor.text == ""


def test_text_that_only_looks_like_a_placeholder_is_left_alone():
    editor = _editor("[Pasted text #7]")
    _press(editor, "backspace")
    assert editor.text == "[Pasted text #7"
    editor.set("[Pasted text #7]")
    assert editor.submit().text == "[Pasted text #7]"


def test_images_keep_their_place():
    editor = _editor("look at ")
    editor.add_image("image/png", b"data")
    draft = editor.submit()
    assert draft.text == "look at [Image #1] " and list(draft.attachments) == [1]


def test_pasted_control_characters_are_dropped():
    editor = Editor()
    editor.paste("a\x1b[31mb\x00\u202ec\td")
    assert editor.text == "abc d"


def test_a_prompt_cannot_grow_without_end():
    editor = Editor()
    editor.insert("x" * (MOST_CHARACTERS - 1))
    editor.insert("yz")
    assert len(editor.text) == MOST_CHARACTERS and editor.text.endswith("xy")


def test_enter_after_a_backslash_begins_a_line():
    editor = _editor("one\\")
    assert not editor.enter()
    assert editor.text == "one\n"
    assert editor.enter()
    _press(editor, "shift+enter")
    assert editor.text == "one\n\n"


def test_a_draft_can_be_put_aside_and_back():
    editor = _editor("draft", 2)
    editor.stash()
    assert (editor.text, editor.has_stash) == ("", True)
    editor.stash()
    assert (editor.text, editor.cursor, editor.has_stash) == ("draft", 2, False)


def test_keys_without_a_meaning_are_left_to_others():
    assert not Editor().press(Key("f5"))


def test_the_prompt_is_shown_with_its_cursor():
    rows, cursor = render(
        _editor("hello world and more"), 14, PromptStyle(prompt_style=Style(color="mode.plan"))
    )
    assert [text_of(row) for row in rows] == ["❯ hello world ", "  and more"]
    assert cursor == (1, 10)
    assert rows[0][0].style == Style(color="mode.plan")


def test_a_full_row_has_the_cursor_below_it():
    rows, cursor = render(_editor("abcd"), 6, PromptStyle())
    assert ([text_of(row) for row in rows], cursor) == (["❯ abcd", "  "], (1, 2))


def test_an_empty_prompt_says_what_can_be_done_and_a_suggestion_stands_behind_the_text():
    assert text_of(render(Editor(), 40, PromptStyle(placeholder="Ask anything"))[0][0]) == "❯ Ask anything"
    assert text_of(render(_editor("fix "), 40, PromptStyle(ghost="the tests"))[0][0]) == "❯ fix the tests"
    assert text_of(render(_editor("fix ", 0), 40, PromptStyle(ghost="the tests"))[0][0]) == "❯ fix "


def test_a_long_prompt_shows_the_part_around_the_cursor():
    editor = _editor("\n".join(map(str, range(100))), 0)
    rows, cursor = render(editor, 20, PromptStyle(most_rows=5))
    assert [text_of(row).strip() for row in rows] == ["❯ 0", "1", "2", "3", "4"]
    assert cursor == (0, 2)
    editor.move(len(editor.text))
    rows, cursor = render(editor, 20, PromptStyle(most_rows=5))
    assert [text_of(row).strip() for row in rows] == ["95", "96", "97", "98", "99"]
    assert cursor == (4, 4)


_TEXT = st.text(alphabet=st.sampled_from("ab \n日👍\u200de\u0301"), max_size=40)
_NAMES = st.sampled_from([
    "left", "right", "up", "down", "home", "end", "backspace", "delete", "ctrl+k", "ctrl+u", "ctrl+w",
    "ctrl+y", "alt+y", "alt+b", "alt+f", "ctrl+_", "alt+_", "x", " ", "日", "ctrl+j", "alt+d",
])  # fmt: skip


@settings(max_examples=200)
@given(_TEXT, st.lists(_NAMES, max_size=25), st.integers(1, 12))
def test_whatever_is_pressed_the_cursor_stands_between_characters_and_in_the_window(
    text: str, names: list[str], columns: int
):
    editor = _editor(text)
    for name in names:
        _press(editor, name)
        rows, (row, column) = render(editor, columns, PromptStyle(most_rows=4))
        assert all(line_width(each) <= columns for each in rows)
        assert 0 <= row < len(rows) and 0 <= column <= columns
        start = editor.text.rfind("\n", 0, editor.cursor) + 1
        line = editor.text[start:].partition("\n")[0]
        stops = {0}
        for cluster in graphemes(line):
            stops.add(max(stops) + len(cluster))
        assert editor.cursor - start in stops


def test_a_key_is_drawn_with_little_work():
    editor = _editor("some words in a prompt " * 20)

    def press() -> None:
        editor.press(Key("x", text="x"))
        render(editor, 100, PromptStyle())

    press()
    assert steps_of(press) < 20_000
