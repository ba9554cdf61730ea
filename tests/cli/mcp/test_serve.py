import asyncio
import json
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import pytest
from mcp_types import ElicitResult

from mcp import Client, StdioServerParameters
from tests.fakes.program import Program


@asynccontextmanager
async def _client(
    tmp_path: Path,
    *,
    mode: Literal["auto", "legacy"] = "auto",
    says: Literal["accept", "decline"] | None = None,
) -> AsyncGenerator[tuple[Client, list[str]], None]:
    asked: list[str] = []

    async def elicit(context: Any, params: Any) -> ElicitResult:
        asked.append(params.message)
        assert says is not None
        return ElicitResult(action=says)

    program = Program(tmp_path)
    how = StdioServerParameters(
        command=sys.executable, args=["-m", "bridle", "mcp", "serve"], env=program.env, cwd=program.project
    )
    async with (
        asyncio.timeout(100),
        Client(how, mode=mode, elicitation_callback=None if says is None else elicit) as client,
    ):
        yield client, asked


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_client_reads_a_file_with_a_tool_of_bridle(tmp_path: Path, mode: Literal["auto", "legacy"]):
    async with _client(tmp_path, mode=mode) as (client, _):
        file = tmp_path / "project" / "a.txt"
        file.write_text("the content")
        names = [tool.name for tool in (await client.list_tools()).tools]
        result = await client.call_tool("Read", {"file_path": str(file)})
    assert {"Read", "Bash", "Edit"} <= set(names)
    assert "AskUserQuestion" not in names
    assert not result.is_error
    assert "the content" in str(result.content)


async def test_call_that_needs_approval_is_refused_where_nobody_can_be_asked(tmp_path: Path):
    async with _client(tmp_path) as (client, _):
        result = await client.call_tool("Write", {"file_path": str(tmp_path / "project/new"), "content": "x"})
    assert result.is_error
    assert not (tmp_path / "project" / "new").exists()


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_person_at_the_client_is_asked(tmp_path: Path, mode: Literal["auto", "legacy"]):
    async with _client(tmp_path, mode=mode, says="accept") as (client, asked):
        result = await client.call_tool("Write", {"file_path": str(tmp_path / "project/new"), "content": "x"})
    assert not result.is_error, result
    assert (tmp_path / "project" / "new").read_text() == "x"
    assert len(asked) == 1 and "Write" in asked[0]


async def test_no_of_the_person_at_the_client_counts(tmp_path: Path):
    async with _client(tmp_path, says="decline") as (client, _):
        result = await client.call_tool("Write", {"file_path": str(tmp_path / "project/new"), "content": "x"})
    assert result.is_error
    assert not (tmp_path / "project" / "new").exists()


async def test_deny_rule_beats_the_person_at_the_client(tmp_path: Path):
    (tmp_path / "home" / ".claude").mkdir(parents=True)
    rules = {"permissions": {"deny": ["Read(./secret)"]}}
    (tmp_path / "home" / ".claude" / "settings.json").write_text(json.dumps(rules))
    async with _client(tmp_path, says="accept") as (client, _):
        (tmp_path / "project" / "secret").write_text("hidden")
        result = await client.call_tool("Read", {"file_path": str(tmp_path / "project/secret")})
    assert result.is_error
    assert "hidden" not in str(result.content)


async def test_unknown_tool_and_noise_are_answered_with_errors(tmp_path: Path):
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "Nope"}}
    done = await Program(tmp_path).run("mcp", "serve", stdin="noise\n" + json.dumps(call) + "\n")
    first, second = (json.loads(line) for line in done.out.splitlines())
    assert first["error"]["code"] == -32700
    assert (second["id"], second["error"]["code"]) == (1, -32602)
    assert done.code == 0
