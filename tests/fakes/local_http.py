"""What the fake web servers share: a listener that leaves nothing behind, and a reader of requests."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from typing import NamedTuple

Exchange = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Heard(NamedTuple):
    """A request; the names of its headers are in small letters."""

    line: str
    headers: dict[str, str]
    body: bytes

    @property
    def method(self) -> str:
        return self.line.split(" ")[0]

    @property
    def target(self) -> str:
        return self.line.split(" ")[1]


async def read_request(reader: asyncio.StreamReader) -> Heard:
    """The next request of a connection."""
    line, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    pairs = (text.partition(":") for text in lines if text)
    headers = {name.lower(): value.strip() for name, _, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Heard(line, headers, body)


class Listener:
    """Hands every connection on 127.0.0.1 to `exchange`, and ends all of them when it is closed."""

    def __init__(self, exchange: Exchange, *, tls: ssl.SSLContext | None = None) -> None:
        self._exchange = exchange
        self._tls = tls
        self._tasks: set[asyncio.Task[None]] = set()

    async def open(self) -> int:
        """Listen; returns the port."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._tls)
        return self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
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
