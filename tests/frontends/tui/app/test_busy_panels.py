"""Panels that open at once while the model works, and agents that are steered from there."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.messages_server import step
from tests.frontends.tui.app.session import bridle

_ALLOWED = {"permissions": {"allow": ["Bash"]}}
_WAIT = "until [ -e go ]; do sleep 0.05; done"


def _calls(tool: str, id: str, **input: object) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": tool, "input": input}


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("/model", "sonnet"),
        ("/effort", "Effort"),
        ("/permissions", "Bash"),
        ("/config", "Settings"),
        ("/agents", "general-purpose"),
        ("/tasks", "Background work"),
    ],
)
async def test_a_panel_opens_while_a_command_runs(tmp_path: Path, command: str, shown: str):
    script = [step(_calls("Bash", "toolu_b", command=_WAIT)), step("Gone through.")]
    async with bridle(tmp_path, script, settings=_ALLOWED, size=(100, 30)) as terminal:
        await terminal.ready()
        await terminal.say("wait for it")
        await terminal.until_text("esc to interrupt")
        await terminal.say(command)
        await terminal.until(lambda screen: screen.text.count(shown) and f"⧗ {command}" not in screen.text)
        await terminal.until(lambda screen: "? for keys" not in screen.text)
        terminal.type("\x1b")
        await terminal.until_text("? for keys")
        (terminal.program.project / "go").touch()
        await terminal.until_text("Gone through.")


async def test_a_question_on_the_side_is_answered_in_a_panel_while_a_command_runs(tmp_path: Path):
    script = [
        step(_calls("Bash", "toolu_b", command=_WAIT), when="wait for it"),
        step("It is **blue**.", when="which color"),
        step("Gone through.", when="toolu_b"),
    ]
    async with bridle(tmp_path, script, settings=_ALLOWED, size=(100, 30)) as terminal:
        await terminal.ready()
        await terminal.say("wait for it")
        await terminal.until_text("esc to interrupt")
        await terminal.say("/btw which color is it")
        await terminal.until_text("/btw which color is it")
        await terminal.until_text("It is blue.")
        await terminal.until_text("esc to close")
        assert "Running until" in terminal.emulator.text or "Bash until" in terminal.emulator.text
        terminal.type("\x1b")
        await terminal.until(lambda screen: "It is blue." not in screen.text)
        (terminal.program.project / "go").touch()
        await terminal.until_text("Gone through.")


async def test_an_agent_is_opened_and_written_to_from_the_list_of_work(tmp_path: Path):
    agent = _calls(
        "Agent",
        "toolu_a",
        description="dig the well",
        prompt="Dig the well.",
        subagent_type="general-purpose",
        run_in_background=True,
    )
    script = [
        step(agent, when="hand it over"),
        step("It digs.", when="hand it over"),
        step(_calls("Bash", "toolu_dig", command=_WAIT), when="Dig the well."),
        step("Water at **nine** metres.\n\nMore.", when="and look for water"),
        step("Noted.", repeat=True),
    ]
    async with bridle(tmp_path, script, settings=_ALLOWED, size=(110, 32)) as terminal:
        await terminal.ready()
        await terminal.say("hand it over")
        await terminal.until_text("It digs.")
        await terminal.until_text("1 agent (↓ to open)")
        terminal.type("\x1b[B")
        await terminal.until_text("general-purpose: dig the well")
        terminal.type("m")
        await terminal.until_text("Message to the agent")
        terminal.type("and look for water\r")
        await terminal.until_text("Sent: the agent reads it at its next step.")
        terminal.type("\r")
        await terminal.until_text("❯ Dig the well.")
        await terminal.until(lambda screen: re.search(r"[◐◓◑◒] Bash until", screen.text))
        await terminal.until_text("dig the well · running")
        terminal.type("mand the depth")
        await terminal.until_text("message: and the depth")
        terminal.type("\r")
        await terminal.until_text("Sent: the agent reads it at its next step.")
        terminal.type("s")
        await terminal.until_text("Stop it and everything it started? y / n")
        terminal.type("n")
        await terminal.until_text("m message · s stop")
        terminal.type("q")
        await terminal.until_text("Background work")
        terminal.type("\x1b")
        await terminal.until(lambda screen: not screen.is_alternate)
        (terminal.program.project / "go").touch()
        await terminal.until_text("✓ general-purpose dig the well · completed")
        await terminal.until_text("└ Water at nine metres.")


async def test_an_agent_is_stopped_from_its_conversation(tmp_path: Path):
    agent = _calls(
        "Agent",
        "toolu_a",
        description="dig the well",
        prompt="Dig the well.",
        subagent_type="general-purpose",
        run_in_background=True,
    )
    script = [
        step(agent, when="hand it over"),
        step("It digs.", when="hand it over"),
        step(_calls("Bash", "toolu_dig", command=_WAIT), when="Dig the well."),
        step("Noted.", repeat=True),
    ]
    async with bridle(tmp_path, script, settings=_ALLOWED, size=(110, 32)) as terminal:
        await terminal.ready()
        await terminal.say("hand it over")
        await terminal.until_text("1 agent (↓ to open)")
        terminal.type("\x1b[B")
        await terminal.until_text("general-purpose: dig the well")
        terminal.type("\r")
        await terminal.until_text("dig the well · running")
        terminal.type("s")
        await terminal.until_text("y / n")
        terminal.type("y")
        await terminal.until_text("Stopped: dig the well")
        await terminal.until(lambda screen: "s stop" not in screen.text and "q close" in screen.text)
        await terminal.until_text("■ interrupted while tools were running")
        assert "[Request interrupted" not in terminal.emulator.text
        terminal.type("q\x1b")
        await terminal.until(lambda screen: not screen.is_alternate and "1 agent" not in screen.text)
