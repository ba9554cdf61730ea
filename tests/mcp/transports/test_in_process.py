import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from bridle.types.errors import BridleError, McpError
from bridle.types.services.mcp import SdkServer, Server
from tests.fakes.mcp_http import INITIALIZED
from tests.fakes.mcp_session import connected
from tests.fakes.processes import eventually


class FakeHost:
    """A host program with one server in it."""

    def __init__(self) -> None:
        self.messages: list[Mapping[str, Any]] = []
        self.tools: list[dict[str, Any]] = [{"name": "add", "inputSchema": {"type": "object"}}]

    async def __call__(self, server: str, message: Mapping[str, Any]) -> Any:
        self.messages.append(message)
        if server == "gone":
            raise BridleError("the host is gone")
        match message["method"]:
            case "initialize":
                announced = {**INITIALIZED, "capabilities": {"tools": {"listChanged": True}}}
                return {"jsonrpc": "2.0", "id": message["id"], "result": announced}
            case "tools/list":
                return {"jsonrpc": "2.0", "id": message["id"], "result": {"tools": self.tools}}
            case "tools/call":
                content = [{"type": "text", "text": server}]
                return {"jsonrpc": "2.0", "id": message["id"], "result": {"content": content}}
            case _:
                return {"jsonrpc": "2.0", "result": {}}


def _sdk(name: str) -> Server:
    return Server(name=name, config=SdkServer(name=name), scope="dynamic")


async def test_server_in_the_host_is_greeted_and_called_through_one_function():
    host = FakeHost()
    async with asyncio.timeout(50), connected(_sdk("calc"), exchange=host) as servers:
        assert [(state.name, state.status, state.source) for state in servers.status()] == [
            ("calc", "connected", "sdk")
        ]
        assert (await servers.call("calc", "add", {}))["content"][0]["text"] == "calc"
    assert [(each.get("id"), each["method"]) for each in host.messages] == [
        (0, "initialize"), (None, "notifications/initialized"), (1, "tools/list"), (2, "tools/call"),
    ]  # fmt: skip
    assert host.messages[0]["params"]["protocolVersion"] == "2025-11-25"


async def test_message_that_the_host_brings_is_taken():
    host = FakeHost()
    async with asyncio.timeout(50), connected(_sdk("calc"), exchange=host) as servers:
        host.tools.append({"name": "sub", "inputSchema": {"type": "object"}})
        servers.message("calc", {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        await eventually(lambda: len(servers.tools()) == 2)
        servers.message("nobody", {"method": "x"})


async def test_servers_of_the_host_can_be_added_later():
    async with asyncio.timeout(50), connected(exchange=FakeHost()) as servers:
        servers.add_sdk(["calc", "calc"])
        await servers.settle()
        assert [state.status for state in servers.status()] == ["connected"]


async def test_host_that_is_gone_is_told():
    async with asyncio.timeout(50), connected(_sdk("gone"), exchange=FakeHost()) as servers:
        assert "the host is gone" in (servers.status()[0].error or "")


async def test_without_a_host_there_is_no_way():
    async with asyncio.timeout(50), connected(_sdk("calc")) as servers:
        assert servers.status()[0].status == "failed"
        with pytest.raises(McpError):
            await servers.call("calc", "add", {})
