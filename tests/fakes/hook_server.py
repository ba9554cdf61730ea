"""A server on 127.0.0.1 that HTTP hooks are asked at."""

import asyncio
import ssl
from contextlib import suppress
from typing import NamedTuple, Self


class Received(NamedTuple):
    line: str
    headers: dict[str, str]
    body: bytes


class HookServer:
    """Gives every request the same answer and remembers what was asked; an empty answer never comes."""

    def __init__(
        self, body: bytes = b"{}", *, status: str = "200 OK", headers: str = "", raw: bytes | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:  # fmt: skip
        head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{headers}\r\n"
        self._answer = head.encode() + body if raw is None else raw
        self._tls = tls
        self._tasks: set[asyncio.Task[None]] = set()
        self.port = 0
        self.received: list[Received] = []
        self.left = asyncio.Event()
        """Set when a client went away without its answer."""

    def url(self, path: str = "/hook", host: str = "127.0.0.1") -> str:
        return f"{'https' if self._tls else 'http'}://{host}:{self.port}{path}"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._tls)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await self._exchange(reader, writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # The client is gone, or the server is closing.
        finally:
            self._tasks.discard(task)
            writer.transport.abort()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        pairs = (text.partition(":") for text in lines if text)
        headers = {name.lower(): value.strip() for name, _, value in pairs}
        body = await reader.readexactly(int(headers["content-length"]))
        self.received.append(Received(line, headers, body))
        if not self._answer:
            with suppress(OSError):
                await reader.read()
            self.left.set()
            return
        writer.write(self._answer)
        await writer.drain()
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()
