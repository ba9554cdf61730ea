"""Teams in the whole program: coordinator mode, messages, servers of agents, what shells find."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from bridle.features.agents.mailbox import Mailbox
from bridle.types.services.messages import AgentMessage
from tests.fakes.mcp_session import FAKES
from tests.fakes.messages_server import MessagesServer, Step, step
from tests.fakes.processes import eventually
from tests.fakes.program import Program

_HELPER = {"helper": {"description": "Helps.", "prompt": "You help."}}


def _use(name: str, number: int = 1, /, **input: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": input}


def _agent(number: int = 1, **more: Any) -> dict[str, Any]:
    return _use("Agent", number, description="d", prompt="THE-JOB", subagent_type="helper", **more)


def _worker(*content: Any) -> Step:
    """An answer to an agent, whom its system prompt gives away."""
    return step(*content, when="You help.")


def _bodies(server: MessagesServer, *, workers: bool) -> list[Any]:
    every = [each.body for each in server.requests if each.raw.startswith(b"{")]
    return [body for body in every if ("You help." in json.dumps(body.get("system"))) == workers]


def _tools(body: Any) -> set[str]:
    return {tool["name"] for tool in body["tools"]}


async def test_a_coordinator_has_few_tools_and_its_workers_all(tmp_path: Path):
    async with MessagesServer() as server:
        server.script([
            step(_agent(run_in_background=False)),
            step("report of the worker"),
            step("all done"),
        ])  # fmt: skip
        program = Program(tmp_path, server.url, CLAUDE_CODE_COORDINATOR_MODE="1")
        done = await program.run("-p", "go", "--agents", json.dumps(_HELPER))
    (worker,), (first, *_) = _bodies(server, workers=True), _bodies(server, workers=False)
    assert (done.code, done.out) == (0, "all done\n")
    assert {"Agent", "TaskStop"} <= _tools(first)
    assert _tools(first) <= {"Agent", "SendMessage", "ListAgents", "TaskStop", "ToolSearch"}
    assert {"Bash", "Edit", "Read", "Write"} <= _tools(worker)
    assert "You coordinate agents" in json.dumps(first["system"])


async def test_a_message_of_a_teammate_begins_a_turn_of_the_main_thread(tmp_path: Path):
    script = [
        _worker(_use("SendMessage", 2, to="main", message="PING")),
        _worker("done"),
        step(_agent(name="ann")),
        step("started"),
        step("PONG", repeat=True),
    ]
    async with MessagesServer(script) as server:
        program = Program(tmp_path, server.url, CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS="1")
        done = await program.run("-p", "go", "--agents", json.dumps(_HELPER))
    assert done.code == 0
    last = json.dumps(_bodies(server, workers=False)[-1]["messages"])
    assert last.count("PING") == 1 and 'from=\\"ann\\"' in last
    first = _bodies(server, workers=True)[0]
    assert {"TaskUpdate", "SendMessage"} <= _tools(first) | _named(first)


def _named(body: Any) -> set[str]:
    """Tools that are listed by name alone."""
    text = json.dumps(body["messages"])
    return {name for name in ("SendMessage", "ListAgents") if name in text}


async def test_an_agent_brings_its_own_mcp_server(tmp_path: Path):
    plain = {"command": sys.executable, "args": ["-I", str(FAKES / "mcp_plain.py")]}
    for entry in ({"own": plain}, {"name": "own", **plain}):
        agents = {"helper": {**_HELPER["helper"], "mcpServers": [entry]}}
        script = [_worker("done"), step(_agent(run_in_background=False)), step("ok")]
        async with MessagesServer(script) as server:
            program = Program(tmp_path, server.url, ENABLE_TOOL_SEARCH="false")
            done = await program.run("-p", "go", "--agents", json.dumps(agents))
        assert done.out == "ok\n"
        (worker,), (first, *_) = _bodies(server, workers=True), _bodies(server, workers=False)
        assert any(name.startswith("mcp__own__") for name in _tools(worker))
        assert not any(name.startswith("mcp__") for name in _tools(first))


async def test_a_server_of_an_agent_that_cannot_be_used_is_named(tmp_path: Path):
    agents = {"helper": {**_HELPER["helper"], "mcpServers": [{"own": {"type": "pigeon"}}]}}
    async with MessagesServer([step(_agent(run_in_background=False)), step("ok")]) as server:
        program = Program(tmp_path, server.url)
        done = await program.run("-p", "go", "--agents", json.dumps(agents))
    assert done.out == "ok\n"
    assert "cannot start its MCP server" in json.dumps(_bodies(server, workers=False)[-1]["messages"])


async def test_sessions_of_one_user_write_to_each_other(tmp_path: Path):
    async with MessagesServer([step("PONG", when="PING", repeat=True)]) as server:
        program = Program(
            tmp_path, server.url, CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS="1", XDG_RUNTIME_DIR=str(tmp_path)
        )
        cards = program.home / ".claude" / "bridle" / "broker" / "sessions"
        listener = await program.start(
            "-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"
        )
        await eventually(lambda: cards.is_dir() and list(cards.iterdir()))
        (card,) = cards.iterdir()
        path = json.loads(card.read_text())["socket"]
        server.script([
            step(_use("SendMessage", to=f"uds:{path}", message="PING"), when="say hello"),
            step("sent", when="delivered to the other session"),
            step("PONG", when="PING", repeat=True),
        ])  # fmt: skip
        done = await program.run("-p", "say hello")
        assert done.out == "sent\n"
        await eventually(lambda: any(b"agent-message" in each.raw for each in server.requests))
        assert listener.stdin is not None
        listener.stdin.close()
        async with asyncio.timeout(50):
            out, _ = await listener.communicate()
    assert b"PONG" in out
    assert list(cards.iterdir()) == []


async def test_commands_find_ports_of_their_own_unless_the_broker_is_off(tmp_path: Path):
    command = _use("Bash", command='echo "[$BRIDLE_PORT_BASE]"')
    for off, found in (("", True), ("1", False)):
        async with MessagesServer([step(command), step("ok")]) as server:
            program = Program(tmp_path, server.url, BRIDLE_DISABLE_BROKER=off)
            await program.run("-p", "go", "--allowedTools", "Bash")
        last = json.dumps(_bodies(server, workers=False)[-1]["messages"])
        assert ("[21" in last or "[22" in last or "[23" in last) == found
        assert not found or list((program.home / ".claude" / "bridle" / "broker" / "ports").iterdir()) == []


async def test_what_was_written_to_a_session_that_died_is_read_when_it_is_resumed(tmp_path: Path):
    async with MessagesServer([step("ok", repeat=True)]) as server:
        program = Program(tmp_path, server.url)
        await program.run("-p", "first")
        (transcript,) = program.transcripts()
        box = Mailbox(str(transcript.with_suffix("") / "mail" / "main"))
        box.put(AgentMessage(id="l1", sender="ann", text="PING", sent=0))
        await program.run("-p", "--resume", transcript.stem, "second")
        await program.run("-p", "--resume", transcript.stem, "third")
        last = json.dumps(server.requests[-1].body["messages"])
    assert last.count("PING") == 1
    assert box.waiting() == []
