from typing import Any

from bridle.frontends.tui.screens.actions import OpenText
from bridle.frontends.tui.screens.conversation.transcript import ToScrollback, TranscriptView
from bridle.frontends.tui.screens.conversation.transcript_items import passages_of
from bridle.frontends.tui.style.text import text_of
from tests.fakes.counting import steps_of
from tests.frontends.tui.screens.showing import Showing, assert_screens


def _turn(number: int) -> list[dict[str, Any]]:
    return [
        {"role": "user", "content": f"question {number}"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "let me see", "signature": "x"},
                {"type": "text", "text": f"answer {number}"},
                {
                    "type": "tool_use",
                    "id": f"c{number}",
                    "name": "Bash",
                    "input": {"command": f"echo {number}"},
                },
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": f"c{number}",
                    "content": "\n".join(f"line {each} of {number}" for each in range(40)),
                },
                {"type": "text", "text": "<system-reminder>not for people</system-reminder>"},
            ],
        },
    ]


def _conversation(turns: int) -> list[dict[str, Any]]:
    return [message for number in range(turns) for message in _turn(number)]


def _view(turns: int = 12, **options: Any) -> TranscriptView:
    return TranscriptView(passages_of(_conversation(turns)), **options)


def test_screens():
    assert_screens("transcript", _view())


def test_it_begins_at_the_end_and_reminders_are_not_shown():
    shown = Showing(_view())
    assert "question 11" in shown.text
    assert "not for people" not in shown.press("g").text
    assert "question 0" in shown.text


def test_scrolling_goes_by_rows_and_pages_and_back_to_the_end():
    shown = Showing(_view())
    end = shown.text
    assert shown.press("k", "k").text != end
    shown.press("pageup", "pageup")
    assert "question 11" not in shown.text
    assert shown.press("G").text == end


def test_a_long_way_up_and_down_meets_every_row_once():
    shown = Showing(_view(3), height=10)
    shown.press("g")
    rows = [text_of(row) for row in shown.frame().lines[:8]]
    for _ in range(200):
        before = shown.text
        shown.press("j")
        if shown.text == before:
            break
        rows.append(text_of(shown.frame().lines[7]))
    everything = shown.press("[").value
    assert isinstance(everything, ToScrollback)
    assert rows == [text_of(line) for line in everything.lines]


def test_search_jumps_while_typing_and_n_goes_on_round():
    shown = Showing(_view()).press("/").type("question 3")
    assert "1 of 1" in shown.text
    shown.press("enter")
    assert "question 3" in shown.text
    shown.press("/").type("answer").press("enter")
    assert "of 12" in shown.text
    first = shown.text
    assert shown.press("n").text != first
    assert shown.press("N").text == first


def test_the_hit_is_marked_and_the_current_one_stronger():
    shown = Showing(_view(2)).press("g", "/").type("answer").press("enter")
    cells = [
        shown.emulator.color(row, column).bg
        for row, text in enumerate(shown.emulator.rows)
        if (column := text.find("answer")) >= 0 and row < 22
    ]
    assert cells[:1] == ["a87b1a"]
    assert set(cells[1:]) <= {"5a4a14"}


def test_escape_drops_the_search_and_returns_to_where_it_began():
    shown = Showing(_view()).press("g")
    before = shown.text
    assert shown.press("/").type("question 9").text != before
    assert shown.press("escape").text == before


def test_what_is_not_there_is_said():
    assert "not found" in Showing(_view()).press("/").type("xyzzy").text


def test_braces_go_from_prompt_to_prompt():
    shown = Showing(_view()).press("g", "}")
    assert shown.text.split("\n")[0] == "❯ question 1"
    assert shown.press("}").text.split("\n")[0] == "❯ question 2"
    assert shown.press("j", "{").text.split("\n")[0] == "❯ question 2"
    assert shown.press("{").text.split("\n")[0] == "❯ question 1"


def test_show_all_unfolds_what_was_folded():
    shown = Showing(_view(1), height=80)
    assert "line 20 of 0" not in shown.text
    assert "line 20 of 0" in shown.press("ctrl+e").text
    assert "let me see" in shown.text
    assert "line 20 of 0" not in shown.press("ctrl+e").text


def test_the_editor_gets_everything_as_text():
    asked: list[Any] = []
    Showing(_view(2, do=asked.append)).press("v")
    [opened] = asked
    assert isinstance(opened, OpenText)
    assert "question 0" in opened.text
    assert "line 39 of 1" in opened.text


def test_without_anybody_to_tell_the_editor_closes_the_view():
    assert isinstance(Showing(_view(1)).press("v").value, OpenText)


def test_it_follows_the_end_until_somebody_scrolls_up():
    view = _view(3)
    shown = Showing(view)
    view.show(passages_of(_conversation(4)))
    assert "question 3" in shown.text
    shown.press("pageup")
    before = shown.text
    view.show(passages_of(_conversation(9)))
    assert shown.text.split("\n")[:20] == before.split("\n")[:20]


def test_q_escape_and_the_key_that_opened_it_close_it():
    for key in ("q", "escape", "ctrl+c", "ctrl+o"):
        assert Showing(_view(1)).press(key).value is None


def test_an_empty_conversation_is_no_trouble():
    shown = Showing(_view(0)).press("j", "G", "g", "n", "{", "}", "pageup", "/").type("x").press("enter")
    assert "no messages yet" in shown.text


def test_five_thousand_messages_open_at_once():
    def work(number: int) -> int:
        passages = passages_of(_conversation(number))
        assert f"question {number - 1}" in Showing(TranscriptView(passages)).text
        return steps_of(lambda: Showing(TranscriptView(passages)).text)

    # What is drawn is one screen, however much there is above it.
    few, many = work(100), work(1_700)
    assert many <= few * 17


def test_messages_of_strange_shapes_are_passed_over():
    strange: list[Any] = [
        {"role": "user", "content": None},
        {"role": "assistant", "content": [{"type": "new"}, 5, {"type": "tool_use", "id": 1}]},
        {"role": "user", "content": [{"type": "tool_result"}]},
        {"content": "who said this"},
    ]
    assert [passage.kind for passage in passages_of(strange)] == ["answer"]
