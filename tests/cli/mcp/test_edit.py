import asyncio
import json
import os
import pty
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.mcp_session import FAKES
from tests.fakes.oauth_server import FakeBrowser, FakeHouse
from tests.fakes.program import Done, Program

PLAIN = [sys.executable, "-I", str(FAKES / "mcp_plain.py")]


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program(tmp_path)


def _state(program: Program) -> Any:
    return json.loads((program.home / ".claude" / ".claude.json").read_text())


async def _mcp(program: Program, *argv: str, **env: str) -> Done:
    return await program.run("mcp", *argv, **env)


async def test_program_is_added_for_this_project_alone(program: Program):
    done = await _mcp(program, "add", "files", "-e", "A=1", "B=2", "--", "npx", "-y", "server", "--flag")
    assert done.code == 0, done.err
    assert "Added stdio MCP server files" in done.out
    (project,) = _state(program)["projects"].values()
    assert project["mcpServers"]["files"] == {
        "type": "stdio", "command": "npx", "args": ["-y", "server", "--flag"], "env": {"A": "1", "B": "2"},
    }  # fmt: skip


async def test_words_behind_the_command_belong_to_it(program: Program):
    await _mcp(program, "add", "-s", "user", "files", "npx", "-y", "server")
    assert _state(program)["mcpServers"]["files"]["args"] == ["-y", "server"]


async def test_remote_server_is_added_with_headers_and_client(program: Program):
    done = await _mcp(
        program, "add", "--transport", "http", "--scope", "project", "tickets", "https://t.example/mcp",
        "--header", "X-Team: a", "--client-id", "me", "--callback-port", "8080",
    )  # fmt: skip
    assert done.code == 0, done.err
    written = json.loads((program.project / ".mcp.json").read_text())
    assert written["mcpServers"]["tickets"] == {
        "type": "http",
        "url": "https://t.example/mcp",
        "headers": {"X-Team": "a"},
        "oauth": {"clientId": "me", "callbackPort": 8080},
    }


@pytest.mark.parametrize(
    ("argv", "code", "said"),
    [
        (("add", "x"), 1, "missing argument <target>; see bridle mcp add --help"),
        (("add", "x", "https://a.example"), 1, "--transport http"),
        (("add", "-t", "http", "x", "nothing"), 1, "begins with http"),
        (("add", "-t", "smoke", "x", "y"), 1, "--transport takes one of"),
        (("add", "-s", "moon", "x", "y"), 1, "--scope takes one of"),
        (("add", "a b", "y"), 1, "invalid server name"),
        (("add", "-e", "A", "x", "y"), 1, "KEY=value"),
        (("add-json", "x", "{"), 1, "not a JSON object"),
        (("add-json", "x", '{"url": "https://a.example"}'), 1, "type"),
        (("remove", "x"), 1, "unknown MCP server 'x'"),
        (("get", "x"), 1, "unknown MCP server 'x'"),
        (("login", "x"), 1, "unknown MCP server 'x'"),
        (("lst",), 1, "unknown command 'lst': did you mean list?"),
        (("list", "--what"), 1, "unknown option --what; see bridle mcp list --help"),
    ],
)
async def test_mistake_is_one_line_with_a_way_out(
    program: Program, argv: tuple[str, ...], code: int, said: str
):
    done = await _mcp(program, *argv)
    assert done.code == code
    assert said in done.err
    assert len(done.err.splitlines()) == 1


async def test_same_name_is_not_added_twice(program: Program):
    await _mcp(program, "add", "x", "y")
    done = await _mcp(program, "add", "x", "z")
    assert done.code == 1 and "already" in done.err


async def test_definition_is_added_as_json(program: Program):
    raw = {"type": "sse", "url": "${HOST:-https://a.example}/sse", "timeout": 5000}
    done = await _mcp(program, "add-json", "-s", "user", "x", json.dumps(raw))
    assert done.code == 0, done.err
    assert _state(program)["mcpServers"]["x"] == raw


async def test_servers_of_the_desktop_program_are_taken_over(program: Program):
    folder = program.home / ".config" / "Claude"
    folder.mkdir(parents=True)
    servers = {"one two": {"command": "a"}, "broken": {"url": "x"}}
    (folder / "claude_desktop_config.json").write_text(json.dumps({"mcpServers": servers}))
    done = await _mcp(program, "add-from-claude-desktop", "-s", "user", XDG_CONFIG_HOME="")
    assert done.code == 0
    assert list(_state(program)["mcpServers"]) == ["one_two"]
    assert "Skipped broken" in done.out


async def test_removing_asks_for_the_scope_where_there_are_two(program: Program):
    await _mcp(program, "add", "-s", "user", "x", "y")
    await _mcp(program, "add", "-s", "local", "x", "y")
    unsure = await _mcp(program, "remove", "x")
    done = await _mcp(program, "remove", "x", "-s", "user")
    assert unsure.code == 1 and "-s local" in unsure.err
    assert done.code == 0 and _state(program)["mcpServers"] == {}


async def test_list_says_how_each_server_fares(program: Program):
    await _mcp(program, "add", "good", "--", *PLAIN)
    await _mcp(program, "add", "bad", "--", "no-such-program")
    (program.project / ".mcp.json").write_text(json.dumps({"mcpServers": {"theirs": {"command": "evil"}}}))
    done = await _mcp(program, "list")
    lines = {line.partition(":")[0]: line for line in done.out.splitlines() if " - " in line}
    assert lines["good"].endswith("✓ Connected")
    assert "✗ Failed to connect" in lines["bad"]
    assert "⏸ Pending approval" in lines["theirs"]


async def test_get_tells_all_but_secrets(program: Program):
    await _mcp(program, "add", "good", "-e", "API_TOKEN=hush", "-e", "MODE=fast", "--", *PLAIN)
    done = await _mcp(program, "get", "good")
    assert "Scope: local" in done.out and "✓ Connected" in done.out and "MODE=fast" in done.out
    assert "hush" not in done.out


async def test_empty_list_says_how_to_add_one(program: Program):
    done = await _mcp(program, "list")
    assert "bridle mcp add" in done.out


async def test_choices_about_the_project_are_forgotten(program: Program):
    (program.project / ".mcp.json").write_text(json.dumps({"mcpServers": {"x": {"command": "y"}}}))
    state = program.home / ".claude" / ".claude.json"
    state.parent.mkdir(exist_ok=True)
    known = {str(program.project.resolve()): {"disabledMcpjsonServers": ["x"], "other": 1}}
    state.write_text(json.dumps({"projects": known}))
    done = await _mcp(program, "reset-project-choices")
    assert done.code == 0
    assert _state(program)["projects"] == {
        str(program.project.resolve()): {"disabledMcpjsonServers": [], "other": 1}
    }


async def test_login_by_a_pasted_address_and_logout(program: Program):
    async with FakeHouse() as house, asyncio.timeout(60):
        await _mcp(program, "add", "-t", "http", "house", house.url)
        login = await program.start("mcp", "login", "house", "--no-browser")
        assert login.stdin is not None and login.stdout is not None
        page = b""
        while not page.strip().startswith(b"http"):
            page = await login.stdout.readline()
        browser = FakeBrowser()
        ended_at = await browser.follow(page.decode().strip())
        login.stdin.write(ended_at.encode() + b"\n")
        rest = await login.stdout.read()
        assert await login.wait() == 0, rest
        listed = await _mcp(program, "list")
        out = await _mcp(program, "logout", "house")
        after = await _mcp(program, "list")
    assert "Logged in to house" in rest.decode()
    assert "✓ Connected" in listed.out
    assert out.code == 0 and "Needs authentication" in after.out
    assert house.access == {}


async def test_local_program_has_no_login(program: Program):
    await _mcp(program, "add", "x", "y")
    done = await _mcp(program, "login", "x")
    assert done.code == 1 and "is a local server and needs no login" in done.err


async def test_client_secret_is_kept_out_of_the_configuration(program: Program):
    done = await _mcp(
        program, "add", "-t", "http", "x", "https://a.example/mcp", "--client-id", "me", "--client-secret",
        MCP_CLIENT_SECRET="hush",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert "hush" not in json.dumps(_state(program))
    kept = json.loads((program.home / ".claude" / ".credentials.json").read_text())
    assert [entry["clientSecret"] for entry in kept["mcpOAuthClientConfig"].values()] == ["hush"]


async def test_help_is_there(program: Program):
    for argv in ((), ("--help",), ("add", "--help")):
        done = await _mcp(program, *argv)
        assert done.code == 0 and "bridle mcp" in done.out


async def test_secret_is_asked_for_at_a_terminal(program: Program):
    master, slave = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bridle", "mcp", "add", "-t", "http", "x", "https://a.example/mcp",
        "--client-secret", cwd=program.project, env=program.env, stdin=slave, stdout=slave, stderr=slave,
        start_new_session=True,
    )  # fmt: skip
    os.close(slave)
    async with asyncio.timeout(50):
        shown = b""
        while b"secret" not in shown:
            shown += await asyncio.to_thread(os.read, master, 1024)
        os.write(master, b"typed\n")
        code = await process.wait()
    os.close(master)
    assert code == 0
    kept = json.loads((program.home / ".claude" / ".credentials.json").read_text())
    assert [entry["clientSecret"] for entry in kept["mcpOAuthClientConfig"].values()] == ["typed"]


async def test_server_that_policy_denies_is_not_added(program: Program):
    config = program.home / ".claude"
    config.mkdir(exist_ok=True)
    (config / "settings.json").write_text('{"deniedMcpServers": [{"serverName": "a"}]}')
    done = await program.run("mcp", "add", "a", "--", "/bin/true")
    assert (done.code, done.out) == (1, "")
    assert done.err == "error: the server a is not allowed here: denied by deniedMcpServers\n"
    assert (await program.run("mcp", "add", "b", "--", "/bin/true")).code == 0
