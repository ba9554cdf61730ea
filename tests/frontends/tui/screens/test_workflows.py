"""The browser of workflow runs: what it shows, what its keys ask for, and that it stays quick and sound."""

from typing import Any

import msgspec
import pytest

from bridle.frontends.tui.keymap.keymap import Keymap, default_keymap
from bridle.frontends.tui.screens.actions import EditFile, RunCommand
from bridle.frontends.tui.screens.commands import commands_for
from bridle.frontends.tui.screens.session.tasks import OpenAgent
from bridle.frontends.tui.screens.workflows.agent import read_story
from bridle.frontends.tui.screens.workflows.browser import BrowserData, Saved, WorkflowBrowser
from bridle.frontends.tui.screens.workflows.commands import (
    DirectAgent,
    LookAgain,
    PauseRun,
    ResumeRun,
    SaveRun,
    Scope,
    StopRun,
)
from bridle.types.command import Says
from bridle.types.services.workflows import AgentView, PhaseView, RunView
from tests.fakes.counting import steps_of
from tests.frontends.tui.screens.showing import Showing, assert_screens

_NOW = 1_000.0
_AGENTS = (
    AgentView(
        number=1,
        label="read the parser",
        phase="Read",
        state="done",
        model="claude-sonnet-5-5",
        agent_id="a1",
        tokens=8_100,
        tool_uses=4,
        seconds=32.0,
        preview="Two faults.",
    ),
    AgentView(
        number=2,
        label="read the lexer",
        phase="Read",
        state="running",
        model="claude-sonnet-5-5",
        agent_id="a2",
        tokens=950,
        tool_uses=1,
        seconds=12.0,
    ),
    AgentView(
        number=3,
        label="read the docs",
        phase="Read",
        state="failed",
        model="claude-haiku-5",
        agent_id="a3",
        seconds=2.5,
        preview="The service refused.",
    ),
    AgentView(number=4, label="judge", phase="Judge", state="waiting", model="claude-opus-5"),
)
_RUN = RunView(
    run_id="wf_0123456789ab",
    name="review-all",
    description="Reviews every module and sums up",
    state="running",
    script_path="/home/ada/script.js",
    phases=(
        PhaseView(title="Read", detail="one agent per module", running=1, done=1, failed=1),
        PhaseView(title="Judge", waiting=1),
        PhaseView(title="Sum up"),
    ),
    agents=_AGENTS,
    logs=("[Read]", "Found 3 modules"),
    tokens=9_050,
    started=_NOW - 75,
)
_OVER = msgspec.structs.replace(
    _RUN,
    run_id="wf_00000000000a",
    name="migrate",
    description="Moves every call to the new interface",
    state="stopped",
    started=_NOW - 600,
    ended=_NOW - 500,
    preview="It was stopped.",
    agents=tuple(
        msgspec.structs.replace(each, state="stopped") if each.state in ("running", "waiting") else each
        for each in _AGENTS
    ),
)
_SAVED = (Saved(name="audit", description="Looks for leaks", path="/p/audit.js", source="project"),)
_BOARD = BrowserData(runs=(_RUN, _OVER), saved=_SAVED)
_TALK = (
    {"role": "user", "content": "Read the parser and tell what is wrong."},
    {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "1", "name": "Read", "input": {"file_path": "parser.py"}},
            {"type": "tool_use", "id": "2", "name": "Bash", "input": {"command": "make test"}},
        ],
    },
    {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "1", "content": "…", "is_error": True}],
    },
)


def _none(_: str, __: Scope) -> str:
    return ""


def _browser(board: BrowserData = _BOARD, asked: list[Any] | None = None, **options: Any) -> WorkflowBrowser:
    more: dict[str, Any] = {"taken": _none, **options}
    return WorkflowBrowser(board, clock=lambda: _NOW, do=([] if asked is None else asked).append, **more)


def _shown(
    board: BrowserData = _BOARD,
    asked: list[Any] | None = None,
    size: tuple[int, int] = (110, 30),
    **options: Any,
) -> Showing:
    return Showing(_browser(board, asked, **options).sheet, *size)


def _many(number: int) -> BrowserData:
    agents = tuple(
        msgspec.structs.replace(_AGENTS[at % 4], number=at + 1, label=f"agent {at + 1}")
        for at in range(number)
    )
    return BrowserData(runs=(msgspec.structs.replace(_RUN, agents=agents),))


def test_screens():
    assert_screens("workflows", _browser().sheet)
    assert_screens("workflows-empty", _browser(BrowserData(saved=_SAVED)).sheet)
    assert_screens("workflows-run", _shown().press("enter").view)
    assert_screens("workflows-agents", _shown().press("enter", "right").view)
    browser = _browser()
    Showing(browser.sheet).press("enter", "right", "end", "enter")
    browser.sheet.show(msgspec.structs.replace(_BOARD, story=read_story("a1", _TALK)))
    assert_screens("workflows-agent", browser.sheet)
    assert_screens("workflows-stop", _shown().press("enter", "x").view)
    assert_screens("workflows-save", _shown().press("s", "enter").view)


def test_runs_come_with_their_state_agents_tokens_and_time():
    shown = _shown(size=(90, 30))
    assert shown.selected.startswith("◐ review-all running 1/4 9.1k tokens 1 min 15 s")
    assert shown.press("down").selected.startswith("■ migrate stopped 1/4 9.1k tokens 1 min 40 s")


def test_what_happens_meanwhile_is_shown_where_the_user_is():
    browser = _browser()
    shown = Showing(browser.sheet, 110, 30).press("enter", "right")
    assert "› ◐ read the lexer" in shown.text
    done = tuple(msgspec.structs.replace(each, state="done") for each in _AGENTS)
    browser.sheet.show(BrowserData(runs=(msgspec.structs.replace(_RUN, agents=done, state="completed"),)))
    assert "✓ completed" in shown.text
    assert "Running" not in shown.text
    assert browser.sheet.refresh == 1.0


def test_agents_at_work_stay_in_sight_until_one_is_chosen_which_then_stays_chosen():
    def board(done: int) -> BrowserData:
        agents = tuple(
            msgspec.structs.replace(
                _AGENTS[1], number=at, label=f"agent {at}", state="done" if at <= done else "running"
            )
            for at in range(1, 101)
        )
        return BrowserData(runs=(msgspec.structs.replace(_RUN, agents=agents),))

    browser = _browser(board(0))
    shown = Showing(browser.sheet, 110, 30).press("enter")
    browser.sheet.show(board(50))
    assert "› ◐ agent 51 " in shown.text
    shown.press("right")
    browser.sheet.show(board(60))
    assert "› ✓ agent 51 " in shown.text


def test_a_phase_shows_its_own_agents_alone():
    shown = _shown().press("enter")
    assert "judge" in shown.text and "read the lexer" in shown.text
    shown.press("down", "down")
    assert "judge" in shown.text and "read the lexer" not in shown.text


def test_a_narrow_window_shows_phases_then_agents():
    shown = _shown(size=(60, 24)).press("enter")
    assert "Judge" in shown.text and "read the lexer" not in shown.text
    shown.press("enter")
    assert "read the lexer" in shown.text and "Sum up" not in shown.text
    shown.press("escape")
    assert "Sum up" in shown.text
    shown.press("escape")
    assert "migrate" in shown.text
    assert shown.press("escape").value is None


def test_a_named_run_is_opened_at_once():
    shown = _shown(opened="wf_00000000000a")
    assert "■ stopped" in shown.text
    assert "→ It was stopped." in shown.text


def test_a_run_is_paused_resumed_and_stopped_after_a_yes():
    asked: list[Any] = []
    _shown(asked=asked).press("p", "r", "x", "n", "x", "y", "down", "p", "x", "r")
    assert asked == [PauseRun(_RUN.run_id), StopRun(_RUN.run_id), ResumeRun(_OVER.run_id)]


def test_the_same_keys_work_inside_a_run():
    asked: list[Any] = []
    _shown(asked=asked).press("enter", "p", "x", "y", "e")
    assert asked == [PauseRun(_RUN.run_id), StopRun(_RUN.run_id), EditFile("/home/ada/script.js")]


def test_an_agent_at_work_is_stopped_restarted_or_left_out():
    asked: list[Any] = []
    _shown(asked=asked).press("enter", "right", "x", "r", "n")
    assert asked == [DirectAgent(_RUN.run_id, 2, verdict) for verdict in ("stop", "restart", "skip")]


def test_an_agent_that_is_done_cannot_be_stopped():
    asked: list[Any] = []
    shown = _shown(asked=asked).press("enter", "right", "end", "x", "r", "n")
    assert asked == []
    assert "x stop" not in shown.text


def test_a_failed_agent_is_done_again_at_once_or_with_its_run_once_that_is_over():
    asked: list[Any] = []
    shown = _shown(asked=asked).press("enter", "right", "down")
    assert "read the docs" in shown.text and "run again" in shown.text
    shown.press("r")
    assert asked == [DirectAgent(_RUN.run_id, 3, "restart")]
    _shown(asked=asked, opened=_OVER.run_id).press("right", "r")
    assert asked[1:] == [ResumeRun(_OVER.run_id)]


def test_a_paused_run_goes_on_with_p_also_where_an_agent_is_selected():
    asked: list[Any] = []
    paused = BrowserData(runs=(msgspec.structs.replace(_RUN, state="paused"),))
    _shown(paused, asked).press("enter", "right", "p", "left", "r")
    assert asked == [ResumeRun(_RUN.run_id)] * 2


def test_saving_asks_for_a_name_and_a_place():
    asked: list[Any] = []
    shown = _shown(asked=asked).press("s")
    assert "❯ review-all" in shown.text
    shown.type("-2").press("enter", "down", "enter")
    assert asked == [SaveRun(_RUN.run_id, "review-all-2", "user", replace=False)]


def test_saving_over_a_file_asks_once_more():
    asked: list[Any] = []

    def taken(name: str, scope: Scope) -> str:
        return f"/p/{name}.js" if scope == "project" else ""

    shown = _shown(asked=asked, taken=taken).press("enter", "right", "s", "enter", "enter")
    assert "/p/review-all.js already exists. Replace it?" in shown.text
    assert "read the lexer" not in shown.text
    shown.press("n")
    assert asked == []
    shown.press("s", "enter", "enter", "y")
    assert asked == [SaveRun(_RUN.run_id, "review-all", "project", replace=True)]


@pytest.mark.parametrize("name", ["two words", "../x", "-x", ""])
def test_a_name_that_cannot_be_one_is_refused_at_once(name: str):
    asked: list[Any] = []
    shown = _shown(asked=asked).press("s", *["backspace"] * len("review-all")).type(name).press("enter")
    assert "use letters, digits" in shown.text
    assert asked == []


def test_what_was_done_and_what_went_wrong_is_said_until_the_next_key():
    browser = _browser()
    shown = Showing(browser.sheet, 110, 30)
    browser.tell(Says("Saved as /p/x.js."))
    assert "Saved as /p/x.js." in shown.text
    assert "Saved to" not in shown.press("down").text
    browser.tell(Says("It cannot be written.", is_error=True))
    assert "It cannot be written." in shown.text


def test_questions_that_wait_behind_the_view_are_told():
    browser = _browser()
    browser.sheet.show(msgspec.structs.replace(_BOARD, waiting=2))
    shown = Showing(browser.sheet, 110, 30).press("enter", "down")
    assert "2 questions wait for you: close this view" in shown.text
    browser.sheet.show(_BOARD)
    assert "wait for you" not in shown.text


def test_an_agent_tells_what_it_was_asked_and_what_it_called():
    asked: list[Any] = []
    browser = _browser(asked=asked)
    shown = Showing(browser.sheet, 110, 30).press("enter", "right")
    assert browser.agent_id is None
    shown.press("enter")
    assert (browser.agent_id, asked) == ("a2", [LookAgain()])
    browser.sheet.show(msgspec.structs.replace(_BOARD, story=read_story("a2", _TALK)))
    assert "Read the parser and tell what is wrong." in shown.text
    assert "✗ Read parser.py" in shown.text
    assert "◐ Bash make test" in shown.text
    shown.press("escape")
    assert browser.agent_id is None
    assert "Judge" in shown.text


def test_the_conversation_of_an_agent_is_opened():
    assert _shown().press("enter", "right", "t").value == OpenAgent("a2", "2. read the lexer")


def test_an_agent_that_has_not_begun_has_no_conversation():
    shown = _shown().press("enter", "down", "down", "right", "t")
    assert shown.closed is None
    assert "open its conversation" not in shown.text


def test_without_runs_it_says_how_to_begin_and_lists_what_is_saved():
    shown = _shown(BrowserData(saved=_SAVED))
    assert "No workflow has run in this session." in shown.text
    assert shown.selected.startswith("· /audit project")
    assert shown.press("enter").value == RunCommand("/audit")
    assert "add one in .claude/workflows" in _shown(BrowserData()).text


def test_the_script_of_a_saved_workflow_opens_in_the_editor():
    asked: list[Any] = []
    _shown(asked=asked).press("end", "e", "p", "x", "s")
    assert asked == [EditFile("/p/audit.js")]


def test_the_keys_of_the_user_lead_through_it_and_are_named():
    usual = default_keymap().bindings
    own = {("w",): "select:next", ("ctrl+o",): "select:accept", ("ctrl+q",): "select:cancel"}
    keymap = Keymap({**usual, "Select": own})
    shown = Showing(_browser().sheet, 110, 30, keymap=keymap)
    assert "ctrl+o open" in shown.text and "ctrl+q close" in shown.text
    shown.press("ctrl+o", "w", "ctrl+o")
    assert "ctrl+o details" in shown.text and "judge" not in shown.text
    shown.press("ctrl+q", "ctrl+q")
    assert "migrate" in shown.text
    assert shown.press("ctrl+q").value is None


def test_agents_are_found_by_typing():
    shown = _shown(_many(1_000)).press("enter", "right", "/").type("agent 777")
    assert "agent 777" in shown.text
    assert "agent 776" not in shown.text
    assert "agent 773" in shown.press("escape").text


def test_a_thousand_agents_cost_a_frame_little_more_than_fifty():
    def work(number: int) -> int:
        shown = _shown(_many(number), size=(120, 40)).press("enter", "right")
        shown.frame()
        return steps_of(shown.frame)

    assert work(1_000) < 3 * work(50)


def test_control_characters_in_labels_and_lines_never_reach_the_screen():
    nasty = "\x1b[2J\x1b]0;title\x07\rred\x9b31m\u202e" + "x" * 3_000
    agents = (msgspec.structs.replace(_AGENTS[1], label=nasty, preview=nasty, model=nasty, phase=nasty),)
    phases = (PhaseView(title=nasty, detail=nasty, running=1),)
    run = msgspec.structs.replace(
        _RUN, name=nasty, description=nasty, logs=(nasty,), preview=nasty, agents=agents, phases=phases
    )
    for size in ((110, 30), (60, 24)):
        shown = _shown(BrowserData(runs=(run,), saved=(Saved(name=nasty, path=nasty),)), size=size)
        for keys in (("enter",), ("down", "enter"), ("enter",)):
            lines = shown.press(*keys).frame().lines
            said = "".join(span.text for line in lines for span in line)
            assert not any(letter in said for letter in "\x1b\x07\r\x9b\u202e")
            assert "red" in shown.text


@pytest.mark.parametrize(
    ("wanted", "line"),
    [
        (PauseRun("wf_1"), "/workflows wf_1 pause"),
        (ResumeRun("wf_1"), "/workflows wf_1 resume"),
        (StopRun("wf_1"), "/workflows wf_1 stop"),
        (DirectAgent("wf_1", 3, "skip"), "/workflows wf_1 skip 3"),
        (SaveRun("wf_1", "x", "project", replace=False), "/workflows wf_1 save x"),
        (SaveRun("wf_1", "x", "user", replace=True), "/workflows wf_1 save x --user --force"),
    ],
)
def test_what_is_asked_for_is_a_command(wanted: Any, line: str):
    assert commands_for(wanted) == (line,)
