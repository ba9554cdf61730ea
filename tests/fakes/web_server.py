"""A small web on 127.0.0.1: pages by path, plain or over TLS, and a proxy in front of it."""

import asyncio
import ssl
from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple, Self

from tests.fakes.local_http import Listener, read_request


class Reply(NamedTuple):
    body: bytes = b""
    content_type: str = "text/plain; charset=utf-8"
    status: str = "200 OK"
    headers: Mapping[str, str] = {}
    raw: bytes | None = None
    """Sent instead of all else; an empty one means that nothing is ever sent."""


class Asked(NamedTuple):
    method: str
    target: str
    headers: Mapping[str, str]


class FakeWeb:
    """Answers each target of a request line from `pages`; CONNECT is tunnelled to `behind`."""

    def __init__(
        self, pages: Mapping[str, Reply] | None = None, *, tls: ssl.SSLContext | None = None, behind: int = 0
    ) -> None:
        self.pages = dict(pages or {})
        self.asked: list[Asked] = []
        self.certificates: list[object] = []
        """What each visitor showed of themselves, None for nothing."""
        self.port = 0
        self._tls = tls
        self._behind = behind
        self._listener = Listener(self._answer, tls=tls)

    def url(self, path: str, host: str = "127.0.0.1") -> str:
        return f"{'https' if self._tls else 'http'}://{host}:{self.port}{path}"

    async def __aenter__(self) -> Self:
        self.port = await self._listener.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._listener.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard = await read_request(reader)
        self.certificates.append(writer.get_extra_info("peercert") or None)
        self.asked.append(Asked(heard.method, heard.target, heard.headers))
        if heard.method == "CONNECT" and self._behind:
            await self._tunnel(reader, writer)
            return
        reply = self.pages.get(heard.target, Reply(b"no such page", status="404 Not Found"))
        if reply.raw == b"":
            await reader.read()
        writer.write(_encoded(reply) if reply.raw is None else reply.raw)
        await writer.drain()
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()

    async def _tunnel(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", self._behind)
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        try:
            await asyncio.gather(_pipe(reader, inner_writer), _pipe(inner_reader, writer))
        finally:
            inner_writer.transport.abort()


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(4096):
        writer.write(data)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()


def _encoded(reply: Reply) -> bytes:
    headers = {"Content-Length": str(len(reply.body)), **reply.headers}
    if reply.content_type:
        headers["Content-Type"] = reply.content_type
    lines = [f"HTTP/1.1 {reply.status}", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    return "\r\n".join(lines).encode() + reply.body
