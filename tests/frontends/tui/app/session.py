"""bridle in a real terminal, talking to a model that answers from a script."""

import asyncio
import json
import shlex
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.fakes.messages_server import MessagesServer, Script
from tests.fakes.program import Program
from tests.fakes.terminal import PtyProgram

READY = "? for keys"
QUIET = {
    "CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION": "0",
    "CLAUDE_CODE_ENABLE_AWAY_SUMMARY": "0",
    "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
    "BRIDLE_TITLES": "0",
}
"""Nothing asks the model but the test."""


class Terminal(PtyProgram):
    """The program with the server that it talks to."""

    server: MessagesServer
    program: Program

    async def ready(self) -> None:
        """Wait until the prompt can be typed into."""
        await self.until_text(READY)

    async def idle(self) -> None:
        """Wait until no turn runs: the end of an answer is on the screen before its turn has ended."""
        begun, ended = b"\x1b]9;4;3;", b"\x1b]9;4;0;"
        await self.until(lambda _: self.output.rfind(ended) >= self.output.rfind(begun))

    async def say(self, text: str) -> None:
        """Type a line, see it echoed, and send it."""
        self.type(text)
        await self.until_text(text[-20:])
        self.type("\r")

    @property
    def asked(self) -> list[Any]:
        """What the model was asked, the newest last."""
        return [request.body for request in self.server.requests if request.path.startswith("/v1/messages")]


@asynccontextmanager
async def bridle(
    folder: Path,
    script: Script = (),
    *flags: str,
    size: tuple[int, int] = (80, 24),
    trusted: bool = True,
    settings: dict[str, Any] | None = None,
    project_settings: dict[str, Any] | None = None,
    under_shell: bool = False,
    **env: str,
) -> AsyncGenerator[Terminal]:
    """Start the program in a folder of its own."""
    async with MessagesServer(script) as server:
        program = Program(folder, server.url, **{**QUIET, **env})
        config = program.home / ".claude"
        config.mkdir(exist_ok=True)
        if settings is not None:
            (config / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
        if project_settings is not None:
            (program.project / ".claude").mkdir()
            (program.project / ".claude" / "settings.json").write_text(
                json.dumps(project_settings), encoding="utf-8"
            )
        if trusted:
            program.env["BRIDLE_TRUST_FOLDER"] = str(program.project)
        argv = [sys.executable, "-m", "bridle", *flags]
        if under_shell:
            # A shell that takes the program up again once it was stopped and a line was typed.
            argv = ["bash", "-c", f"set -m; {shlex.join(argv)}; echo stopped; read line; fg"]
        terminal = Terminal(argv, size=size, env=program.env, cwd=program.project)
        terminal.server, terminal.program = server, program
        async with terminal:
            yield terminal
        # Connections that were just accepted must reach their handlers before the server closes.
        for _ in range(5):
            await asyncio.sleep(0)
