import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from tests.fakes.host import FakeHost
from tests.fakes.mcp_session import FAKES
from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.processes import eventually
from tests.fakes.program import Program, lines, user

PLAIN: dict[str, Any] = {"command": sys.executable, "args": ["-I", str(FAKES / "mcp_plain.py")]}


def _call(name: str, **input: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": "toolu_1", "name": name, "input": input}


def _config(**servers: Any) -> str:
    return json.dumps({"mcpServers": servers})


def _init(frames: list[Any]) -> Any:
    return next(frame for frame in frames if frame.get("subtype") == "init")


async def test_tool_of_a_server_is_offered_and_called(tmp_path: Path):
    script = [step(_call("mcp__plain__echo", text="from afar")), step("Done.")]
    async with MessagesServer(script) as server, asyncio.timeout(60):
        done = await Program(tmp_path, server.url).run(
            "-p", "go", "--output-format", "stream-json", "--verbose",
            "--mcp-config", _config(plain=PLAIN, dead={"command": "no-such-thing"}),
            "--allowedTools", "mcp__plain__echo",
        )  # fmt: skip
        first, second = server.requests
    init = _init(done.frames)
    assert init["mcp_servers"] == [
        {"name": "plain", "status": "connected", "source": "dynamic"},
        {"name": "dead", "status": "failed", "source": "dynamic"},
    ]
    assert init["tools"][-2:] == ["mcp__plain__echo", "mcp__plain__reader"]
    offered = {tool["name"]: tool for tool in first.body["tools"]}
    assert offered["mcp__plain__echo"] == {
        "name": "mcp__plain__echo",
        "description": "does echo",
        "input_schema": {"type": "object", "properties": {}},
    }
    result = second.body["messages"][-1]["content"][0]
    assert result["content"] == [{"type": "text", "text": "from afar"}]
    assert done.result["subtype"] == "success"


async def test_call_of_a_server_is_refused_where_nobody_allows_it(tmp_path: Path):
    script = [step(_call("mcp__plain__reader")), step("Then not.")]
    async with MessagesServer(script) as server, asyncio.timeout(60):
        done = await Program(tmp_path, server.url).run(
            "-p", "go", "--output-format", "json", "--mcp-config", _config(plain=PLAIN)
        )
    assert [denial["tool_name"] for denial in done.result["permission_denials"]] == ["mcp__plain__reader"]


async def test_denied_server_offers_nothing(tmp_path: Path):
    async with MessagesServer([step("ok")]) as server, asyncio.timeout(60):
        await Program(tmp_path, server.url).run(
            "-p", "go", "--mcp-config", _config(plain=PLAIN), "--disallowedTools", "mcp__plain"
        )
        (request,) = server.requests
    assert not [tool for tool in request.body["tools"] if tool["name"].startswith("mcp__")]


async def test_server_of_an_untrusted_project_is_not_started_and_that_is_said(tmp_path: Path):
    async with MessagesServer([step("ok"), step("ok")]) as server, asyncio.timeout(60):
        program = Program(tmp_path, server.url)
        marker = tmp_path / "started"
        entry = {"command": "touch", "args": [str(marker)]}
        (program.project / ".mcp.json").write_text(_config(p=entry))
        done = await program.run("-p", "go")
        assert done.code == 0 and not marker.exists()
        assert "this folder is not trusted, ignored: mcpServers.p (.mcp.json)" in done.err
        await program.run("-p", "go", BRIDLE_TRUST_FOLDER=str(program.project))
        assert marker.exists()


async def test_broken_flag_is_a_sentence(tmp_path: Path):
    done = await Program(tmp_path).run("-p", "go", "--mcp-config", "{broken")
    assert done.code == 1 and "--mcp-config" in done.err and "Traceback" not in done.err


async def test_hanging_server_delays_the_first_turn_only_so_long(tmp_path: Path):
    async with MessagesServer([step("ok")]) as server, asyncio.timeout(60):
        hanging = {**PLAIN, "args": [*PLAIN["args"], "mute"]}
        done = await Program(tmp_path, server.url, MCP_CONNECT_TIMEOUT_MS="300").run(
            "-p", "go", "--output-format", "stream-json", "--verbose", "--mcp-config", _config(h=hanging)
        )
    assert _init(done.frames)["mcp_servers"][0]["status"] == "pending"
    assert done.result["subtype"] == "success"


async def test_servers_end_with_the_program(tmp_path: Path):
    pids = tmp_path / "pids"
    entry = {**PLAIN, "args": [*PLAIN["args"], "pid", "parent"], "env": {"PID_FILE": str(pids)}}
    async with MessagesServer([step("ok")]) as server, asyncio.timeout(60):
        await Program(tmp_path, server.url).run("-p", "go", "--mcp-config", _config(p=entry))
    (group,) = [int(line) for line in pids.read_text().split()]
    await eventually(lambda: not _has_group(group))


async def test_server_in_the_host_program_is_reached_over_the_control_protocol(tmp_path: Path):
    script = [step(_call("mcp__calc__add", a=1)), step("Two.")]
    async with MessagesServer(script) as server, asyncio.timeout(60):
        program = Program(tmp_path, server.url)
        process = await program.start(
            "-p", "--output-format", "stream-json", "--verbose", "--input-format", "stream-json",
            "--mcp-config", _config(calc={"type": "sdk", "name": "calc"}), "--allowedTools", "mcp__calc__add",
        )  # fmt: skip
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(lines(user("go")))
        seen: list[str] = []
        async for line in process.stdout:
            frame = json.loads(line)
            if frame["type"] == "control_request" and frame["request"]["subtype"] == "mcp_message":
                message = frame["request"]["message"]
                seen.append(message["method"])
                response = {"subtype": "success", "request_id": frame["request_id"],
                            "response": {"mcp_response": _answer(message)}}  # fmt: skip
                process.stdin.write(lines({"type": "control_response", "response": response}))
            if frame["type"] == "result":
                process.stdin.close()
        await process.wait()
        _, second = server.requests
    assert seen == ["initialize", "notifications/initialized", "tools/list", "tools/call"]
    assert "sum" in json.dumps(second.body["messages"][-1])


def _answer(message: Any) -> Any:
    results: dict[str, Any] = {
        "initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                       "serverInfo": {"name": "calc", "version": "1"}},
        "tools/list": {"tools": [{"name": "add", "inputSchema": {"type": "object"}}]},
        "tools/call": {"content": [{"type": "text", "text": "sum"}]},
    }  # fmt: skip
    if "id" not in message:
        return {"jsonrpc": "2.0", "result": {}}
    return {"jsonrpc": "2.0", "id": message["id"], "result": results[message["method"]]}


def _has_group(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


async def test_tool_that_wants_a_person_is_asked_about_whatever_is_allowed(tmp_path: Path):
    entry = {**PLAIN, "args": [*PLAIN["args"], "person"]}
    flags = ("--mcp-config", _config(plain=entry), "--allowedTools", "mcp__plain__echo")
    script = [
        step(_call("mcp__plain__echo", text="hi")),
        step("ok"),
        step(_call("mcp__plain__echo")),
        step("ok"),
    ]
    async with MessagesServer(script) as server, asyncio.timeout(60):
        program = Program(tmp_path, server.url)
        alone = await program.run("-p", "go", "--output-format", "json", *flags)
        async with FakeHost(program, "--permission-prompt-tool", "stdio", *flags) as host:
            host.prompt("go")
            host.answer(await host.asked(), {"behavior": "allow", "updatedInput": {"text": "seen"}})
            await host.result()
            await host.close()
        last = server.requests[-1].body["messages"][-1]["content"][0]
    assert [each["tool_name"] for each in alone.result["permission_denials"]] == ["mcp__plain__echo"]
    assert last["content"] == [{"type": "text", "text": "seen"}]
