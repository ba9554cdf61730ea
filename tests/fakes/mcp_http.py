"""An MCP endpoint on 127.0.0.1 that a test scripts, request by request."""

import asyncio
import json
import socket
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from tests.fakes.forked import official_python
from tests.fakes.http_server import Heard, HttpServer, Wire, head
from tests.fakes.processes import eventually

INITIALIZED = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "fake", "version": "1"},
}
TOOLS = {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}


class Reply(NamedTuple):
    body: Any = b""
    """Bytes as they are, anything else as JSON."""
    status: int = 200
    headers: Mapping[str, str] = MappingProxyType({})
    stays: bool = False
    """The connection is left open after the body, which then has no end."""


class Asked(NamedTuple):
    method: str
    target: str
    headers: dict[str, str]
    message: Any

    @property
    def rpc(self) -> str:
        return self.message.get("method", "") if isinstance(self.message, dict) else ""


class FakeEndpoint(HttpServer):
    """Answers with what `answer` makes of a request; None is an empty 202. One request to a connection."""

    def __init__(self, answer: Callable[[Asked], Reply | None]) -> None:
        super().__init__()
        self._answer = answer
        self.asked: list[Asked] = []
        self.left = asyncio.Event()
        """Set when a client closed a connection that was left open for it."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    def methods(self) -> list[str]:
        return [each.rpc or each.method for each in self.asked]

    async def answer(self, request: Heard, wire: Wire) -> bool:
        message = request.body if request.raw else None
        asked = Asked(request.method, request.path, request.headers, message)
        self.asked.append(asked)
        reply = self._answer(asked) or Reply(status=202)
        body = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
        kind = {} if isinstance(reply.body, bytes) else {"Content-Type": "application/json"}
        length = {} if reply.stays else {"Content-Length": str(len(body))}
        told = {**kind, **length, "Connection": "close", **reply.headers}
        await wire.send(head(reply.status, told) + body)
        if reply.stays:
            await wire.closed()
            self.left.set()
        return False


def result(asked: Asked, value: Any, **headers: str) -> Reply:
    """The answer to a request as JSON."""
    return Reply({"jsonrpc": "2.0", "id": asked.message["id"], "result": value}, headers=headers)


def error(asked: Asked, code: int, *, status: int = 200, data: Any = None) -> Reply:
    fault = {"code": code, "message": "refused", **({} if data is None else {"data": data})}
    return Reply({"jsonrpc": "2.0", "id": asked.message["id"], "error": fault}, status=status)


def events(*messages: Any, stays: bool = False, tail: bytes = b"") -> Reply:
    """A stream of events, each with an id."""
    body = b"".join(
        f"id: {number}\nevent: message\ndata: {json.dumps(message)}\n\n".encode()
        for number, message in enumerate(messages, 1)
    )
    return Reply(body + tail, headers={"Content-Type": "text/event-stream"}, stays=stays)


def usual(asked: Asked) -> Reply | None:
    """What a small server with a handshake says."""
    match asked.rpc:
        case "initialize":
            return result(asked, INITIALIZED, **{"Mcp-Session-Id": "session-1"})
        case "tools/list":
            return result(asked, TOOLS)
        case "tools/call":
            return result(asked, {"content": [{"type": "text", "text": "called"}]})
        case "server/discover":
            return Reply(b"what?", status=400)
        case _:
            return Reply(status=405) if asked.method in ("GET", "DELETE") else None


@asynccontextmanager
async def official(*how: str) -> AsyncGenerator[int, None]:
    """The official server as a process of its own (`http`, `sse`, and words for oddities); gives its port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    kind, *more = how
    program = str(Path(__file__).parent / "mcp_everything.py")
    process = await asyncio.create_subprocess_exec(
        official_python(), program, kind, str(port), *more,
        stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        await eventually(lambda: _listens(port))
        yield port
    finally:
        process.kill()
        await process.wait()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
