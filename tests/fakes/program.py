"""Starts bridle as users do: a process with flags, an environment and pipes."""

import asyncio
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tests.fakes.forked import start

_DROPPED = ("ANTHROPIC_", "CLAUDE", "BASH_", "MCP_", "DISABLE_")


class Done(NamedTuple):
    """A finished run."""

    code: int
    out: str
    err: str

    @property
    def frames(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def result(self) -> Any:
        (result,) = [frame for frame in self.frames if frame["type"] == "result"]
        return result


def _served(url: str) -> dict[str, str]:
    """The service to ask, told all tools at once: tests of tools on demand leave the last variable empty."""
    return {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "test-key", "ENABLE_TOOL_SEARCH": "auto"}


class Program:
    """bridle in a folder of its own, with a home of its own."""

    def __init__(self, folder: Path, url: str | None = None, **env: str) -> None:
        self.project = folder / "project"
        self.home = folder / "home"
        self.project.mkdir(exist_ok=True)
        self.home.mkdir(exist_ok=True)
        kept = {key: value for key, value in os.environ.items() if not key.startswith(_DROPPED)}
        self.env = {
            **kept,
            "HOME": str(self.home),
            "CLAUDE_CONFIG_DIR": str(self.home / ".claude"),
            "NO_PROXY": "127.0.0.1",
            # The others change every hour, and have words that a test may wait for.
            "BRIDLE_TIP": "All is well.",
            **(_served(url) if url else {}),
            **env,
        }

    async def start(
        self,
        *argv: str,
        stdin: int = asyncio.subprocess.PIPE,
        stdout: int = asyncio.subprocess.PIPE,
        env: Mapping[str, str] | None = None,
    ) -> asyncio.subprocess.Process:
        return await start(
            argv, cwd=self.project, env={**self.env, **(env or {})}, stdin=stdin, stdout=stdout
        )

    async def run(self, *argv: str, stdin: bytes | str = b"", **env: str) -> Done:
        process = await self.start(*argv, env=env)
        data = stdin.encode() if isinstance(stdin, str) else stdin
        try:
            async with asyncio.timeout(100):
                out, err = await process.communicate(data)
        finally:
            if process.returncode is None:
                process.kill()
                await process.communicate()
        assert process.returncode is not None
        return Done(process.returncode, out.decode(), err.decode())

    def transcripts(self) -> list[Path]:
        return sorted((self.home / ".claude" / "projects").rglob("*.jsonl"))

    def rows(self) -> list[Any]:
        (transcript,) = self.transcripts()
        return [json.loads(line) for line in transcript.read_text().splitlines()]


def lines(*messages: Mapping[str, Any]) -> bytes:
    """Messages for standard input."""
    return b"".join(json.dumps(message).encode() + b"\n" for message in messages)


def user(content: Any, **fields: Any) -> dict[str, Any]:
    return {
        "type": "user",
        "message": {"role": "user", "content": content},
        "parent_tool_use_id": None,
        **fields,
    }
