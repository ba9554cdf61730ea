"""Broken connections, readers that do not read, and processes that are killed at any moment."""

import asyncio
import json
import os
import random
import re
import signal
from asyncio.subprocess import PIPE
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from bridle.frontends.hub import identity
from bridle.frontends.hub.database import connect, database_path
from bridle.types.ids import new_uuid
from tests.fakes.forked import start
from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.processes import eventually
from tests.fakes.program import Program
from tests.frontends.hub.scene import Client, hub_at, said
from tests.frontends.tui.app.session import QUIET


async def test_half_open_connections_and_readers_that_do_not_read_hold_no_one_up(tmp_path: Path):
    async with hub_at(tmp_path) as scene:
        phone, machine = await scene.device(), await scene.machine()
        id, worker, _ = await scene.worker(machine)
        session, port = id.replace("cse_", "session_"), int(scene.nobody.url.rpartition(":")[2])
        broken = [await asyncio.open_connection("127.0.0.1", port) for _ in range(200)]
        head = b"POST /api/pair HTTP/1.1\r\nhost: 127.0.0.1\r\n"
        pieces = (b"", b"GET /api/st", head, head + b"content-length: 99\r\n\r\n{")
        for number, (_, writer) in enumerate(broken):
            writer.write(pieces[number % len(pieces)])
        stuck = [await asyncio.open_connection("127.0.0.1", port, limit=1) for _ in range(10)]
        for _, writer in stuck:
            words = f"GET /api/stream?follow={session}:0 HTTP/1.1\r\nhost: 127.0.0.1\r\n"
            writer.write(f"{words}authorization: Bearer {phone.key}\r\n\r\n".encode())
        path = f"/v1/code/sessions/{id}/worker/events"
        async with phone.stream(f"/api/stream?follow={session}:0") as stream:
            numbers = list[int]()
            for batch in range(20):
                events = [said(f"{batch} {n} {'words ' * 200}") for n in range(100)]
                assert (await worker.post(path, {"events": events}))["accepted"] == 100
                while len(numbers) < (batch + 1) * 100:
                    event = await stream.next()
                    numbers += [each["n"] for each in event.get("events", ())]
        assert numbers == list(range(1, 2_001))
        for _, writer in (*broken, *stuck):
            writer.close()
        assert (await phone.get("/api/me"))["role"] == "start"


async def test_many_readers_that_come_and_go_lose_nothing_and_leave_nothing(tmp_path: Path):
    async with hub_at(tmp_path) as scene:
        phone, machine = await scene.device(), await scene.machine()
        id, worker, _ = await scene.worker(machine)
        session, path = id.replace("cse_", "session_"), f"/v1/code/sessions/{id}/worker/events"
        got = list[int]()
        for n in range(100):
            await worker.post(path, {"events": [said(str(n)), said(f"{n} again")]})
            async with phone.stream(f"/api/stream?follow={session}:{len(got)}") as stream:
                while len(got) < (n + 1) * 2:
                    got += [each["n"] for each in (await stream.next()).get("events", ())]
        assert got == list(range(1, 201))
        # A stream notices that its reader is gone with the next thing it sends.
        await worker.post(path, {"events": [said("last")]})
        await eventually(lambda: len(scene.hub.feed._watches) <= 1, seconds=60)


class World:
    """A hub and a machine as processes of their own, which are killed and started anew."""

    def __init__(self, folder: Path, program: Program) -> None:
        self.folder = folder
        self.program = program
        self.port = 0
        self.hub: Any = None
        self.agent: Any = None
        self.phone: Any = None

    async def start_hub(self) -> None:
        line = ("hub", "serve", "--listen", f"127.0.0.1:{self.port}")
        env = {**os.environ, "CLAUDE_CONFIG_DIR": str(self.folder)}
        self.hub = await start(line, cwd=self.folder, env=env, stdout=PIPE, stderr=PIPE)
        found = re.search(r"http://127.0.0.1:(\d+)", (await self.hub.stdout.readline()).decode())
        assert found is not None, await self.hub.stderr.read()
        self.port = int(found[1])

    async def start_agent(self) -> None:
        self.agent = await self.program.start("hub", "agent")

    def code(self, kind: Any, role: str = "") -> str:
        base = connect(database_path(str(self.folder / "bridle" / "hub")))
        base.execute("BEGIN IMMEDIATE")
        code = identity.make_code(base, kind=kind, role=role, name="")
        base.execute("COMMIT")
        base.close()
        return code

    async def kill(self, what: str) -> None:
        """End a process without a word, and start it anew."""
        if what == "hub":
            self.hub.kill()
            await self.hub.wait()
            await self.start_hub()
        elif what == "agent":
            self.agent.kill()
            await self.agent.wait()
            await self.start_agent()
        else:
            for pid in _sessions_of(self.program):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    async def ask(self, method: str, path: str, body: Any = None) -> Any:
        """Ask until there is an answer: the hub may just be away."""
        async with asyncio.timeout(120):
            while True:
                with suppress(Exception):
                    return await self.phone.send(method, path, body)
                await asyncio.sleep(0)


def _sessions_of(program: Program) -> list[int]:
    """The processes of sessions that a machine has started."""
    home, found = f"HOME={program.home}".encode(), list[int]()
    for name in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError):
            words = Path("/proc", name, "cmdline").read_bytes()
            if b"stream-json" in words and home in Path("/proc", name, "environ").read_bytes().split(b"\0"):
                found.append(int(name))
    return found


@asynccontextmanager
async def world(folder: Path) -> AsyncGenerator[World]:
    async with MessagesServer([step("Fine.", repeat=True)]) as server:
        program = Program(folder, server.url, **QUIET)
        program.env["BRIDLE_TRUST_FOLDER"] = str(program.project)
        made = World(folder, program)
        await made.start_hub()
        url = f"http://127.0.0.1:{made.port}"
        join = await program.start("hub", "join", url, made.code("machine"), "--no-run")
        assert (await join.communicate())[1] == b""
        client = Client(url)
        made.phone = client.with_key(
            (await client.post("/api/pair", {"code": made.code("device", "start")}))["key"]
        )
        await made.start_agent()
        try:
            yield made
        finally:
            for process in (made.agent, made.hub):
                process.terminate()
                await process.communicate()
            await client.close()
        await eventually(lambda: not _sessions_of(program), seconds=60)


@pytest.mark.parametrize("rounds", [3, pytest.param(60, marks=pytest.mark.soak)])
async def test_no_prompt_is_lost_or_done_twice_whatever_is_killed(tmp_path: Path, rounds: int):
    chance = random.Random(rounds)
    async with world(tmp_path) as scene:
        await eventually_answers(scene, "environments")
        state = json.loads((await scene.ask("GET", "/api/state")).body)
        environment = state["environments"][0]["id"]
        wish = {"id": new_uuid(), "environment": environment, "prompt": "round start"}
        id = json.loads((await scene.ask("POST", "/api/sessions", wish)).body)["id"]
        await _until_answered(scene, id, "round start")
        for number in range(rounds):
            what = ("hub", "agent", "session")[number % 3]
            words, request = f"round {number}", {"id": new_uuid(), "do": "prompt", "text": f"round {number}"}
            sending = asyncio.create_task(scene.ask("POST", f"/api/sessions/{id}/act", request))
            for _ in range(chance.randrange(40)):
                await asyncio.sleep(0)
            await scene.kill(what)
            assert (await sending).status == 200
            # Sent again, as a page does that got no answer: it is done once.
            assert (await scene.ask("POST", f"/api/sessions/{id}/act", request)).status == 200
            if what == "session":
                await scene.ask("POST", f"/api/sessions/{id}/act", {"id": new_uuid(), "do": "resume"})
            last = {"id": new_uuid(), "do": "prompt", "text": f"after {number}"}
            await scene.ask("POST", f"/api/sessions/{id}/act", last)
            await _until_answered(scene, id, f"after {number}")
            prompts = await _prompts(scene, id)
            assert prompts.count(words) <= 1 and prompts.count(f"after {number}") == 1, prompts
            assert len(_sessions_of(scene.program)) == 1
        numbers = [each["n"] for each in await _events(scene, id)]
        assert numbers == sorted(set(numbers))


async def eventually_answers(scene: World, name: str) -> None:
    async with asyncio.timeout(120):
        while not json.loads((await scene.ask("GET", "/api/state")).body)[name]:
            await asyncio.sleep(0)


async def _events(scene: World, id: str) -> list[Any]:
    return json.loads((await scene.ask("GET", f"/api/sessions/{id}/events?limit=500")).body)["events"]


async def _prompts(scene: World, id: str) -> list[str]:
    frames = [each["frame"] for each in await _events(scene, id)]
    return [str(each["message"]["content"]) for each in frames if each["type"] == "user"]


async def _until_answered(scene: World, id: str, words: str) -> None:
    """Wait until a prompt has its result."""
    async with asyncio.timeout(120):
        while True:
            frames = [each["frame"] for each in await _events(scene, id)]
            at = next(
                (
                    n
                    for n, each in enumerate(frames)
                    if each["type"] == "user" and words in str(each["message"])
                ),
                None,
            )
            if at is not None and any(each["type"] == "result" for each in frames[at:]):
                return
            await asyncio.sleep(0)
