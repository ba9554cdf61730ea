"""The answers to a plan, given at the terminal."""

import json
from pathlib import Path
from typing import Any

import pytest

from bridle.features.plan_mode.plans import plan_path
from tests.fakes.messages_server import step
from tests.frontends.tui.app.session import Terminal, bridle

SESSION = "22222222-2222-4222-8222-222222222222"
_FLAGS = ("--permission-mode", "plan", "--session-id", SESSION)
_WANTED = [{"tool": "Bash", "prompt": "run the tests"}]


def _use(name: str, **input: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"call_{name}", "name": name, "input": input}


def _script(folder: Path, *after: Any) -> list[Any]:
    plan = plan_path(SESSION, str(folder / "home" / ".claude" / "plans"))
    return [
        step(_use("Write", file_path=plan, content="1. Rename it.")),
        step(_use("ExitPlanMode", allowedPrompts=_WANTED)),
        *after,
    ]


async def _hand_in(terminal: Terminal) -> None:
    await terminal.ready()
    await terminal.say("rename it")
    await terminal.until_text("Approve this plan?")
    await terminal.until_text("enter to choose")
    assert "1. Rename it." in terminal.emulator.text


async def _session_rules(terminal: Terminal) -> None:
    await terminal.say("/permissions")
    await terminal.until_text("prompt: run the tests")


def _is_left(foot: str, shown: str) -> bool:
    return "plan mode" not in foot and shown in foot


async def test_planning_is_agreed_to_and_shown_in_the_words_of_people(tmp_path: Path):
    script = [step(_use("EnterPlanMode")), step("I look around."), step("More.")]
    async with bridle(tmp_path, script, size=(100, 30)) as terminal:
        await terminal.ready()
        await terminal.say("plan it")
        await terminal.until_text("enter to choose")
        asked = terminal.emulator.text
        assert "Enter plan mode?" in asked and "Nothing changes until you approve it." in asked
        assert "(no input)" not in asked and "$EDITOR" not in asked
        terminal.type("1")
        await terminal.until_text("I look around.")
        shown = terminal.emulator.text
        assert "✓ Plan mode\n  └ nothing changes until you approve a plan" in shown
        assert "Make no changes now" not in shown


@pytest.mark.parametrize(("key", "shown"), [("1", "accept edits on"), ("2", "")])
async def test_an_approved_plan_is_carried_out_in_the_chosen_mode(tmp_path: Path, key: str, shown: str):
    async with bridle(tmp_path, _script(tmp_path, step("Renaming.")), *_FLAGS) as terminal:
        await _hand_in(terminal)
        terminal.type(key)
        await terminal.until_text("Renaming.")
        await terminal.until(lambda screen: _is_left(screen.text.splitlines()[-1], shown))
        assert "approved the plan" in json.dumps(terminal.asked[-1])
        await _session_rules(terminal)


async def test_a_plan_is_carried_out_in_a_new_conversation_with_what_it_may_run(tmp_path: Path):
    settings = {"showClearContextOnPlanAccept": True}
    script = _script(tmp_path, step("Afresh."))
    async with bridle(tmp_path, script, *_FLAGS, settings=settings) as terminal:
        await _hand_in(terminal)
        terminal.type("3")
        await terminal.until_text("Afresh.")
        # Nobody typed the command that began it.
        assert "❯ /clear" not in terminal.emulator.text
        await terminal.until_text("accept edits on")
        said = json.dumps(terminal.asked[-1]["messages"])
        assert "Implement the following plan:" in said and "1. Rename it." in said
        assert "rename it" not in said and "ExitPlanMode" not in said
        # The plan keeps its place, and the conversation says where that is.
        assert plan_path(SESSION, str(tmp_path / "home" / ".claude" / "plans")) in said
        await _session_rules(terminal)


async def test_what_is_to_be_changed_goes_to_the_model(tmp_path: Path):
    async with bridle(tmp_path, _script(tmp_path, step("Thinking again.")), *_FLAGS) as terminal:
        await _hand_in(terminal)
        assert "in a new conversation" not in terminal.emulator.text
        terminal.type("3")
        terminal.type("use c instead\r")
        await terminal.until_text("Thinking again.")
        assert "use c instead" in json.dumps(terminal.asked[-1])
        await terminal.until_text("plan mode")


async def test_escape_goes_on_planning_and_lets_the_person_speak(tmp_path: Path):
    async with bridle(tmp_path, _script(tmp_path), *_FLAGS) as terminal:
        await _hand_in(terminal)
        terminal.type("\x1b")
        await terminal.until_text("interrupted")
        await terminal.until_text("plan mode")
        assert len(terminal.asked) == 2
