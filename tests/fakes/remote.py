"""Somebody elsewhere: a client of a shared session, and a line between them that breaks."""

import asyncio
import json
import random
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, NamedTuple

from bridle.types.ids import new_uuid
from tests.fakes.http_server import HttpServer, Wire


class Answered(NamedTuple):
    """A response that came whole."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class RemoteClient:
    """Talks to the server of a session over a socket of its own."""

    def __init__(self, port: int, token: str, *, name: str = "Phone") -> None:
        self.port = port
        self.token = token
        self._name = name

    async def send(
        self, method: str, path: str, body: bytes | None = None, **headers: str | None
    ) -> Answered:
        """One request; a header that is None is left out, underscores stand for dashes."""
        reader, writer = await self._ask(method, path, body, headers)
        try:
            async with asyncio.timeout(50):
                data = await reader.read()
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()
        return _read(data)

    async def get(self, path: str, **headers: str | None) -> Answered:
        return await self.send("GET", path, None, **headers)

    async def post(self, path: str, value: Any, **headers: str | None) -> Answered:
        usual: dict[str, str | None] = {"content_type": "application/json"}
        return await self.send("POST", path, json.dumps(value).encode(), **{**usual, **headers})

    async def shared_session(self) -> str:
        """The id of the session."""
        sessions = (await self.get("/api/sessions")).json["sessions"]
        return sessions[0]["id"]

    async def act(self, shared_session: str, *, id: str | None = None, **wish: Any) -> Answered:
        return await self.post(f"/api/sessions/{shared_session}/act", {"id": id or new_uuid(), **wish})

    @asynccontextmanager
    async def follow(
        self, shared_session: str, *, epoch: str = "", after: int = 0
    ) -> AsyncGenerator["Stream"]:
        """Everything that happens, from a place on."""
        path = f"/api/sessions/{shared_session}/events?epoch={epoch}&after={after}"
        reader, writer = await self._ask("GET", path, None, {})
        try:
            stream = Stream(reader)
            await stream.open()
            yield stream
        finally:
            writer.transport.abort()
            with suppress(OSError):
                await writer.wait_closed()

    async def _ask(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str | None]
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        usual: dict[str, str | None] = {
            "host": f"127.0.0.1:{self.port}",
            "authorization": f"Bearer {self.token}",
            "bridle_client": self._name,
            "content_length": None if body is None else str(len(body)),
        }
        said = {**usual, **headers}
        lines = [f"{key.replace('_', '-')}: {value}" for key, value in said.items() if value is not None]
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, limit=2**24)
        writer.write("\r\n".join([f"{method} {path} HTTP/1.1", *lines, "", ""]).encode("latin-1"))
        writer.write(body or b"")
        await writer.drain()
        return reader, writer


class Stream:
    """The lines of one connection, as far as they came whole."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader
        self._text = b""
        self._left = 0
        self.status = 0

    async def open(self) -> None:
        head = await self._reader.readuntil(b"\r\n\r\n")
        self.status = int(head.split(b" ", 2)[1])

    async def line(self) -> Any:
        """The next line that is no sign of life; IncompleteReadError when the connection is over."""
        async with asyncio.timeout(50):
            while True:
                text, newline, rest = self._text.partition(b"\n")
                if newline:
                    self._text = rest
                    if "beat" not in (line := json.loads(text)):
                        return line
                    continue
                await self._more()

    async def _more(self) -> None:
        """Whatever came, also when its chunk is not whole."""
        if not self._left:
            self._left = int(await self._reader.readuntil(b"\r\n"), 16)
        data = await self._reader.read(self._left)
        if not data:
            raise asyncio.IncompleteReadError(self._text, None)
        self._text += data
        self._left -= len(data)
        if not self._left:
            await self._reader.readexactly(2)

    async def frame(self, kind: str, **fields: Any) -> Any:
        """The next frame of a kind with these fields."""
        while True:
            frame = (await self.line()).get("frame", {})
            if frame.get("type") == kind and fields.items() <= frame.items():
                return frame


class CuttingLine(HttpServer):
    """Passes bytes on to a port and breaks each connection after a few of them."""

    def __init__(self, target: int, *, seed: int = 1, least: int = 1, most: int = 4_000) -> None:
        super().__init__()
        self._target = target
        self._least = least
        self._random = random.Random(seed)
        self._most = most
        self.cuts = 0

    async def serve(self, wire: Wire, number: int) -> None:
        reader, writer = wire
        coming, there = await asyncio.open_connection("127.0.0.1", self._target)
        asking = asyncio.create_task(_pump(reader, there))
        try:
            left = self._random.randint(self._least, self._most)
            while left and (data := await coming.read(left)):
                writer.write(data)
                await writer.drain()
                left -= len(data)
            self.cuts += 1
        finally:
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
            writer.transport.abort()
            there.transport.abort()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65_536):
        writer.write(data)


def _read(data: bytes) -> Answered:
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return Answered(int(first.split(" ")[1]) if first else 0, headers, body)
