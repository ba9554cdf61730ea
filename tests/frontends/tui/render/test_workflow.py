"""Calls of the Workflow tool, and the question whether one may run."""

from pathlib import Path
from typing import Any

from bridle.frontends.tui.dialogs.call_preview import read_subject
from bridle.frontends.tui.dialogs.permission import EditOutside, PermissionDialog
from bridle.frontends.tui.render.call import Call
from bridle.frontends.tui.render.call_groups import render_call
from bridle.frontends.tui.screen.view import Closed
from bridle.frontends.tui.style.text import text_of
from bridle.types.question import PermissionQuestion, Permitted
from tests.frontends.tui.render.strategies import assert_sound
from tests.frontends.tui.screens.showing import Showing

SCRIPT = """export const meta = {
  name: 'review-all',
  description: 'Reviews every module',
  phases: [{title: 'Read', detail: 'one agent each'}, {title: 'Judge', model: 'opus'}],
}
return await agent('Read it.')
"""
_RULE: dict[str, Any] = {
    "type": "addRules",
    "rules": [{"toolName": "Workflow", "ruleContent": "review-all"}],
    "behavior": "allow",
    "destination": "localSettings",
}


def _shown(call: Call, width: int = 80, *, expanded: bool = False) -> str:
    lines = render_call(call, width, expanded=expanded)
    assert_sound(lines, width)
    return "\n".join(map(text_of, lines))


def _dialog(input: dict[str, Any], *, script: str | None = None, cwd: str = "/p") -> PermissionDialog:
    question = PermissionQuestion(
        call_id="c", tool="Workflow", input=input, reason="no rule covers it", suggestions=(_RULE,)
    )
    dialog = PermissionDialog(read_subject(question, cwd, script=script))
    dialog.panel.arm()
    return dialog


def test_a_call_says_which_workflow_it_is():
    for input, said in (
        ({"script": SCRIPT}, "○ Workflow review-all: Reviews every module"),
        ({"script": "no meta"}, "○ Workflow"),
        ({"name": "audit"}, "○ Workflow audit"),
        ({"scriptPath": "/p/x.js"}, "○ Workflow x.js"),
        ({"resumeFromRunId": "wf_1"}, "○ Workflow rerun wf_1"),
    ):
        assert _shown(Call(tool="Workflow", input=input, state="waiting", cwd="/p")) == said


def test_a_run_that_has_begun_tells_where_it_is_watched():
    data = {"status": "async_launched", "runId": "wf_1", "scriptPath": "/p/script.js"}
    call = Call(tool="Workflow", input={"script": SCRIPT}, state="done", data=data, cwd="/p")
    assert "runs in the background as wf_1; /workflows shows its progress" in _shown(call)
    assert "agent('Read it.')" not in _shown(call)
    whole = _shown(call, expanded=True)
    assert "return await agent('Read it.')" in whole and "script: script.js" in whole


def test_the_question_tells_name_description_phases_and_where_the_script_is():
    text = Showing(_dialog({"script": SCRIPT, "args": {"depth": 2}})).text
    for said in (
        "Run a workflow?",
        "review-all",
        "Reviews every module",
        "1. Read · one agent each",
        "2. Judge · opus",
        'args: {"depth":2}',
        "script: part of the call, 6 lines",
        "Yes, and always allow: Workflow(review-all)",
    ):
        assert said in text
    assert "no rule covers it" not in text


def test_the_whole_script_is_read_and_closed_again_before_the_answer():
    shown = Showing(_dialog({"script": SCRIPT})).press("4")
    assert "6 return await agent('Read it.')" in shown.text
    assert "1. Read · one agent each" not in shown.text
    assert "1. Read · one agent each" in shown.press("4").text
    assert shown.press("1").closed == Closed(Permitted())


def test_nothing_invisible_hides_in_a_script():
    script = SCRIPT.replace("Reviews", "Rev\x1b[2Jiews") + "// \u202efdp.exe\x1b[8m\n"
    shown = Showing(_dialog({"script": script}))
    for text in (shown.text, shown.press("4").text):
        assert "\x1b" not in text and "\u202e" not in text
    assert "fdp.exe" in shown.text and "\n7 // fdp" not in shown.text


def test_a_script_in_a_file_is_shown_with_its_place(tmp_path: Path):
    file = tmp_path / "audit.js"
    file.write_text(SCRIPT)
    shown = Showing(_dialog({"name": "audit"}, script=str(file), cwd=str(tmp_path)))
    assert "Reviews every module" in shown.text and "script: audit.js, 6 lines" in shown.text
    assert "6 return await agent('Read it.')" in shown.press("4").text
    gone = Showing(_dialog({"scriptPath": "gone.js"}, script=str(tmp_path / "gone.js"), cwd=str(tmp_path)))
    assert "gone.js" in gone.text and "not readable" in gone.text
    assert "Show the full script" not in gone.text


def test_a_script_that_says_nothing_of_itself_is_marked():
    assert "It has no description" in Showing(_dialog({"script": "agent('x')"})).text


def test_a_script_may_be_changed_first_and_a_yes_be_kept():
    assert Showing(_dialog({"script": SCRIPT})).press("5").closed == Closed(EditOutside())
    assert "Edit in $EDITOR…" in Showing(_dialog({"script": SCRIPT})).text
    kept = Showing(_dialog({"name": "review-all"})).press("down", "down", "enter").value
    assert kept.updates[0]["rules"] == [{"toolName": "Workflow", "ruleContent": "review-all"}]
