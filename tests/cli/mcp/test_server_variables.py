"""S41, S42: a server that a repository names is given credentials only if the user agreed to exactly that."""

import json
import os
import pty
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.mcp_http import INITIALIZED, TOOLS, Asked, FakeEndpoint, Reply
from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.program import Program
from tests.fakes.terminal import PtyProgram

SECRET = "users-own-canary"
PLAIN = "plain-value"


def _answer(asked: Asked) -> Reply | None:
    results: dict[str, Any] = {"initialize": INITIALIZED, "tools/list": TOOLS}
    if (result := results.get(asked.rpc)) is not None:
        return Reply({"jsonrpc": "2.0", "id": asked.message["id"], "result": result})
    return Reply(status=400) if isinstance(asked.message, dict) and "id" in asked.message else None


def _repository(folder: Path, url: str, entry: dict[str, Any]) -> Program:
    program = Program(folder, url, AWS_SECRET_ACCESS_KEY=SECRET, PLAIN=PLAIN, MCP_CONNECTION_NONBLOCKING="0")
    (program.project / ".git").mkdir()
    (program.project / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    _write(program, entry)
    return program


def _write(program: Program, entry: dict[str, Any]) -> None:
    (program.project / ".mcp.json").write_text(json.dumps({"mcpServers": {"s": entry}}))


def _sent(endpoint: FakeEndpoint) -> str:
    return " ".join(f"{each.target} {each.headers}" for each in endpoint.asked)


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("", {"Authorization": "Bearer ${AWS_SECRET_ACCESS_KEY}", "X-Plain": "${PLAIN}"}),
        ("?k=${AWS_SECRET_ACCESS_KEY:-none}&p=${PLAIN}", {}),
    ],
)
async def test_a_credential_is_sent_when_it_was_named(tmp_path: Path, path: str, headers: dict[str, str]):
    async with MessagesServer([step("ok", repeat=True)]) as model, FakeEndpoint(_answer) as endpoint:
        entry = {"type": "http", "url": f"{endpoint.url}{path}", "headers": headers}
        program = _repository(tmp_path, model.url, entry)
        trusted = await program.run("trust", "-y")
        assert "mcpServers.s receives your AWS_SECRET_ACCESS_KEY" in trusted.out
        assert "mcpServers.s receives your PLAIN" in trusted.out
        done = await program.run("-p", "go")
        assert done.code == 0 and not endpoint.asked
        assert "the MCP server s is not started" in done.err and "AWS_SECRET_ACCESS_KEY" in done.err
        listed = await program.run("mcp", "list")
        assert "Pending approval" in listed.out and SECRET not in listed.out

        await program.run("trust", "-y", "--give", "ANTHROPIC_API_KEY,OTHER")
        await program.run("-p", "go")
        assert not endpoint.asked
        await program.run("trust", "-y", "--give", "AWS_SECRET_ACCESS_KEY")
        await program.run("-p", "go")
        assert SECRET in _sent(endpoint) and PLAIN in _sent(endpoint)

        endpoint.asked.clear()
        _write(program, {**entry, "headers": {**headers, "X-More": "1"}})
        await program.run("trust", "-y")
        await program.run("-p", "go")
        assert not endpoint.asked


async def test_other_variables_are_filled_in_once_the_server_is_approved(tmp_path: Path):
    async with MessagesServer([step("ok", repeat=True)]) as model, FakeEndpoint(_answer) as endpoint:
        entry = {"type": "http", "url": endpoint.url, "headers": {"X-Plain": "${PLAIN}"}}
        program = _repository(tmp_path, model.url, entry)
        await program.run("-p", "go")
        assert not endpoint.asked
        await program.run("trust", "-y")
        await program.run("-p", "go")
        assert PLAIN in _sent(endpoint)


async def test_a_name_in_settings_gives_no_credentials(tmp_path: Path):
    """The user's own settings approve servers by name, whatever those ask for."""
    async with MessagesServer([step("ok", repeat=True)]) as model, FakeEndpoint(_answer) as endpoint:
        entry = {"type": "http", "url": endpoint.url, "headers": {"X": "${ANTHROPIC_API_KEY}"}}
        program = _repository(tmp_path, model.url, entry)
        (program.home / ".claude").mkdir()
        (program.home / ".claude" / "settings.json").write_text('{"enableAllProjectMcpServers": true}')
        await program.run("trust", "-y")
        done = await program.run("-p", "go")
        assert not endpoint.asked and "ANTHROPIC_API_KEY" in done.err


async def test_a_person_who_answers_the_question_has_seen_the_names(tmp_path: Path):
    async with MessagesServer([step("ok", repeat=True)]) as model, FakeEndpoint(_answer) as endpoint:
        entry = {"type": "http", "url": endpoint.url, "headers": {"X": "${AWS_SECRET_ACCESS_KEY}"}}
        program = _repository(tmp_path, model.url, entry)
        leader, follower = pty.openpty()
        os.write(leader, b"y\n")
        process = await program.start("trust", stdin=follower)
        out, _ = await process.communicate()
        os.close(leader)
        os.close(follower)
        question = out.decode().partition("Trust it?")[0]
        assert f'receives your AWS_SECRET_ACCESS_KEY = "headers.X of {endpoint.url}"' in question
        await program.run("-p", "go")
        assert SECRET in _sent(endpoint)


async def test_the_terminal_shows_what_would_be_sent_where(tmp_path: Path):
    async with MessagesServer([step("ok", repeat=True)]) as model, FakeEndpoint(_answer) as endpoint:
        entry = {"type": "http", "url": endpoint.url, "headers": {"X": "${AWS_SECRET_ACCESS_KEY}"}}
        program = _repository(tmp_path, model.url, entry)
        await program.run("trust", "-y")
        argv = [sys.executable, "-m", "bridle"]
        async with PtyProgram(argv, env=program.env, cwd=program.project, size=(120, 40)) as terminal:
            await terminal.until_text("Start the MCP server s?")
            await terminal.until_text("It receives the value of your AWS_SECRET_ACCESS_KEY: headers.X of")
            assert not endpoint.asked
            await terminal.until_text("enter to choose")
            terminal.type("1")
            await terminal.until(lambda _: SECRET in _sent(endpoint))


@pytest.mark.parametrize("of", ["agent", "plugin"])
async def test_servers_of_agents_and_plugins_of_the_project_are_given_none(tmp_path: Path, of: str):
    call = {"description": "work", "prompt": "Work.", "subagent_type": "worker"}
    first = (
        step({"type": "tool_use", "id": "t1", "name": "Agent", "input": call})
        if of == "agent"
        else step("ok")
    )
    async with (
        MessagesServer([first, step("ok", repeat=True)]) as model,
        FakeEndpoint(_answer) as endpoint,
    ):
        entry = {"type": "http", "url": endpoint.url, "headers": {"X": "${AWS_SECRET_ACCESS_KEY}"}}
        program = _repository(tmp_path, model.url, {"command": "true"})
        (program.project / ".mcp.json").unlink()
        files = {
            ".claude/agents/worker.md": "---\nname: worker\ndescription: works\n"
            f"mcpServers: {json.dumps([{'s': entry}])}\n---\nWork.\n",
        } if of == "agent" else {
            ".claude/skills/p/.claude-plugin/plugin.json": '{"name": "p"}',
            ".claude/skills/p/SKILL.md": "---\nname: p\ndescription: d\n---\nText.\n",
            ".claude/skills/p/.mcp.json": json.dumps({"mcpServers": {"s": entry}}),
        }  # fmt: skip
        for name, text in files.items():
            (program.project / name).parent.mkdir(parents=True, exist_ok=True)
            (program.project / name).write_text(text)
        await program.run("trust", "-y")
        done = await program.run("-p", "go")
        assert not endpoint.asked
        assert "names AWS_SECRET_ACCESS_KEY" in done.err
