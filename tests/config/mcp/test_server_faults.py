"""Servers that cannot start say why, and where `bridle mcp list` finds those of plugins."""

import json
from pathlib import Path

from tests.fakes.host import FakeHost
from tests.fakes.plugins import write_market, write_plugin
from tests.fakes.program import Program

_SERVER = {"mcpServers": {"far": {"type": "http", "url": "https://127.0.0.1:9/${THE_KEY}"}}}


async def test_a_server_whose_variable_is_not_set_has_failed_and_says_which(tmp_path: Path):
    program = Program(tmp_path, "http://127.0.0.1:9")
    flags = ("--mcp-config", json.dumps(_SERVER))
    async with FakeHost(program, *flags) as host:
        (server,) = (await host.request("mcp_status"))["response"]["mcpServers"]
        again = await host.request("mcp_reconnect", serverName="far")
    assert server["status"] == "failed"
    assert server["error"].startswith("${THE_KEY} is not set: set it, or write a default")
    assert "${THE_KEY} is not set" in again["error"]


async def test_servers_of_plugins_are_listed(tmp_path: Path):
    program = Program(tmp_path, "http://127.0.0.1:9")
    plugin = write_plugin(tmp_path / "market" / "p", {"name": "p"}, **{".mcp.json": json.dumps(_SERVER)})
    write_market(tmp_path / "market", "town", [{"name": "p", "source": f"./{plugin.name}"}])
    added = await program.run("plugin", "marketplace", "add", str(tmp_path / "market"))
    installed = await program.run("plugin", "install", "p@town", "--yes")
    listed = await program.run("mcp", "list")
    assert (added.code, installed.code) == (0, 0)
    assert "plugin:p:far" in listed.out and "${THE_KEY} is not set" in listed.out
