"""Servers that others wrote; those on Node where BRIDLE_NODE_MCP names a folder with `node_modules`."""

import asyncio
import os
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from bridle.types.question import Supplied
from bridle.types.services.mcp import StdioServer
from tests.fakes.mcp_session import FakePerson, connected
from tests.fakes.processes import eventually

NODE = os.environ.get("BRIDLE_NODE_MCP", "")
node = pytest.mark.skipif(not NODE, reason="BRIDLE_NODE_MCP names no folder with servers")
_PACKAGES = "node_modules/@modelcontextprotocol"


@node
async def test_server_everything_is_understood():
    program = f"{NODE}/{_PACKAGES}/server-everything/dist/index.js"
    person = FakePerson(Supplied(action="accept", content={"name": "Ada"}))
    config = StdioServer(command="node", args=(program, "stdio"))
    async with asyncio.timeout(60), connected(config, person=person) as servers:
        (state,) = servers.status()
        assert state.status == "connected", state.error
        names = {tool.name for tool in state.tools}
        said = await servers.call("s", "echo", {"message": "hello"})
        await eventually(lambda: servers.prompts() and servers.resources())
        first = next(each for each in servers.resources() if not each.template)
        read = await servers.read_resource("s", first.uri)
    assert "echo" in names
    assert "hello" in said["content"][0]["text"]
    assert read["contents"]


@node
async def test_server_filesystem_serves_the_working_folders(tmp_path: Path):
    (tmp_path / "a.txt").write_text("content of a")
    program = f"{NODE}/{_PACKAGES}/server-filesystem/dist/index.js"
    config = StdioServer(command="node", args=(program, str(tmp_path)))
    async with asyncio.timeout(60), connected(config, roots=(str(tmp_path),)) as servers:
        result = await servers.call("s", "read_text_file", {"path": str(tmp_path / "a.txt")})
        outside = await servers.call("s", "read_text_file", {"path": "/etc/hostname"})
    assert result["content"][0]["text"] == "content of a"
    assert outside["isError"] is True


@pytest.mark.skipif(find_spec("mcp_server_time") is None, reason="mcp-server-time is not installed")
async def test_server_time_tells_the_time():
    config = StdioServer(command=sys.executable, args=("-m", "mcp_server_time", "--local-timezone", "UTC"))
    async with asyncio.timeout(60), connected(config) as servers:
        result = await servers.call("s", "get_current_time", {"timezone": "Europe/Paris"})
    assert "Europe/Paris" in result["content"][0]["text"]


@pytest.mark.skipif(find_spec("mcp_server_git") is None, reason="mcp-server-git is not installed")
async def test_server_git_reads_a_repository(tmp_path: Path):
    process = await asyncio.create_subprocess_exec("git", "init", "-q", str(tmp_path))
    await process.wait()
    config = StdioServer(command=sys.executable, args=("-m", "mcp_server_git"))
    async with asyncio.timeout(60), connected(config) as servers:
        result = await servers.call("s", "git_status", {"repo_path": str(tmp_path)})
    assert "No commits yet" in result["content"][0]["text"]
