import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from bridle.cli.mcp.automation import _newest
from bridle.types.errors import UsageError
from tests.fakes.mcp_session import FAKES
from tests.fakes.messages_server import MessagesServer
from tests.fakes.processes import eventually
from tests.fakes.program import Done, Program

PLAIN: dict[str, Any] = {"command": sys.executable, "args": ["-I", str(FAKES / "mcp_plain.py")]}
ENABLED = {"ENABLE_EXPERIMENTAL_MCP_CLI": "1"}


class _Beside:
    """A session that waits for prompts, and scripts beside it."""

    def __init__(self, tmp_path: Path, *, endpoint: str, allowed: str = "mcp__plain__echo") -> None:
        self.program = Program(tmp_path, **ENABLED, ENABLE_MCP_CLI_ENDPOINT=endpoint)
        self._allowed = allowed

    async def __aenter__(self) -> "_Beside":
        self._server = await MessagesServer([]).__aenter__()
        config = json.dumps({"mcpServers": {"plain": PLAIN}})
        self._session = await self.program.start(
            "-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose",
            "--mcp-config", config, "--allowedTools", self._allowed,
            env={"ANTHROPIC_BASE_URL": self._server.url, "ANTHROPIC_API_KEY": "test-key"},
        )  # fmt: skip
        await eventually(self._is_ready)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._session.stdin is not None
        self._session.stdin.close()
        await self._session.wait()
        await self._server.__aexit__(None, None, None)

    async def _is_ready(self) -> bool:
        return "plain/echo" in (await self.run("tools")).out

    async def run(self, *argv: str, stdin: str = "") -> Done:
        return await self.program.run("--mcp-cli", *argv, stdin=stdin)


async def test_scripts_use_the_servers_of_a_session_over_its_endpoint(tmp_path: Path):
    async with _Beside(tmp_path, endpoint="1") as beside:
        servers = await beside.run("servers")
        info = await beside.run("info", "plain/echo")
        called = await beside.run("call", "plain/echo", '{"text": "hello"}')
        piped = await beside.run("call", "plain/echo", "-", stdin='{"text": "piped"}')
        grepped = await beside.run("grep", "ECH.")
        denied = await beside.run("call", "plain/reader", "{}")
        unknown = await beside.run("call", "plain/nothing", "{}")
        odd = await beside.run("info", "plain")
        folder = beside.program.home / ".claude" / "bridle" / "mcp-cli"
        modes = {path.stat().st_mode & 0o777 for path in folder.iterdir()}
    assert servers.out == "plain - connected\n"
    assert json.loads(info.out)["name"] == "plain/echo"
    assert (called.out, piped.out) == ("hello\n", "piped\n")
    assert grepped.out.startswith("plain/echo")
    assert denied.code == 1
    assert unknown.code == 1 and "no tool" in unknown.err
    assert "Expected format: <server>/<tool>" in odd.err
    assert modes == {0o600}
    assert list(folder.iterdir()) == []


def test_a_state_that_is_just_being_written_is_no_session(tmp_path: Path):
    env = {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path / ".claude")}
    folder = tmp_path / ".claude" / "bridle" / "mcp-cli"
    folder.mkdir(parents=True)
    for age, name in enumerate((".bridle-0a.tmp", "new.endpoint.json", "new.json", "old.json")):
        (folder / name).write_text("{}")
        os.utime(folder / name, (1_000_000 - age, 1_000_000 - age))
    assert _newest(env) == "new"
    for name in ("new.json", "old.json"):
        (folder / name).unlink()
    with pytest.raises(UsageError, match="is running"):
        _newest(env)


async def test_scripts_use_the_state_file_where_there_is_no_endpoint(tmp_path: Path):
    async with _Beside(tmp_path, endpoint="0") as beside:
        settings = beside.program.home / ".claude" / "settings.json"
        settings.write_text(json.dumps({"permissions": {"allow": ["mcp__plain__echo"]}}))
        tools = await beside.run("tools", "plain")
        called = await beside.run("call", "plain/echo", '{"text": "hello"}')
        denied = await beside.run("call", "plain/reader", "{}")
    assert "plain/echo" in tools.out
    assert called.out == "hello\n", called.err
    assert denied.code == 1


async def test_mode_is_off_unless_it_is_asked_for(tmp_path: Path):
    done = await Program(tmp_path).run("--mcp-cli", "servers")
    assert done.code == 1 and "ENABLE_EXPERIMENTAL_MCP_CLI" in done.err


async def test_missing_session_is_told(tmp_path: Path):
    program = Program(tmp_path, **ENABLED)
    none = await program.run("--mcp-cli", "servers")
    gone = await program.run("--mcp-cli", "servers", "--session", "gone")
    assert none.code == 1 and "no session" in none.err
    assert gone.code == 1 and "is it running?" in gone.err
