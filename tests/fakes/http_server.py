"""The one HTTP/1.1 server of the tests; each fake service is a subclass that answers requests."""

import asyncio
import gzip
import json
import ssl
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, NamedTuple, Self

from bridle.host.socket_server import Serve, SocketServer, serve_tcp


class Heard(NamedTuple):
    """A request as it arrived; the names of its headers are in small letters."""

    method: str
    path: str
    headers: dict[str, str]
    raw: bytes
    connection: int = 1
    """Which connection of the server carried it, counted from one."""

    @property
    def body(self) -> Any:
        packed = self.headers.get("content-encoding") == "gzip"
        return json.loads(gzip.decompress(self.raw) if packed else self.raw)


class Wire(NamedTuple):
    """The connection that a request came over."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def closed(self) -> None:
        """Wait until the client hangs up; nothing is sent."""
        with suppress(OSError):
            await self.reader.read()


class HttpServer:
    """Listens on 127.0.0.1, keeps every request, and ends all connections when it is left."""

    def __init__(self, *, tls: ssl.SSLContext | None = None) -> None:
        self._tls = tls
        self._server: SocketServer | None = None
        self.requests: list[Heard] = []
        self.connections = 0
        self.arrived = asyncio.Event()
        """Set when a request arrived; a test may clear it."""
        self.hung_up = asyncio.Event()
        """Set when a client closed a connection in the middle of an answer."""
        self.port = 0

    async def answer(self, request: Heard, wire: Wire) -> bool:
        """Send a response; whether the connection can carry another request."""
        raise NotImplementedError

    async def serve(self, wire: Wire, number: int) -> None:
        """One connection, from its first request to its last."""
        while (request := await receive(wire.reader, connection=number)) is not None:
            self.requests.append(request)
            self.arrived.set()
            if not await self.answer(request, wire):
                await _flush(wire.writer)
                return

    @property
    def origin(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}"

    async def __aenter__(self) -> Self:
        self._server = await serve_tcp(self._accept, "127.0.0.1", 0, limit=2**24, tls=self._tls)
        self.port = self._server.port
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            await self._server.close()
        # A transport that was told to close is closed when the loop comes round again.
        await asyncio.sleep(0)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            await self.serve(Wire(reader, writer), self.connections)
        except (OSError, asyncio.IncompleteReadError):
            self.hung_up.set()
        finally:
            writer.transport.abort()
            with suppress(OSError):
                await writer.wait_closed()


async def receive(reader: asyncio.StreamReader, *, connection: int = 1) -> Heard | None:
    """The next request of a connection, None when there is none."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin-1").split("\r\n")
    method, path, _ = first.split(" ", 2)
    pairs = (line.partition(":") for line in lines if line)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    raw = await reader.readexactly(int(headers.get("content-length", "0")))
    return Heard(method, path, headers, raw, connection)


@asynccontextmanager
async def listening(serve: Serve) -> AsyncGenerator[int]:
    """Answers every connection with a function of the test; yields the port."""
    server = await serve_tcp(serve, "127.0.0.1", 0)
    try:
        yield server.port
    finally:
        await server.close()


def head(status: int | str, headers: Mapping[str, str]) -> bytes:
    """The head of a response."""
    line = status if isinstance(status, str) else f"{status} Status"
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {line}\r\n{lines}\r\n".encode("latin-1")


def response(status: int | str, body: bytes, **headers: str) -> bytes:
    """A whole response with its length; underscores in names of headers are hyphens."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return head(status, {"content-length": str(len(body)), **named}) + body


async def _flush(writer: asyncio.StreamWriter) -> None:
    """Close in good order, so that all of a response arrives."""
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()
