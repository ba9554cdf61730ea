"""Jobs with a home of their own, and a look at what they leave behind."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from bridle.host.jobs import launcher, protocol, records
from bridle.host.jobs.paths import jobs_dir, roster_file, socket_file
from bridle.host.jobs.supervisor import running
from tests.fakes.messages_server import MessagesServer, Script
from tests.fakes.processes import eventually, is_running
from tests.fakes.program import Done, Program
from tests.frontends.tui.app.session import QUIET, Terminal

MARK = "BRIDLE_TEST_HOME"


class Home:
    """The jobs of one user."""

    def __init__(self, path: Path, env: Mapping[str, str]) -> None:
        self.path = str(path)
        self.env = {**os.environ, MARK: self.path, "BRIDLE_SUPERVISOR_IDLE_MS": "60000", **env}

    async def shell(self, command: str, **facts: Any) -> str:
        """Start a shell job; returns its id."""
        argv = ["/bin/sh", "-c", command]
        given = {"kind": "shell", "argv": argv, "cwd": "/", "rows": 24, "columns": 80, **facts}
        return (await asyncio.to_thread(launcher.start, self.path, given, env=self.env))["id"]

    def folder(self, job: str) -> str:
        return os.path.join(jobs_dir(self.path), job)

    def facts(self, job: str) -> dict[str, Any]:
        return records.read(self.folder(job)) or {}

    def shown(self, job: str) -> str:
        try:
            return Path(self.folder(job), "output").read_bytes().decode()
        except FileNotFoundError:
            return ""

    async def ended(self, job: str) -> dict[str, Any]:
        """Wait until a job is over."""
        await eventually(lambda: "endedAt" in self.facts(job))
        return self.facts(job)

    def roster(self) -> dict[str, Any]:
        try:
            return json.loads(Path(roster_file(self.path)).read_bytes())["bridle"]
        except FileNotFoundError:
            return {}

    def supervisors(self) -> list[int]:
        return [pid for pid in processes(self.path) if "jobs.supervisor" in _command(pid)]

    async def close(self) -> None:
        """End everything in an orderly way; whatever is left after that is a fault."""
        for folder in records.folders(self.path):
            facts = records.settle(folder)
            if facts is not None and not records.is_ended(facts):
                await asyncio.to_thread(_stop, facts)
        if (found := running(self.path)) is not None:
            os.kill(found[0], signal.SIGTERM)
        await eventually(lambda: not processes(self.path))


@asynccontextmanager
async def jobs_home(path: Path, **env: str) -> AsyncGenerator[Home]:
    """A home whose jobs are gone afterwards; a test that leaves anything running fails."""
    path.mkdir(exist_ok=True)
    home = Home(path, env)
    try:
        yield home
        await home.close()
    finally:
        for pid in processes(home.path):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        # One that a test has killed leaves its socket to the next.
        with suppress(FileNotFoundError):
            os.unlink(socket_file(home.path, "supervisor"))


def processes(mark: str) -> list[int]:
    """The processes that were started for a home and still do something."""
    wanted = f"{MARK}={mark}".encode()
    found: list[int] = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError):
            if wanted in Path("/proc", name, "environ").read_bytes().split(b"\0") and is_running(int(name)):
                found.append(int(name))
    return found


class Background:
    """bridle as somebody uses it who lets sessions go on in the background."""

    def __init__(self, program: Program, server: MessagesServer, home: Home) -> None:
        self.program = program
        self.server = server
        self.home = home

    async def run(self, *argv: str, **env: str) -> Done:
        return await self.program.run(*argv, **env)

    async def start(self, *argv: str, **env: str) -> str:
        """Start something in the background; returns its id."""
        done = await self.run("--bg", *argv, **env)
        assert done.code == 0, done.err
        return done.out.split()[1]

    async def agents(self, *argv: str) -> list[Any]:
        done = await self.run("agents", "--json", *argv)
        assert done.code == 0, done.err
        return json.loads(done.out)

    async def until_state(self, job: str, state: str) -> dict[str, Any]:
        """Wait until a job stands like this."""
        await eventually(lambda: self.home.facts(job).get("state") == state)
        return self.home.facts(job)

    def terminal(self, *argv: str, size: tuple[int, int] = (80, 24)) -> Terminal:
        """A terminal with the program in it."""
        line = [sys.executable, "-m", "bridle", *argv]
        terminal = Terminal(line, size=size, env=self.program.env, cwd=self.program.project)
        terminal.server, terminal.program = self.server, self.program
        return terminal

    def outputs(self, session_id: str) -> list[Path]:
        """What commands of a session have printed."""
        return list(Path(self.home.path, "projects").rglob(f"{session_id}/tasks/*.output"))

    def transcript(self, session_id: str) -> str:
        (path,) = (each for each in self.program.transcripts() if each.stem == session_id)
        return path.read_text(encoding="utf-8")


@asynccontextmanager
async def background(
    folder: Path, script: Script = (), *, settings: dict[str, Any] | None = None, **env: str
) -> AsyncGenerator[Background]:
    """The program with a home of its own; whatever still runs afterwards is a fault."""
    async with MessagesServer(script) as server:
        home = folder / "home" / ".claude"
        home.mkdir(parents=True, exist_ok=True)
        async with jobs_home(home, **env) as jobs:
            program = Program(folder, server.url, **{**QUIET, MARK: jobs.path, **env})
            program.env["BRIDLE_TRUST_FOLDER"] = str(program.project)
            program.env["BRIDLE_SUPERVISOR_IDLE_MS"] = jobs.env["BRIDLE_SUPERVISOR_IDLE_MS"]
            if settings is not None:
                (home / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
            yield Background(program, server, jobs)


class Attached:
    """Somebody who looks at a job."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._frames = protocol.Frames()
        self.shown = bytearray()
        self.frames: list[tuple[bytes, bytes]] = []
        self._following = asyncio.create_task(self._follow())

    @classmethod
    async def to(cls, facts: Mapping[str, Any], *, rows: int = 24, columns: int = 80) -> "Attached":
        reader, writer = await asyncio.open_unix_connection(facts["socket"])
        attached = cls(reader, writer)
        attached.say(protocol.message(protocol.ATTACH, rows=rows, columns=columns))
        return attached

    def say(self, data: bytes) -> None:
        self._writer.write(data)

    def type(self, text: str) -> None:
        self.say(protocol.frame(protocol.INPUT, text.encode()))

    async def until(self, text: bytes) -> None:
        await eventually(lambda: text in self.shown)

    async def close(self) -> None:
        self._writer.close()
        await self._following

    async def _follow(self) -> None:
        with suppress(OSError):
            while data := await self._reader.read(65536):
                for kind, payload in self._frames.feed(data):
                    self.frames.append((kind, payload))
                    self.shown += payload if kind == protocol.OUTPUT else b""


def _stop(facts: Mapping[str, Any]) -> None:
    with suppress(OSError), protocol.connect(facts["socket"], seconds=20) as connection:
        connection.sendall(protocol.frame(protocol.STOP))
        while connection.recv(4096):
            pass


def _command(pid: int) -> str:
    try:
        return Path("/proc", str(pid), "cmdline").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
