from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bridle.frontends.tui.style.text import text_of
from bridle.frontends.tui.widgets.list_pane import Command, ListPane
from bridle.frontends.tui.widgets.picker import Item, Picker
from bridle.frontends.tui.widgets.tabs import TabbedView
from bridle.frontends.tui.widgets.text_field import Signal
from tests.fakes.counting import steps_of
from tests.frontends.tui.render.strategies import assert_sound, nasty_text
from tests.frontends.tui.screens.showing import Showing, key_named

_FRUIT = ("apple", "apricot", "banana", "cherry", "fig", "grape")


def _picker(typing: bool = False, multiple: bool = False) -> Picker[str]:
    return Picker([Item(value=each, label=each) for each in _FRUIT], typing=typing, multiple=multiple)


def _press(picker: Picker[str], *names: str) -> Signal:
    signal = Signal.IGNORED
    for name in names:
        signal = picker.press(key_named(name))
    return signal


def _texts(picker: Picker[Any], width: int = 40, height: int = 10) -> list[str]:
    return [text_of(row) for row in picker.rows(width, height)[0]]


def test_arrows_move_and_go_round_at_the_ends():
    picker = _picker()
    _press(picker, "up")
    assert picker.current == "grape"
    _press(picker, "down", "down")
    assert picker.current == "apricot"


def test_the_window_follows_the_selection_and_moves_no_more_than_it_must():
    picker = _picker()
    assert _texts(picker, height=3) == ["› apple", "  apricot", "  banana"]
    _press(picker, "down")
    assert _texts(picker, height=3) == ["  apple", "› apricot", "  banana"]
    _press(picker, "down", "down")
    assert _texts(picker, height=3) == ["  apricot", "  banana", "› cherry"]
    _press(picker, "up")
    assert _texts(picker, height=3) == ["  apricot", "› banana", "  cherry"]


def test_letters_filter_in_a_list_for_typing_and_the_best_match_is_selected():
    picker = _picker(typing=True)
    _press(picker, *"ap")
    assert [each.label for each in picker.shown] == ["apple", "apricot", "grape"]
    assert _press(picker, "enter") is Signal.ACCEPTED
    assert picker.current == "apple"


def test_letters_are_free_until_a_slash_begins_the_filter():
    picker = _picker()
    assert _press(picker, "a") is Signal.IGNORED
    _press(picker, "/", *"ban")
    assert [each.label for each in picker.shown] == ["banana"]


def test_escape_empties_the_filter_first_and_keeps_the_selection():
    picker = _picker(typing=True)
    _press(picker, *"cherry")
    assert _press(picker, "escape") is Signal.USED
    assert (picker.query, picker.current) == ("", "cherry")
    assert _press(picker, "escape") is Signal.CANCELLED


def test_every_word_of_the_filter_must_be_found_somewhere():
    picker = Picker(
        [
            Item(value=1, label="fix the parser", facts=("main",)),
            Item(value=2, label="fix the tests", facts=("parser-rewrite",)),
            Item(value=3, label="write docs", facts=("main",), words="parser"),
        ],
        typing=True,
    )
    for letter in "fix parser":
        picker.press(key_named("space" if letter == " " else letter))
    assert [each.value for each in picker.shown] == [1, 2]


def test_letters_that_are_scattered_over_a_long_label_do_not_match():
    picker = Picker([Item(value=0, label="rewrite everything about the terminal")], typing=True)
    for letter in "rbt":
        picker.press(key_named(letter))
    assert picker.shown == []


def test_several_can_be_marked_and_are_given_in_the_order_of_the_list():
    picker = _picker(multiple=True)
    _press(picker, "down", "space", "up", "up", "space")
    assert picker.marked == ["apple", "apricot"]
    assert _texts(picker)[:2] == ["  [x] apple", "› [x] apricot"]


def test_without_marks_the_selected_one_is_meant():
    picker = _picker(multiple=True)
    assert picker.marked == ["apple"]


def test_groups_have_headings_and_the_first_heading_stays_visible():
    items = [Item(value=each, label=each, group=each[0].upper()) for each in _FRUIT]
    picker = Picker(items)
    assert _texts(picker, height=4) == ["A", "› apple", "  apricot", "B"]
    _press(picker, "end")
    assert _texts(picker, height=4) == ["F", "  fig", "G", "› grape"]
    _press(picker, "home")
    assert _texts(picker, height=4) == ["A", "› apple", "  apricot", "B"]


def test_facts_that_find_no_room_are_left_out_from_the_end():
    picker = Picker([Item(value=0, label="a long enough label", facts=("5 min ago", "main", "elsewhere"))])
    assert _texts(picker, width=60) == ["› a long enough label  5 min ago  main  elsewhere"]
    assert _texts(picker, width=40) == ["› a long enough label  5 min ago  main"]
    assert _texts(picker, width=20) == ["› a long enough lab…"]


def test_new_items_keep_the_selection_on_the_same_thing():
    picker = _picker()
    _press(picker, "down", "down")
    picker.replace([Item(value=each, label=each) for each in ("new", *_FRUIT)])
    assert picker.current == "banana"


def test_an_empty_list_and_an_empty_result_say_so():
    assert [text_of(row) for row in Picker[str]([], empty="none yet").rows(40, 5)[0]] == ["none yet"]
    picker = _picker(typing=True)
    _press(picker, *"zzz")
    assert _texts(picker)[-1] == "nothing matches"
    assert _press(picker, "enter") is Signal.USED


def test_pasted_text_goes_into_the_filter_on_one_line():
    picker = _picker(typing=True)
    picker.paste("ban\nana\x1b[2J")
    assert picker.query == "ban ana"


def test_items_are_filtered_with_the_same_work_for_each():
    def work(count: int) -> int:
        items = [Item(value=n, label=f"session {n % 10} about topic {n % 97}") for n in range(count)]
        picker = Picker(items, typing=True)
        return steps_of(lambda: _press_all(picker, "topic42"))

    few, many = work(485), work(1_940)
    assert many <= few * 4.3


def _press_all(picker: Picker[int], text: str) -> None:
    for letter in text:
        picker.press(key_named(letter))


@given(
    st.lists(st.tuples(nasty_text, nasty_text, nasty_text), max_size=6),
    st.integers(1, 100),
    st.integers(1, 12),
    st.booleans(),
)
def test_any_text_fits_any_window(rows: list[tuple[str, str, str]], width: int, height: int, typing: bool):
    items = [
        Item(value=at, label=label, facts=(fact,), detail=detail, group=label[:3])
        for at, (label, fact, detail) in enumerate(rows)
    ]
    picker = Picker(items, typing=typing, multiple=typing)
    lines, _ = picker.rows(width, height)
    assert_sound(lines, width)
    assert len(lines) <= height


def test_while_the_filter_is_typed_keys_that_go_into_it_are_not_offered():
    asked: list[str] = []
    commands = (
        Command(key="t", words="sort", act=lambda _, __: None),
        Command(key="space", words="mark", act=lambda _, __: None),
        Command(key="backspace", words="reset", act=lambda _, __: asked.append("reset")),
        Command(key="ctrl+r", words="rename", act=lambda _, __: None),
    )
    shown = Showing(TabbedView("Things", [("", ListPane([Item(value=1, label="one")], commands=commands))]))
    assert "t sort · space mark · backspace reset · ctrl+r rename" in shown.text
    assert "ctrl+r rename" in shown.press("/", "o").text
    assert not any(word in shown.text for word in ("sort", "mark", "reset"))
    assert "/ n" in shown.press("backspace", "n").text and asked == []
