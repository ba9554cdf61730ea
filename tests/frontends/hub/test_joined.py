"""Sessions of a machine at its hub: at a terminal, in print mode, in the background, in process."""

import asyncio
import os
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from bridle.frontends.hub import identity
from bridle.frontends.remote.joining import agent_socket
from bridle.sdk import ClaudeSDKClient, Options
from tests.fakes.jobs import background
from tests.fakes.messages_server import step
from tests.fakes.processes import eventually
from tests.fakes.program import Program
from tests.frontends.hub.scene import Client, Scene, Stream, hub_at
from tests.frontends.tui.app.session import bridle

_CALL = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "touch made.txt"}}


class Agent:
    """`bridle hub agent` without folders, for the sessions of one home."""

    def __init__(self, scene: Scene, program: Program) -> None:
        self.scene = scene
        self.program = program
        self.process: Any = None

    async def join(self) -> None:
        code = await self.scene.hub.write(identity.make_code, kind="machine", role="", name="box")
        run = await self.program.start("hub", "join", self.scene.nobody.url, code, "--no-run", "--no-folder")
        out, complaints = await run.communicate()
        assert run.returncode == 0, (out, complaints)

    async def work(self) -> None:
        self.process = await self.program.start("hub", "agent")

    async def end(self, number: signal.Signals = signal.SIGINT) -> None:
        if self.process is not None and self.process.returncode is None:
            self.process.send_signal(number)
            async with asyncio.timeout(60):
                await self.process.wait()


@asynccontextmanager
async def agent_for(program: Program, folder: Path) -> AsyncGenerator[Agent]:
    async with hub_at(folder / "hub") as scene:
        agent = Agent(scene, program)
        await agent.join()
        await agent.work()
        try:
            yield agent
        finally:
            await agent.end()


async def _session(stream: Stream, **wanted: Any) -> dict[str, Any]:
    """The first session in the lists that looks like this."""
    while (event := await stream.next()) is not None:
        for each in (*event.get("sessions", ()), *event.get("changed", ())):
            facts = {**each["external_metadata"], **each}
            if all(facts.get(name) == value for name, value in wanted.items()):
                return each
    raise AssertionError("the stream ended")


async def _said(phone: Client, id: str) -> list[str]:
    page = await phone.get(f"/api/sessions/{id}/events")
    frames = [each["frame"] for each in page["events"] if each["frame"]["type"] == "assistant"]
    return [block["text"] for each in frames for block in each["message"]["content"] if "text" in block]


async def _answer(phone: Client, **answer: Any) -> None:
    async with phone.stream("/api/stream") as stream:
        asked = await stream.until(lambda each: each.get("questions"))
    (question,) = asked["questions"]
    named = {"request_id": question["request_id"], "digest": question["digest"]}
    assert (await phone.act(question["session"], "answer", **named, **answer)).status == 200


async def test_a_session_at_a_terminal_is_seen_answered_and_steered_at_the_hub(tmp_path: Path):
    script = [step(_CALL), step("Made."), step("Again.")]
    async with (
        bridle(tmp_path, script, settings={"bridleJoinHub": True}) as terminal,
        agent_for(terminal.program, tmp_path) as agent,
    ):
        await terminal.ready()
        await terminal.until_text("at the hub")
        phone = await agent.scene.device()
        async with phone.stream("/api/stream") as stream:
            session = await _session(stream, worker_status="idle", joined=True)
            id = session["id"]
            await terminal.say("make it")
            await _session(stream, worker_status="requires_action")
        await _answer(phone, behavior="allow")
        await terminal.until_text("Answered by phone, by remote control.")
        await terminal.until_text("Made.")
        assert (terminal.program.project / "made.txt").exists()

        await phone.act(id, "prompt", text="once more")
        await terminal.until_text("From phone, by remote control:")
        await terminal.until_text("Again.")
        await phone.act(id, "rename", title="the attic")
        async with phone.stream("/api/stream") as stream:
            await _session(stream, name="the attic")
        # What only the person at the terminal may do stays there.
        for do in ("end", "model"):
            await phone.act(id, do, model="opus")
        await phone.act(id, "prompt", text="/permissions allow Bash")
        async with phone.stream(f"/api/stream?follow={id}:0") as stream:
            refused = set[str]()
            while len(refused) < 3:
                for each in (await stream.next()).get("events", ()):
                    if "refuses" in (text := each["frame"].get("content", "")):
                        refused.add(text)

        # The agent is killed and comes back: the same session is there again, with nothing doubled.
        await agent.end(signal.SIGKILL)
        await terminal.until(lambda screen: "at the hub" not in screen.text)
        await agent.work()
        await terminal.until_text("at the hub")
        assert await _said(phone, id) == ["Made.", "Again."]
        assert len((await phone.get("/api/state"))["sessions"]) == 1
        await terminal.say("/hub off")
        async with phone.stream("/api/stream") as stream:
            await _session(stream, id=id, worker_status="completed")


async def test_print_mode_waits_for_an_answer_at_the_hub_only_where_it_was_asked_to(tmp_path: Path):
    script = [step(_CALL, when="waits"), step("Made.", when="waits"), step(_CALL), step("Not made.")]
    async with background(tmp_path, script) as scene, agent_for(scene.program, tmp_path) as agent:
        phone = await agent.scene.device()
        running = await scene.program.start("-p", "this waits", "--join-hub")
        await _answer(phone, behavior="allow")
        out, complaints = await running.communicate()
        assert (running.returncode, out) == (0, b"Made.\n"), complaints
        (scene.program.project / "made.txt").unlink()

        done = await scene.run("-p", "this one does not", BRIDLE_JOIN_HUB="1")
        assert done.out == "Not made.\n"
        assert not (scene.program.project / "made.txt").exists()
        async with phone.stream("/api/stream") as stream:
            over = set[str]()
            while len(over) < 2:
                event = await stream.next()
                rows = (*event.get("sessions", ()), *event.get("changed", ()))
                over |= {each["id"] for each in rows if each["worker_status"] == "completed"}


async def test_a_background_session_joins_and_one_that_is_killed_is_told(tmp_path: Path):
    async with background(tmp_path, [step("Done.")]) as scene, agent_for(scene.program, tmp_path) as agent:
        phone = await agent.scene.device()
        job = await scene.start("--join-hub", "do it")
        facts = await scene.until_state(job, "done")
        async with phone.stream("/api/stream") as stream:
            session = await _session(stream, worker_status="idle")
        await _until_said(phone, session["id"], ["Done."])
        os.kill(facts["pid"], signal.SIGKILL)
        async with phone.stream("/api/stream") as stream:
            await _session(stream, worker_status="failed")


async def test_a_session_in_process_joins_too(tmp_path: Path):
    async with (
        background(tmp_path, [step("In process.")]) as scene,
        agent_for(scene.program, tmp_path) as agent,
    ):
        phone = await agent.scene.device()
        env = {**scene.program.env, "BRIDLE_JOIN_HUB": "1"}
        async with ClaudeSDKClient(Options(cwd=str(scene.program.project), env=env)) as client:
            await client.query("hello")
            async for _ in client.receive_response():
                pass
            async with phone.stream("/api/stream") as stream:
                session = await _session(stream, joined=True)
            await _until_said(phone, session["id"], ["In process."])


async def _until_said(phone: Client, id: str, texts: list[str]) -> None:
    async with asyncio.timeout(60), phone.stream(f"/api/stream?follow={id}:0") as stream:
        while await _said(phone, id) != texts:
            await stream.next()


async def test_whoever_speaks_something_else_at_the_socket_harms_no_one(tmp_path: Path):
    async with background(tmp_path, [step("Fine.")]) as scene, agent_for(scene.program, tmp_path) as agent:
        phone, path = await agent.scene.device(), Path(agent_socket(scene.program.env))
        await eventually(path.exists, seconds=30)
        assert path.stat().st_mode & 0o777 == 0o600
        for words in (
            b"",
            b"\n",
            b"{}\n",
            b'{"hello": 1}\n',
            b"[" * 2_000 + b"\n",
            b'{"hello": {"name": "x"}}\n',
        ):
            reader, writer = await asyncio.open_unix_connection(str(path))
            writer.write(words)
            writer.write_eof()
            assert await reader.read() == b""
            writer.close()
        hello = b'{"hello": {"conversation": "c", "name": "odd", "cwd": "/", "pid": 1}}\n'
        reader, writer = await asyncio.open_unix_connection(str(path))
        writer.write(hello + b'{"frame": {"type": 7}}\nnonsense\n')
        writer.write_eof()
        assert await reader.read() == b""
        writer.close()
        done = await scene.run("-p", "hello", "--join-hub")
        assert done.out == "Fine.\n"
        async with phone.stream("/api/stream") as stream:
            await _session(stream, worker_status="completed")
