"""Calls that take so long that they continue in the background."""

import asyncio
import os
import os.path
import time
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from bridle.host.files import make_folders
from bridle.mcp.catalog import ServerTool
from bridle.mcp.connection import Connection
from bridle.types.block import ResultContent
from bridle.types.errors import McpError
from bridle.types.services.tasks import Task
from bridle.types.tool import ToolContext, ToolOutput

_USUAL = 120_000
_LETTERS = "0123456789abcdefghijklmnopqrstuvwxyz"


def patience_of(env: Mapping[str, str]) -> float | None:
    """How many seconds a call may hold up the conversation; None for as long as it takes."""
    given = env.get("CLAUDE_CODE_MCP_AUTO_BACKGROUND_MS", "").strip()
    number = int(given) if given.isdecimal() else _USUAL
    return number / 1000 if number else None


def move(
    calling: asyncio.Future[dict[str, Any]],
    read: Callable[[dict[str, Any]], ToolOutput],
    connection: Connection,
    tool: ServerTool,
    ctx: ToolContext,
) -> ToolOutput:
    """Let a call continue as a background job; its end is news like that of any other job."""
    name = "m" + "".join(_LETTERS[byte % 36] for byte in os.urandom(8))
    task = Task(
        id=name,
        kind="mcp_call",
        description=f"{connection.server.name}: {tool.name}",
        call_id=ctx.call_id,
        command=tool.full_name,
        output_file=os.path.join(ctx.storage, "tasks", f"{name}.output"),
        started=time.time(),
    )
    tasks = ctx.workspace.tasks
    stopped = asyncio.Event()

    async def stop() -> None:
        stopped.set()
        calling.cancel()

    async def attend() -> None:
        try:
            output = read(await calling)
            text, failed = _text(output.content), output.is_error
        except McpError as error:
            text, failed = str(error), True
        except asyncio.CancelledError:
            calling.cancel()
            text, failed = "The call was stopped.", True
            if not stopped.is_set():
                raise
        _write(task.output_file, text)
        status = "killed" if stopped.is_set() else "failed" if failed else "completed"
        tasks.change(msgspec.structs.replace(task, status=status, ended=time.time(), result=text[:2_000]))

    tasks.begin(task, stop)
    connection.keep(attend())
    notice = (
        f"{tool.full_name} is slow and continues in the background as {name}. You will be notified when "
        f"it is done; its result will be in {task.output_file}."
    )
    return ToolOutput(content=notice, data={"backgroundTaskId": name, "outputFile": task.output_file})


def _text(content: str | list[ResultContent]) -> str:
    if isinstance(content, str):
        return content
    return "\n\n".join(
        block["text"] if block["type"] == "text" else f"[{block['type']}]" for block in content
    )


def _write(path: str, text: str) -> None:
    try:
        make_folders(os.path.dirname(path), private=True)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with open(handle, "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
    except OSError:
        pass  # The job's own result says the beginning of it.
