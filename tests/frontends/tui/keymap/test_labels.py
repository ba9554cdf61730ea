"""Hints name the keys that the user has, and those keys do what the hint says."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from bridle.frontends.tui.dialogs import consent
from bridle.frontends.tui.dialogs.confirm import Confirm
from bridle.frontends.tui.dialogs.plan import PlanDialog
from bridle.frontends.tui.keymap.keymap import USUAL, Keymap
from bridle.frontends.tui.keymap.labels import CLOSE, BoundKey
from bridle.frontends.tui.keymap.user_file import load_keymap
from bridle.frontends.tui.screens.choices.model import ModelView
from bridle.frontends.tui.screens.choices.theme import ThemeView
from bridle.frontends.tui.screens.conversation.rewind import RewindPoint, RewindView
from bridle.frontends.tui.screens.conversation.transcript import TranscriptView
from bridle.frontends.tui.screens.conversation.transcript_items import passages_of
from bridle.frontends.tui.screens.session.doctor import doctor_view
from bridle.frontends.tui.style.text import line
from bridle.frontends.tui.widgets.list_pane import ListPane
from bridle.frontends.tui.widgets.pane import TextPane
from bridle.frontends.tui.widgets.picker import Item
from bridle.frontends.tui.widgets.tabs import TabbedView
from bridle.types.question import PermissionQuestion, Refused
from tests.fakes.messages_server import step
from tests.frontends.tui.app.dialogs import RULE, bash
from tests.frontends.tui.app.session import bridle
from tests.frontends.tui.screens.offered import offered
from tests.frontends.tui.screens.showing import Showing

_MOVED: Mapping[str, Mapping[str, str | None]] = {
    "Transcript": {"ctrl+e": None, "alt+e": "transcript:toggleShowAll", "alt+x": "transcript:exit"},
    "ThemePicker": {"ctrl+t": None, "alt+c": "theme:toggleSyntaxHighlighting"},
    "ModelPicker": {"s": None, "alt+s": "modelPicker:thisSessionOnly", "f5": "modelPicker:increaseEffort"},
    "Select": {"escape": None, "alt+q": "select:cancel", "enter": None, "alt+a": "select:accept"},
    "MessageSelector": {"alt+g": "messageSelector:select"},
    "Tabs": {"tab": None, "right": None, "f4": "tabs:next"},
    "Confirmation": {
        "escape": None,
        "alt+n": "confirm:no",
        "ctrl+e": None,
        "alt+w": "confirm:toggleExplanation",
        "ctrl+g": None,
        "alt+v": "chat:externalEditor",
    },
    "Chat": {"escape": None, "f8": "chat:cancel"},
}


def test_the_transcript_names_and_obeys_the_users_keys(tmp_path: Path):
    shown = Showing(TranscriptView(passages_of([])), keymap=_keys(tmp_path))
    assert "alt+e show all" in shown.text and "alt+x close" in shown.text
    assert "alt+e fold" in shown.press("alt+e").text
    assert "alt+e fold" in shown.press("ctrl+e").text
    assert shown.press("alt+x").closed is not None


def test_the_themes_name_and_obey_the_users_keys(tmp_path: Path):
    shown = Showing(ThemeView("dark", preview=lambda _: None), keymap=_keys(tmp_path))
    assert "alt+a use · alt+c code colors off · alt+q cancel" in shown.text
    assert "code colors on" in shown.press("ctrl+t", "alt+c").text
    assert shown.press("alt+q").closed is not None


def test_the_models_name_and_obey_the_users_keys(tmp_path: Path):
    row = offered("a", efforts=("low", "high"))
    shown = Showing(ModelView([row], current="a"), 120, keymap=_keys(tmp_path))
    assert "alt+a use and save · / search · ← f5 effort · alt+s this session only" in shown.text
    closed = shown.press("f5", "s", "alt+s").closed
    assert closed is not None
    assert (closed.value.effort, closed.value.session_only) == ("low", True)


def test_tabs_and_lists_name_and_obey_the_users_keys(tmp_path: Path):
    items = [Item(value="a", label="a")]
    panes = [("one", ListPane(items, details=lambda _, __: [line("about a")])), ("two", ListPane(items))]
    shown = Showing(TabbedView("Things", panes), keymap=_keys(tmp_path))
    assert "alt+a details · f4 next tab · alt+q close" in shown.text
    assert "about a" in shown.press("alt+a").text
    assert "f4 next tab" in shown.press("escape", "f4").text
    assert shown.press("alt+q").closed is not None


def test_going_back_names_the_users_keys(tmp_path: Path):
    view = RewindView([RewindPoint(uuid="u", text="hello")], now=0.0, changes={"u": None})
    shown = Showing(view, keymap=_keys(tmp_path))
    assert "alt+g rewind to this prompt · / search · esc close" in shown.text
    assert "alt+a do it · alt+q back" in shown.press("alt+g").text


def test_a_permission_question_names_and_obeys_the_users_keys(tmp_path: Path):
    dialog = bash("npm test", suggestions=(RULE,))
    dialog.panel.arm()
    shown = Showing(dialog, keymap=_keys(tmp_path))
    assert "enter to choose · alt+n for no · alt+w why" in shown.text
    assert "alt+w less" in shown.press("alt+w").text
    closed = shown.press("alt+n").closed
    assert closed is not None and isinstance(closed.value, Refused)


def test_in_a_field_of_a_question_keys_have_their_first_meaning(tmp_path: Path):
    dialog = bash("npm test", suggestions=(RULE,))
    dialog.panel.arm()
    shown = Showing(dialog, keymap=_keys(tmp_path)).press("down", "down")
    assert "tab: change location" in shown.text
    assert "enter to choose · esc for no · ctrl+e why" in shown.text
    assert "ctrl+e less" in shown.press("ctrl+e").text


def test_a_plan_names_and_obeys_the_users_keys(tmp_path: Path):
    question = PermissionQuestion(call_id="p", tool="ExitPlanMode", input={"plan": "# Plan"}, reason="plan")
    dialog = PlanDialog(question, may_bypass=False, offers_new=True)
    dialog.panel.arm()
    shown = Showing(dialog, keymap=_keys(tmp_path))
    assert "alt+n to keep planning · alt+v to edit the plan" in shown.text
    closed = shown.press("ctrl+g", "alt+v").closed
    assert closed is not None and closed.value.edits


@pytest.mark.parametrize("make", [consent.bypass_warning, lambda: consent.cost_reached(5.0)])
def test_every_consent_names_and_obeys_the_users_keys(tmp_path: Path, make: Callable[[], Confirm]):
    dialog = make()
    dialog.panel.arm()
    shown = Showing(dialog, keymap=_keys(tmp_path))
    assert "alt+n to " in shown.text and "esc" not in shown.text
    assert shown.press("alt+n").closed is not None


def test_a_key_that_is_bound_further_inside_is_not_named_for_what_it_hides():
    keymap = Keymap({"Tabs": {("tab",): "tabs:next"}, "Select": {("tab",): "select:accept"}})
    assert BoundKey(("tabs:next",)).name(keymap, ("Select", "Tabs")) == ""


def test_an_action_without_a_key_has_no_hint(tmp_path: Path):
    bindings = {"ThemePicker": {"ctrl+t": None}}
    shown = Showing(ThemeView("dark", preview=lambda _: None), keymap=_keys(tmp_path, bindings))
    assert "code colors" not in shown.text


def test_keys_of_the_user_are_named_before_those_that_do_the_same(tmp_path: Path):
    keymap = _keys(tmp_path, {"Select": {"f9": "select:cancel"}})
    assert CLOSE.name(keymap, ("Select",)) == "f9"
    assert CLOSE.name(USUAL, ("Select",)) == "esc"


def test_where_rows_are_only_read_the_fixed_key_is_named(tmp_path: Path):
    shown = Showing(TabbedView("Text", [("", TextPane(lambda _: [line("one")]))]), keymap=_keys(tmp_path))
    assert "esc close" in shown.text


def test_commands_of_a_list_name_the_users_keys(tmp_path: Path):
    keymap = _keys(tmp_path, {"Settings": {"r": None, "f5": "settings:retry"}})
    assert "f5 check again" in Showing(doctor_view(()), keymap=keymap).text


async def test_the_running_program_names_the_keys_of_the_file(tmp_path: Path):
    config = tmp_path / "home" / ".claude"
    config.mkdir(parents=True)
    _write(config / "keybindings.json", _MOVED)
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "rm -rf build"}}
    async with bridle(tmp_path, [step(call), step("Refused.")]) as terminal:
        await terminal.ready()
        terminal.type("\x1b[19~")
        await terminal.until_text("f8 again to go back")
        await terminal.say("clean up")
        await terminal.until_text("alt+n for no · alt+w why")
        terminal.type("\x1bw")
        await terminal.until_text("alt+w less")
        terminal.type("\x1bn")
        await terminal.ready()
        terminal.type("\x0f")
        await terminal.until_text("alt+e fold")
        terminal.type("\x1be")
        await terminal.until_text("alt+e show all")
        terminal.type("q")
        await terminal.ready()
        await terminal.say("/theme")
        await terminal.until_text("alt+c code colors off · alt+q cancel")


def _keys(folder: Path, bindings: Mapping[str, Mapping[str, str | None]] = _MOVED) -> Keymap:
    path = folder / "keybindings.json"
    _write(path, bindings)
    keymap, problems = load_keymap(str(path))
    assert not problems
    return keymap


def _write(path: Path, bindings: Mapping[str, Mapping[str, str | None]]) -> None:
    blocks = [{"context": context, "bindings": table} for context, table in bindings.items()]
    path.write_text(json.dumps({"bindings": blocks}), encoding="utf-8")
