"""Offline: only the service of the model is reachable, for bridle and for everything that it starts."""

import asyncio
import json
import os
import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from bridle.host.air_gap.gap import AirGap, read_service
from bridle.host.air_gap.service import Service
from bridle.types.errors import ConfigError
from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.processes import eventually
from tests.fakes.program import Done, Program
from tests.frontends.tui.app.session import bridle


def _tool(number: int, name: str, **input: Any) -> Any:
    return step({"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": input})


async def _start(program: Program, *words: str) -> asyncio.subprocess.Process:
    """bridle as a process of its own from its first instruction on."""
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bridle", *words, cwd=program.project, env=program.env,
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip


async def _run(program: Program, *words: str) -> Done:
    process = await _start(program, *words)
    async with asyncio.timeout(100):
        out, err = await process.communicate()
    return Done(process.returncode or 0, out.decode(), err.decode())


def _results(server: MessagesServer) -> list[str]:
    found: list[str] = []
    for request in server.requests[1:]:
        (block,) = request.body["messages"][-1]["content"]
        found.append(block["content"])
    return found


async def test_commands_tools_and_names_reach_nothing_but_the_model(tmp_path: Path):
    with socket.create_server(("127.0.0.1", 0)) as canary:
        canary.setblocking(False)
        port = canary.getsockname()[1]
        calls = [
            _tool(1, "Bash", command="cat /proc/net/dev"),
            _tool(2, "Bash", command=f"exec 3<>/dev/tcp/127.0.0.1/{port} && echo reached"),
            _tool(3, "Bash", command="getent hosts example.com && echo found"),
            _tool(4, "WebFetch", url="https://example.com/", prompt="x"),
            _tool(5, "Bash", command="cat /proc/net/dev"),
            step("done"),
        ]
        async with MessagesServer(calls) as server:
            program = Program(tmp_path, server.url, HTTPS_PROXY=f"http://127.0.0.1:{port}")
            done = await _run(program, "-p", "--offline", "--allowedTools", "Bash", "WebFetch", "--", "go")
            assert (done.code, done.out) == (0, "done\n"), done
            first, reached, named, fetched, last = _results(server)
        for counters in (first, last):
            names = [line.split(":")[0].strip() for line in counters.splitlines()[2:]]
            assert names == ["lo"], counters
        assert "reached" not in reached
        assert "found" not in named
        assert "Offline: example.com:443 is not allowed, only 127.0.0.1:" in fetched
        assert "add it to network.allow" in fetched
        with pytest.raises(BlockingIOError):
            canary.accept()


async def test_settings_turn_it_on_and_name_more_services(tmp_path: Path):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        async with MessagesServer([_tool(1, "Bash", command="cat /proc/net/dev"), step("done")]) as server:
            program = Program(tmp_path, server.url)
            settings = program.home / ".claude" / "settings.json"
            settings.parent.mkdir()
            network = {"mode": "offline", "allow": [f"127.0.0.1:{port}"]}
            settings.write_text(json.dumps({"network": network}))
            done = await _run(program, "-p", "--allowedTools", "Bash", "--", "go")
            assert (done.code, done.out) == (0, "done\n"), done
            assert "eth" not in _results(server)[0]
            settings.write_text(json.dumps({"network": {"mode": "offline", "allow": ["*.example.com"]}}))
            done = await _run(program, "-p", "--", "go")
    assert (done.code, "network.allow: '*.example.com' is no service" in done.err) == (1, True), done


async def test_the_forwarder_ends_with_a_process_that_is_killed(tmp_path: Path):
    async with MessagesServer([step("never", held=True)]) as server:
        program = Program(tmp_path, server.url)
        process = await _start(program, "-p", "--offline", "--", "go")
        await eventually(lambda: len(server.requests) == 1)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        assert children
        process.kill()
        await process.communicate()
        await eventually(lambda: not any(os.path.exists(f"/proc/{child}") for child in children))


def test_services_are_read_as_people_write_them():
    assert read_service("api.example.com") == Service("api.example.com", 443)
    assert read_service("http://Models.local/v1") == Service("models.local", 80)
    assert read_service("10.0.0.5:8000") == Service("10.0.0.5", 8000)
    for text in ("", "*.example.com", "a b", "host:99999"):
        with pytest.raises(ConfigError):
            read_service(text)


def test_a_process_with_threads_is_refused_and_stays_online():
    gap = AirGap()
    with pytest.raises(ConfigError, match="start bridle with --offline"):
        asyncio.run(asyncio.to_thread(gap.close, ()))
    assert not gap.active
    assert gap.way("example.com", 443) is None


async def test_a_session_at_a_terminal_is_offline_too(tmp_path: Path):
    script = [_tool(1, "Bash", command="cat /proc/net/dev"), step("all done")]
    async with bridle(tmp_path, script, "--offline", "--allowedTools", "Bash") as terminal:
        await terminal.ready()
        await terminal.say("go")
        await terminal.until_text("all done")
        (result,) = terminal.asked[-1]["messages"][-1]["content"]
        names = [line.split(":")[0].strip() for line in result["content"].splitlines()[2:]]
        assert names == ["lo"], result
