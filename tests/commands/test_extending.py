"""Skills, agents and hooks as users look at them and switch them, in the whole program."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from bridle.frontends.tui.screens.commands import commands_for
from bridle.frontends.tui.screens.extensions.agents import ToggleAgent
from bridle.frontends.tui.screens.extensions.skills import SetVisibility
from tests.fakes.forked import official_python
from tests.fakes.host import FakeHost
from tests.fakes.mcp_session import FAKES
from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.plugins import FIXTURE
from tests.fakes.program import Program


def _skill(program: Program, name: str, text: str) -> Path:
    file = program.home / ".claude" / "skills" / name / "SKILL.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def _settings(program: Program) -> Any:
    return json.loads((program.home / ".claude" / "settings.json").read_text())


async def test_skills_are_listed_with_source_and_cost_and_hidden_from_the_model(tmp_path: Path):
    async with MessagesServer([step("ok"), step("ok")]) as server:
        program = Program(tmp_path, server.url)
        _skill(program, "greet", "---\ndescription: Greets people kindly\n---\nSay hello.")
        _skill(program, "long", f"---\ndescription: {'Says much ' * 60}\n---\nTalk.")
        listed = await program.run("-p", "/skills")
        await program.run("-p", "hi")
        (hide,) = commands_for(SetVisibility("greet", "user-invocable-only"))
        hidden = await program.run("-p", hide)
        await program.run("-p", "hi")
        after = await program.run("-p", "/skills")
        first, second = (json.dumps(request.body["messages"]) for request in server.requests)
    assert "/greet (user, 8 tokens): Greets people kindly" in listed.out
    assert listed.out.index("/long (user") < listed.out.index("/greet (user")
    assert hidden.out == "greet is user-invocable-only now.\n"
    assert _settings(program)["skillOverrides"] == {"greet": "user-invocable-only"}
    assert "- greet: Greets people kindly" in first and "- greet" not in second
    assert "/greet (user, 0 tokens, user-invocable-only)" in after.out


async def test_skill_is_shown_to_the_model_again(tmp_path: Path):
    program = Program(tmp_path)
    _skill(program, "greet", "Say hello.")
    await program.run("-p", "/skills greet off")
    await program.run("-p", "/skills greet on")
    assert _settings(program).get("skillOverrides", {}) == {}
    wrong = await program.run("-p", "/skills gret off")
    assert wrong.code == 1 and "Unknown skill gret" in wrong.out + wrong.err


async def test_agents_are_listed_with_their_cost_and_turned_off(tmp_path: Path):
    async with MessagesServer([step("ok"), step("ok")]) as server:
        program = Program(tmp_path, server.url, BRIDLE_TRUST_FOLDER=str(tmp_path / "project"))
        listed = await program.run("-p", "/agents")
        await program.run("-p", "hi")
        (off,) = commands_for(ToggleAgent("Explore", False))
        await program.run("-p", off)
        again = await program.run("-p", "/agents")
        await program.run("-p", "hi")
        first, second = (json.dumps(request.body["messages"]) for request in server.requests)
    assert "general-purpose (builtin, " in listed.out and " tokens): " in listed.out
    assert "tokens, off)" in next(line for line in again.out.splitlines() if line.startswith("Explore"))
    assert "- Explore: " in first and "- Explore: " not in second


async def test_hooks_of_plugins_are_listed_too(tmp_path: Path):
    program = Program(tmp_path)
    plugin = FIXTURE / "plugins" / "greeter"
    listed = await program.run("-p", "/hooks", "--plugin-dir", str(plugin))
    assert str(plugin / "hooks" / "hooks.json") in listed.out


@pytest.mark.parametrize("milliseconds", ["5000", "1"])
async def test_prompt_of_a_server_may_be_the_first_thing_that_is_asked(tmp_path: Path, milliseconds: str):
    """However short the first turn waits for servers: the one whose prompt is asked for is waited for."""
    server_config = {"command": official_python(), "args": [str(FAKES / "mcp_everything.py"), "stdio"]}
    async with MessagesServer([step("ok")]) as server, asyncio.timeout(60):
        program = Program(tmp_path, server.url, MCP_CONNECT_TIMEOUT_MS=milliseconds)
        config = json.dumps({"mcpServers": {"s": server_config}})
        done = await program.run("-p", "/mcp__s__greet Ada", "--mcp-config", config)
        (request,) = server.requests
    said = json.dumps(request.body["messages"])
    assert done.code == 0 and "Greet Ada in a warm tone." in said


@pytest.mark.parametrize("name", ["CLAUDE_CODE_DISABLE_BUNDLED_SKILLS", ""])
async def test_bundled_skills_are_left_out_where_a_variable_says_so(tmp_path: Path, name: str):
    program = Program(tmp_path)
    listed = await program.run("-p", "/skills", **({name: "1"} if name else {}))
    assert ("/verify (bundled" in listed.out) is (not name)


async def test_agents_are_listed_when_the_file_of_one_is_gone(tmp_path: Path):
    program = Program(tmp_path)
    file = program.home / ".claude" / "agents" / "digger.md"
    file.parent.mkdir(parents=True)
    file.write_text("---\nname: digger\ndescription: Digs\n---\nDig deep.")
    async with FakeHost(program, "--model", "offline") as host:
        host.prompt("/agents")
        assert "digger (user" in (await host.result())["result"]
        file.unlink()
        host.prompt("/agents")
        result = await host.result()
        await host.close()
    assert not result["is_error"] and "general-purpose" in result["result"]
