"""Agents at the terminal: how far they are, what they say, and how they are stopped."""

from pathlib import Path
from typing import Any

from bridle.frontends.tui.chat.agents import Agents
from bridle.types.event import FromAgent, ToolStarted
from tests.fakes.messages_server import step
from tests.fakes.processes import eventually
from tests.frontends.tui.app.session import bridle

_ALLOWED = {"permissions": {"allow": ["Bash"]}}
_WAITS = "until [ -e go ]; do sleep 0.05; done"


def _calls(tool: str, id: str = "", **input: object) -> dict[str, Any]:
    return {"type": "tool_use", "id": id or f"toolu_{tool}", "name": tool, "input": input}


def _agent(name: str, **more: object) -> dict[str, Any]:
    return _calls(
        "Agent",
        f"toolu_{name}",
        description=f"dig {name}",
        prompt=f"Dig the {name}.",
        subagent_type="general-purpose",
        **more,
    )


def _script(*agents: dict[str, Any]) -> list[Any]:
    return [
        step(*agents, when="hand it over"),
        step("They are at work.", when="hand it over", repeat=True),
        *(
            each
            for name in ("well", "pit")
            for each in (
                step(_calls("Bash", f"toolu_bash_{name}", command=_WAITS), when=f"Dig the {name}."),
                step(f"The {name} is dug.", when=f"toolu_bash_{name}"),
            )
        ),
    ]


async def test_agents_in_the_background_are_shown_at_work_until_they_are_done(tmp_path: Path):
    script = _script(_agent("well"), _agent("pit"))
    async with bridle(tmp_path, script, settings=_ALLOWED, size=(100, 40)) as terminal:
        await terminal.ready()
        await terminal.say("hand it over")
        await terminal.until_text("They are at work.")
        await terminal.until_text("├─")
        await terminal.until_text("dig well")
        await terminal.until_text("dig pit")
        await terminal.until(lambda screen: screen.text.count("Bash until") == 2)
        (terminal.program.project / "go").touch()
        await terminal.until(lambda screen: "├─" not in screen.text and "└─" not in screen.text)
        assert terminal.emulator.text.count("completed") >= 2


async def test_the_conversation_of_an_agent_is_looked_at_while_it_goes_on(tmp_path: Path):
    async with bridle(tmp_path, _script(_agent("well")), settings=_ALLOWED, size=(100, 30)) as terminal:
        await terminal.ready()
        await terminal.say("hand it over")
        await terminal.until_text("They are at work.")
        await terminal.until_text("Bash until")
        await terminal.say("/tasks")
        await terminal.until_text("enter open its conversation")
        terminal.type("\r")
        await terminal.until_text("❯ Dig the well.")
        (terminal.program.project / "go").touch()
        await terminal.until_text("The well is dug.")
        terminal.type("q")
        await terminal.until_text("Background work")
        await terminal.until_text("completed")


async def test_all_agents_are_stopped_at_once(tmp_path: Path):
    script = _script(_agent("well"), _agent("pit"))
    async with bridle(tmp_path, script, settings=_ALLOWED, size=(100, 30)) as terminal:
        await terminal.ready()
        await terminal.say("hand it over")
        await terminal.until_text("They are at work.")
        await terminal.until(lambda screen: screen.text.count("Bash until") == 2)
        await terminal.say("/tasks")
        await terminal.until_text("stop all")
        terminal.type("S")
        await terminal.until_text("Stop everything in the background?")
        terminal.type("y")
        await terminal.until(lambda screen: screen.text.count("■") == 2)


async def test_an_agent_that_is_waited_for_shows_its_steps(tmp_path: Path):
    script = _script(_agent("well", run_in_background=False))
    async with bridle(tmp_path, script, settings=_ALLOWED, size=(100, 30)) as terminal:
        await terminal.ready()
        await terminal.say("hand it over")
        await eventually(lambda: len(terminal.asked) == 2)
        await terminal.until_text("Bash until")
        (terminal.program.project / "go").touch()
        await terminal.until_text("They are at work.")


def test_agents_of_agents_hang_below_them():
    agents = Agents(lambda: 0.0)

    def happens(call: str, event: Any) -> Any:
        return agents.take(
            FromAgent(call_id=call, agent_id=call, agent_type="general", description=call, event=event),
            cwd="/",
        )

    happens("outer", ToolStarted(call_id="inner", tool="Agent", input={"description": "deeper"}))
    root, picture = happens("inner", ToolStarted(call_id="b", tool="Bash", input={"command": "make"}))
    assert root == "outer" and picture.description == "outer"
    (below,) = picture.agents
    assert below.description == "inner" and below.steps[-1].tool == "Bash"
    agents.forget("outer")
    assert agents.running_beside() == []
