import asyncio
from pathlib import Path

import msgspec
import pytest

from bridle.mcp.timeouts import Timeouts
from bridle.types.errors import McpError, ToolError
from bridle.types.services.mcp import HttpServer, Server
from tests.fakes.mcp_http import Asked, FakeEndpoint, Reply, usual
from tests.fakes.mcp_session import connected, everything, plain
from tests.fakes.processes import eventually
from tests.fakes.tool_context import make_context

_FEW_STEPS = 20
"""More than a task needs that waits for nothing."""


async def test_tools_are_in_the_order_of_their_names_with_those_for_resources():
    async with asyncio.timeout(50), connected(plain(), plain()) as servers:
        assert [tool.name for tool in servers.tools()] == [
            "ListMcpResourcesTool", "ReadMcpResourceDirTool", "ReadMcpResourceTool",
            "mcp__s2__echo", "mcp__s2__reader", "mcp__s__echo", "mcp__s__reader",
        ]  # fmt: skip
        assert servers.tools() is servers.tools()


async def test_claim_to_only_read_lets_calls_run_together_and_nothing_more():
    async with asyncio.timeout(50), connected(plain()) as servers:
        reader = next(tool for tool in servers.tools() if tool.name == "mcp__s__reader")
        echo = next(tool for tool in servers.tools() if tool.name == "mcp__s__echo")
        assert [tool.parallel({}) for tool in (reader, echo)] == [True, False]
        assert [tool.read_only({}) for tool in (reader, echo)] == [False, False]


async def test_server_is_turned_off_and_on_again():
    async with asyncio.timeout(50), connected(plain()) as servers:
        await servers.toggle("s", enabled=False)
        assert (servers.status()[0].status, list(servers.tools())) == ("disabled", [])
        with pytest.raises(McpError, match="disabled"):
            await servers.call("s", "echo", {})
        with pytest.raises(McpError, match="Enable it first"):
            await servers.reconnect("s")
        await servers.toggle("s", enabled=True)
        assert servers.status()[0].status == "connected"
        assert (await servers.call("s", "echo", {"text": "hi"}))["content"][0]["text"] == "hi"


async def test_server_that_policy_refuses_cannot_be_turned_on():
    server = Server(name="s", config=plain(), scope="project", off="denied by deniedMcpServers")
    async with asyncio.timeout(50), connected(server) as servers:
        assert (servers.status()[0].status, servers.status()[0].error) == (
            "disabled",
            "denied by deniedMcpServers",
        )
        with pytest.raises(McpError, match="denied by deniedMcpServers"):
            await servers.toggle("s", enabled=True)


async def test_unknown_server_is_named():
    async with connected() as servers:
        for wrong in (servers.reconnect("x"), servers.call("x", "y", {}), servers.read_resource("x", "y")):
            with pytest.raises(McpError, match="Server not found: x"):
                await wrong


async def test_reconnecting_starts_the_program_anew():
    async with asyncio.timeout(50), connected(plain()) as servers:
        await servers.reconnect("s")
        assert servers.status()[0].status == "connected"


async def test_host_replaces_the_servers_that_it_set():
    async with asyncio.timeout(50), connected(plain()) as servers:
        own = msgspec.to_builtins(plain())
        done = await servers.set_servers(
            {"a": own, "b": own, "bad": {"url": "x"}, "dead": {"command": "nope!"}}
        )
        assert (done.added, done.removed) == (("a", "b", "dead"), ())
        assert sorted(done.errors) == ["bad", "dead"] and "no type" in done.errors["bad"]
        assert [state.name for state in servers.status()] == ["s", "a", "b", "dead"]
        kept = servers._connections["b"]
        done = await servers.set_servers({"b": own})
        assert (done.added, done.removed, done.errors) == ((), ("a", "dead"), {})
        assert servers._connections["b"] is kept
        assert [state.name for state in servers.status()] == ["s", "b"]


async def test_first_turn_waits_a_moment_and_no_longer():
    timing = Timeouts(connect=60.0, first_turn=0.5)
    async with asyncio.timeout(60), connected(plain("mute"), plain(), timing=timing) as servers:
        await eventually(lambda: servers.status()[1].status == "connected")
        assert servers.status()[0].status == "pending"
        again = asyncio.create_task(servers.settle())
        for _ in range(_FEW_STEPS):
            await asyncio.sleep(0)
        assert again.done()


async def test_server_that_is_always_loaded_is_waited_for_where_others_are_not():
    slow = msgspec.structs.replace(everything(), always_load=True)
    async with (
        asyncio.timeout(50),
        connected(slow, plain("mute"), timing=Timeouts(first_turn=0.01)) as servers,
    ):
        assert [state.status for state in servers.status()] == ["connected", "pending"]


async def test_only_so_many_local_servers_start_at_a_time():
    timing = Timeouts(connect=1.0, first_turn=0.4, local_slots=2)
    many = [plain("mute") for _ in range(4)]
    async with asyncio.timeout(50), connected(*many, plain(), timing=timing) as servers:
        assert [state.status for state in servers.status()][-1] == "pending"
        await eventually(lambda: servers.status()[-1].status == "connected")
        assert {state.status for state in servers.status()[:2]} == {"failed"}


async def test_dead_remote_servers_do_not_hold_up_local_ones():
    async with FakeEndpoint(lambda _: None) as endpoint, asyncio.timeout(50):
        dead = [HttpServer(url="http://127.0.0.1:9/") for _ in range(5)]
        async with connected(*dead, HttpServer(url=endpoint.url), plain()) as servers:
            assert servers.status()[-1].status == "connected"
            assert {state.status for state in servers.status()[:5]} == {"failed"}


async def test_lost_remote_server_is_found_again():
    broken: list[bool] = []

    def answer(asked: Asked) -> Reply | None:
        if broken and asked.rpc == "tools/call":
            broken.clear()
            return Reply(b"", headers={"Content-Type": "text/event-stream"})
        return usual(asked)

    async with (
        FakeEndpoint(answer) as endpoint,
        asyncio.timeout(50),
        connected(HttpServer(url=endpoint.url)) as servers,
    ):
        broken.append(True)
        with pytest.raises(McpError):
            await servers.call("s", "echo", {})
        assert "mcp__s__echo" in [tool.name for tool in servers.tools()]
        assert (await servers.call("s", "echo", {}))["content"][0]["text"] == "called"


async def test_resources_are_listed_and_read_by_tools(tmp_path: Path):
    async with asyncio.timeout(50), connected(everything()) as servers:
        await eventually(servers.resources)
        tools = {tool.name: tool for tool in servers.tools()}
        context = make_context(tmp_path)
        lister, reader = tools["ListMcpResourcesTool"], tools["ReadMcpResourceTool"]
        listed = await lister.run(msgspec.convert({}, lister.input), context)
        hello = {"uri": "memo://hello", "name": "hello", "mimeType": "text/plain", "server": "s"}
        assert {**hello, "description": "A greeting."} in listed.data
        read = await reader.run(
            msgspec.convert({"server": "s", "uri": "memo://hello"}, reader.input), context
        )
        assert read.content == [{"type": "text", "text": "[Resource memo://hello]\nHello there."}]
        for wrong in ({"server": "nobody", "uri": "x"}, {"server": "s", "uri": "memo://none"}):
            with pytest.raises(ToolError):
                await reader.run(msgspec.convert(wrong, reader.input), context)
        assert lister.definition is not None and lister.definition.get("input_schema") == {
            "type": "object",
            "properties": {
                "server": {
                    "anyOf": [{"type": "string"}, {"type": "null"}],
                    "default": None,
                    "description": "Only this server.",
                }
            },
            "required": [],
            "additionalProperties": False,
        }


def test_times_come_from_variables_and_nonsense_counts_as_nothing():
    timing = Timeouts.of(
        {"MCP_TIMEOUT": "1500", "MCP_TOOL_TIMEOUT": "x", "MCP_SERVER_CONNECTION_BATCH_SIZE": "0",
         "MCP_REMOTE_SERVER_CONNECTION_BATCH_SIZE": "7", "MCP_PROTOCOL_NEGOTIATION": "legacy",
         "CLAUDE_CODE_MCP_TOOL_IDLE_TIMEOUT": "2000"}
    )  # fmt: skip
    assert (timing.connect, timing.call, timing.local_slots, timing.remote_slots) == (1.5, 100_000.0, 3, 7)
    assert (timing.probes, timing.silence, timing.attempts, timing.give_up) == (False, 2.0, 5, 600.0)
