"""Moving what the conversation waits for to the background, with one key."""

import json
from pathlib import Path
from typing import Any

from tests.fakes.messages_server import step
from tests.fakes.processes import eventually
from tests.frontends.tui.app.session import bridle

_ALLOWED = {"permissions": {"allow": ["Bash"]}}


def _calls(tool: str, **input: object) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"toolu_{tool}", "name": tool, "input": input}


async def test_a_running_command_goes_on_in_the_background(tmp_path: Path):
    waits = "touch begun; until [ -e go ]; do sleep 0.05; done; echo it is over"
    script = [
        step(_calls("Bash", command=waits, description="wait for go")),
        step("Meanwhile I go on."),
        step("It has ended."),
    ]
    async with bridle(tmp_path, script, settings=_ALLOWED) as terminal:
        await terminal.ready()
        await terminal.say("wait for it")
        await eventually((terminal.program.project / "begun").exists)
        terminal.type("\x02")
        await terminal.until_text("Meanwhile I go on.")
        result = terminal.asked[1]["messages"][-1]["content"][0]
        assert "The user moved the command to the background with ID: b" in json.dumps(result)
        await terminal.say("/tasks")
        await terminal.until_text("Background work")
        await terminal.until_text("wait for go")
        terminal.type("\x1b")
        await terminal.ready()
        (terminal.program.project / "go").touch()
        await terminal.until_text("It has ended.")
        assert "completed" in json.dumps(terminal.asked[2]["messages"][-1])


async def test_an_agent_that_is_waited_for_goes_on_in_the_background(tmp_path: Path):
    waits = "until [ -e go ]; do sleep 0.05; done"
    agent = _calls("Agent", description="dig", prompt="Dig deep.", run_in_background=False,
                   subagent_type="general-purpose")  # fmt: skip
    script = [
        step(agent, when="hand it over"),
        step("Meanwhile I go on.", when="works in the background"),
        step("The agent is done.", when="task-notification"),
        step(_calls("Bash", command=waits), when="Dig deep."),
        step("Dug.", when="toolu_Bash"),
    ]
    async with bridle(tmp_path, script, settings=_ALLOWED) as terminal:
        await terminal.ready()
        await terminal.say("hand it over")
        await terminal.until_text("dig")
        await eventually(lambda: len(terminal.asked) == 2)
        terminal.type("\x02")
        await terminal.until_text("Meanwhile I go on.")
        (terminal.program.project / "go").touch()
        await terminal.until_text("The agent is done.")


async def test_without_anything_to_move_the_key_says_so(tmp_path: Path):
    async with bridle(tmp_path, [step("never ", silent_after=-1)]) as terminal:
        await terminal.ready()
        await terminal.say("wait")
        await terminal.until_text("esc to interrupt")
        terminal.type("\x02")
        await terminal.until_text("nothing that is running can move to the background")
