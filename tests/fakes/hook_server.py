"""A server on 127.0.0.1 that HTTP hooks are asked at."""

import asyncio
import ssl

from tests.fakes.http_server import Heard, HttpServer, Wire


class HookServer(HttpServer):
    """Gives every request the same answer and remembers what was asked; an empty answer never comes."""

    def __init__(
        self, body: bytes = b"{}", *, status: str = "200 OK", headers: str = "", raw: bytes | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:  # fmt: skip
        super().__init__(tls=tls)
        head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{headers}\r\n"
        self._answer = head.encode() + body if raw is None else raw
        self.left = asyncio.Event()
        """Set when a client went away without its answer."""

    def url(self, path: str = "/hook", host: str = "127.0.0.1") -> str:
        return f"{'https' if self._tls else 'http'}://{host}:{self.port}{path}"

    @property
    def received(self) -> list[Heard]:
        return self.requests

    async def answer(self, request: Heard, wire: Wire) -> bool:
        del request
        if self._answer:
            await wire.send(self._answer)
        else:
            await wire.closed()
            self.left.set()
        return False
