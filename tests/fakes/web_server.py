"""A small web on 127.0.0.1: pages by path, plain or over TLS, and a proxy in front of it."""

import asyncio
import ssl
from collections.abc import Mapping
from typing import NamedTuple

from tests.fakes.http_server import Heard, HttpServer, Wire, head


class Reply(NamedTuple):
    body: bytes = b""
    content_type: str = "text/plain; charset=utf-8"
    status: str = "200 OK"
    headers: Mapping[str, str] = {}
    raw: bytes | None = None
    """Sent instead of all else; an empty one means that nothing is ever sent."""


class FakeWeb(HttpServer):
    """Answers each target of a request line from `pages`; CONNECT is tunneled to `behind`."""

    def __init__(
        self, pages: Mapping[str, Reply] | None = None, *, tls: ssl.SSLContext | None = None, behind: int = 0
    ) -> None:
        super().__init__(tls=tls)
        self.pages = dict(pages or {})
        self.certificates: list[object] = []
        """What each visitor showed of themselves, None for nothing."""
        self._behind = behind

    def url(self, path: str, host: str = "127.0.0.1") -> str:
        return f"{'https' if self._tls else 'http'}://{host}:{self.port}{path}"

    @property
    def asked(self) -> list[Heard]:
        return self.requests

    async def answer(self, request: Heard, wire: Wire) -> bool:
        self.certificates.append(wire.writer.get_extra_info("peercert") or None)
        if request.method == "CONNECT" and self._behind:
            await self._tunnel(wire.reader, wire.writer)
            return False
        reply = self.pages.get(request.path, Reply(b"no such page", status="404 Not Found"))
        if reply.raw == b"":
            await wire.closed()
        await wire.send(_encoded(reply) if reply.raw is None else reply.raw)
        return False

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
    kind = {"Content-Type": reply.content_type} if reply.content_type else {}
    return head(reply.status, {"Content-Length": str(len(reply.body)), **reply.headers, **kind}) + reply.body
