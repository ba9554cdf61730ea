"""A leader whose teammates have processes of their own in a real tmux, with a host program that leads it."""

import asyncio
import json
import os
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.fakes.host import FakeHost
from tests.fakes.messages_server import MessagesServer, Script, Step, step
from tests.fakes.processes import is_running
from tests.fakes.program import Program

HELPER = {"helper": {"description": "Helps.", "prompt": "You help."}}


def use(name: str, number: int = 1, /, **input: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": input}


def hire(name: str = "ann", number: int = 1, prompt: str = "THE-JOB", **more: Any) -> dict[str, Any]:
    return use("Agent", number, description="d", prompt=prompt, subagent_type="helper", name=name, **more)


def by_helper(*content: Any, **options: Any) -> Step:
    """An answer to a teammate, whom its system prompt gives away."""
    return step(*content, **{"when": "You help.", **options})


def said_to(name: str, *content: Any, **options: Any) -> Step:
    """The same to one teammate among several."""
    return step(*content, when=f"You are `{name}` in the team", **options)


class Leader(FakeHost):
    """A session that leads, the model behind it, and the panes beside it."""

    server: MessagesServer
    program: Program
    rooms: str

    async def tmux(self, *words: str) -> list[str]:
        """What the server of the team says."""
        process = await asyncio.create_subprocess_exec(
            "tmux", "-L", "bridle-blue", *words,
            env={**os.environ, "TMUX_TMPDIR": self.rooms},
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        out, _ = await process.communicate()
        return out.decode().splitlines()

    async def pids(self) -> dict[str, int]:
        """The processes in the panes, by their titles."""
        rows = await self.tmux("list-panes", "-a", "-F", "#{pane_title} #{pane_pid}")
        return {name: int(pid) for name, pid in (row.rsplit(" ", 1) for row in rows)}

    async def begun(self, name: str = "ann") -> int:
        """The process of a teammate, once one has been asked to do something."""
        pids: dict[str, int] = {}
        async with asyncio.timeout(50):
            while name not in pids or not self.bodies(helpers=True):
                pids = await self.pids()
        return pids[name]

    async def screen(self, *, holds: str, seconds: float = 15) -> None:
        """Wait until the first pane shows some text."""
        async with asyncio.timeout(seconds):
            while holds not in "\n".join(await self.tmux("capture-pane", "-p", "-t", "bridle-blue")):
                pass

    def bodies(self, *, helpers: bool) -> list[Any]:
        """What the model was asked, by teammates or by the leader."""
        every = [each.body for each in self.server.requests if each.raw.startswith(b"{")]
        return [body for body in every if ("You help." in json.dumps(body.get("system"))) == helpers]

    async def task(self, status: str = "completed") -> Any:
        """The next job that ends like this."""
        return await self.until(
            lambda frame: frame.get("subtype") == "task_notification" and frame.get("status") == status
        )

    def transcripts(self) -> list[Path]:
        """Conversations with their own files, agents of a session not among them."""
        return [path for path in self.program.transcripts() if path.parent.name != "subagents"]


@asynccontextmanager
async def leader(
    folder: Path,
    script: Script,
    *flags: str,
    settings: dict[str, Any] | None = None,
    mode: str | None = "tmux",
    **env: str,
) -> AsyncGenerator[Leader]:
    """A leader that runs outside of tmux; nothing of its team is left afterwards."""
    async with MessagesServer(script) as server:
        # Sockets have short names, and the folders of tests long ones.
        with tempfile.TemporaryDirectory(prefix="bt-") as rooms:
            program = Program(
                folder,
                server.url,
                CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS="1",
                CLAUDE_CODE_TEAM_NAME="blue",
                CLAUDE_CODE_DISABLE_AUTO_MEMORY="1",
                TMUX_TMPDIR=rooms,
                XDG_RUNTIME_DIR=rooms,
                **env,
            )
            for name in ("TMUX", "TMUX_PANE"):
                program.env.pop(name, None)
            config = program.home / ".claude"
            config.mkdir(exist_ok=True)
            (config / "settings.json").write_text(json.dumps(settings or {}), encoding="utf-8")
            program.env["BRIDLE_TRUST_FOLDER"] = str(program.project)
            chosen = () if mode is None else ("--teammate-mode", mode)
            given = ("--agents", json.dumps(HELPER), *chosen, *flags)
            made = Leader(program, *given)
            made.server, made.program, made.rooms = server, program, rooms
            try:
                async with made:
                    yield made
            finally:
                pids = (await made.pids()).values()
                await made.tmux("kill-server")
                for pid in pids:
                    if is_running(pid):
                        os.kill(pid, 9)
