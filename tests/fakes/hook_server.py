"""A server on 127.0.0.1 that HTTP hooks are asked at."""

import asyncio
import ssl
from contextlib import suppress
from typing import Self

from tests.fakes.local_http import Heard, Listener, read_request


class HookServer:
    """Gives every request the same answer and remembers what was asked; an empty answer never comes."""

    def __init__(
        self, body: bytes = b"{}", *, status: str = "200 OK", headers: str = "", raw: bytes | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:  # fmt: skip
        head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{headers}\r\n"
        self._answer = head.encode() + body if raw is None else raw
        self._tls = tls
        self._listener = Listener(self._exchange, tls=tls)
        self.port = 0
        self.received: list[Heard] = []
        self.left = asyncio.Event()
        """Set when a client went away without its answer."""

    def url(self, path: str = "/hook", host: str = "127.0.0.1") -> str:
        return f"{'https' if self._tls else 'http'}://{host}:{self.port}{path}"

    async def __aenter__(self) -> Self:
        self.port = await self._listener.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._listener.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.received.append(await read_request(reader))
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
