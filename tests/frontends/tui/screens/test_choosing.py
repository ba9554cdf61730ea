from typing import Any

import pytest

from bridle.frontends.tui.screens.actions import CopyText, SaveText
from bridle.frontends.tui.screens.choices.model import CheckModel, ChooseModel, ModelView
from bridle.frontends.tui.screens.choices.output_style import ChooseStyle, StyleRow, styles_view
from bridle.frontends.tui.screens.choices.theme import ChooseTheme, ThemeView
from bridle.frontends.tui.screens.conversation.export import copy_view, export_view
from bridle.types.command import Says
from tests.frontends.tui.screens.offered import offered
from tests.frontends.tui.screens.showing import Showing, assert_screens

_MODELS = (
    offered(
        "large",
        "m-large-4-5",
        window=1_000_000,
        input_price=5.0,
        output_price=25.0,
        efforts=("low", "medium", "high"),
    ),
    offered("m-small", input_price=0.8, output_price=4.0),
    offered("offline", vendor="bridle", input_price=0.0, output_price=0.0),
)
_REPLY = "Here it is:\n\n```python\nprint(1)\n```\n\nand\n\n~~~\nplain\ntext\n~~~\n"


def _models(effort: str | None = None) -> Showing:
    return Showing(ModelView(_MODELS, current="m-small", effort=effort))


def test_screens():
    assert_screens("model", ModelView(_MODELS, current="large", effort="medium"))
    assert_screens("theme", ThemeView("dark", preview=lambda _: None))
    assert_screens("copy", copy_view([_REPLY, "older"]))
    assert_screens("export", export_view("a\nb", file="conversation.txt"))
    assert_screens("styles", styles_view(_STYLES, current="terse"))


def test_the_model_in_use_is_selected_and_enter_saves_another():
    shown = _models()
    assert shown.selected.startswith("✓ m-small")
    assert shown.press("up", "enter").value == ChooseModel(id="large")


def test_left_and_right_change_the_effort_where_the_model_knows_it():
    assert _models().press("up", "right", "right", "enter").value == ChooseModel(id="large", effort="medium")
    assert _models("high").press("up", "left", "enter").value == ChooseModel(id="large", effort="medium")
    assert _models("low").press("up", "left", "left", "enter").value == ChooseModel(id="large")
    assert _models("high").press("right", "enter").value == ChooseModel(id="m-small")


def test_s_takes_a_model_for_this_session_only():
    assert _models().press("s").value == ChooseModel(id="m-small", session_only=True)


def test_t_sends_a_test_call_and_shows_what_came_of_it():
    asked: list[Any] = []
    view = ModelView(_MODELS, current="m-small", do=asked.append)
    shown = Showing(view).press("t")
    assert asked == [CheckModel("m-small")] and "Testing…" in shown.text
    view.tell(Says("m-small answered in 0.4 s, it called the tool, $0.000012"))
    assert "answered in 0.4 s" in shown.text
    assert "answered" not in shown.press("up").text
    view.tell(Says("no key", is_error=True))
    assert "no key" in shown.press("down").text


def test_models_can_be_searched_by_their_ids():
    shown = _models().press("/").type("offl")
    assert shown.selected.startswith("offline")
    assert shown.press("enter").value == ChooseModel(id="offline")


def test_escape_chooses_no_model():
    assert _models().press("escape").value is None


def test_the_theme_changes_while_moving_and_back_when_cancelled():
    seen: list[str] = []
    shown = Showing(ThemeView("dark", preview=seen.append)).press("down", "down")
    assert seen == ["light", "dark-daltonized"]
    shown.press("escape")
    assert seen[-1] == "dark"
    assert shown.value is None


def test_a_theme_is_taken_with_or_without_colors_for_code():
    assert Showing(ThemeView("auto", preview=lambda _: None)).press("down", "enter").value == ChooseTheme(
        "dark"
    )
    view = ThemeView("mine", preview=lambda _: None, custom=("mine",))
    assert Showing(view).press("ctrl+t", "enter").value == ChooseTheme("mine", syntax=False)


_STYLES = (
    StyleRow(name="default", description="as usual", source="built in"),
    StyleRow(name="terse", description="few words", source="yours", text="Be brief."),
)


def test_an_output_style_is_chosen():
    shown = Showing(styles_view(_STYLES, current="terse"))
    assert shown.selected.startswith("✓ terse")
    assert shown.press("up", "enter").value == ChooseStyle("default")


@pytest.mark.parametrize(
    ("keys", "text"),
    [([], _REPLY), (["down"], "print(1)\n"), (["down", "down"], "plain\ntext\n"), (["end"], "older")],
)
def test_a_reply_or_a_piece_of_code_is_copied(keys: list[str], text: str):
    assert Showing(copy_view([_REPLY, "older"])).press(*keys, "enter").value == CopyText(text)


def test_w_writes_what_is_selected_to_a_file():
    shown = Showing(copy_view([_REPLY])).press("down", "w", "ctrl+u").type("x.py").press("enter")
    assert shown.value == SaveText("print(1)\n", "x.py")


def test_nothing_to_copy_is_said():
    shown = Showing(copy_view([])).press("enter", "w")
    assert "nothing to copy" in shown.text


def test_the_conversation_goes_to_the_clipboard_or_a_named_file():
    assert Showing(export_view("all", file="a.txt")).press("enter").value == CopyText("all")
    shown = Showing(export_view("all", file="a.txt")).press("down", "enter")
    assert shown.press("enter").value == SaveText("all", "a.txt")


def test_a_file_needs_a_name():
    shown = Showing(export_view("all", file="a.txt")).press("down", "enter", "ctrl+u", "enter")
    assert "type a file name" in shown.text
    shown.view.paste("b\n.txt")
    assert shown.press("enter").value == SaveText("all", "b .txt")


def test_every_chooser_closes_on_ctrl_c():
    views: list[Any] = [
        ModelView(_MODELS, current=""),
        ThemeView("x", preview=lambda _: None),
        copy_view(["a"]),
        export_view("", file="f"),
        styles_view((), current=""),
    ]
    for view in views:
        assert Showing(view).press("ctrl+c").value is None
