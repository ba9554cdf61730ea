"""What a first request costs: every byte of it is paid by every user, with every model."""

import asyncio
import json
from pathlib import Path
from typing import Any

from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.program import Program
from tests.frontends.tui.app.session import bridle

_MOST_IN_PRINT_MODE = 17_000
_MOST_AT_THE_TERMINAL = 20_000
_ON_DEMAND = {"ENABLE_TOOL_SEARCH": "true"}
_PROMPT = "hi"


def _parts(body: Any) -> dict[str, Any]:
    """Bytes by part, to find what has grown."""
    sizes: dict[str, Any] = {key: len(json.dumps(value)) for key, value in body.items()}
    return {**sizes, "tools": {tool["name"]: len(json.dumps(tool)) for tool in body["tools"]}}


def _bytes_without_the_folder(raw: bytes, folder: Path) -> int:
    """The size of a request in a folder whose name takes no room."""
    return len(raw.replace(str(folder).encode(), b""))


async def test_first_request_of_print_mode_stays_small(tmp_path: Path):
    async with MessagesServer([step("Hi.")]) as server:
        program = Program(tmp_path, server.url, **_ON_DEMAND)
        await program.run("-p", _PROMPT)
    request = server.requests[0]
    assert _bytes_without_the_folder(request.raw, program.project) <= _MOST_IN_PRINT_MODE, _parts(
        request.body
    )


async def test_first_request_at_the_terminal_stays_small(tmp_path: Path):
    env: dict[str, Any] = {**_ON_DEMAND, "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "0"}
    async with bridle(tmp_path, [step("Hello there.")], **env) as terminal:
        await terminal.ready()
        await terminal.say(_PROMPT)
        async with asyncio.timeout(60):
            await terminal.until_text("Hello there.")
    request = next(each for each in terminal.server.requests if "tools" in each.body)
    size = _bytes_without_the_folder(request.raw, terminal.program.project)
    assert size <= _MOST_AT_THE_TERMINAL, _parts(request.body)
