"""A web server on 127.0.0.1 that encrypts, and remembers what it was told."""

import asyncio
import socket
from contextlib import suppress
from pathlib import Path
from typing import Self

from bridle.host.sandbox.authority import make_authority


class Heard:
    """One request."""

    def __init__(self, head: str, body: bytes) -> None:
        self.line, *rest = head.split("\r\n")
        fields = (line.partition(": ") for line in rest)
        self.headers = {name.lower(): value for name, _, value in fields if name}
        self.body = body


class FakeTlsServer:
    """Says `fine` to every request; `roots` is the file with the authority that vouches for it."""

    def __init__(self, folder: Path, host: str = "localhost") -> None:
        authority = make_authority()
        self.roots = folder / "house-roots.pem"
        self.roots.write_text(authority.pem)
        self._context = authority.context_for(host)
        self.heard: list[Heard] = []
        self._guests: set[asyncio.Task[None]] = set()

    @property
    def port(self) -> int:
        return self._listener.getsockname()[1]

    async def __aenter__(self) -> Self:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.setblocking(False)
        self._accepting = asyncio.create_task(self._accept())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._accepting.cancel()
        await asyncio.gather(self._accepting, return_exceptions=True)
        self._listener.close()
        async with asyncio.timeout(50):
            await asyncio.gather(*self._guests)

    async def _accept(self) -> None:
        while True:
            connection, _ = await asyncio.get_running_loop().sock_accept(self._listener)
            self._guests.add(asyncio.create_task(self._serve(connection)))

    async def _serve(self, connection: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader()
        protocol = asyncio.StreamReaderProtocol(reader)
        try:
            transport, _ = await loop.connect_accepted_socket(lambda: protocol, connection, ssl=self._context)
        except OSError:
            connection.close()
            return  # Whoever asked does not trust us, or has gone.
        writer = asyncio.StreamWriter(transport, protocol, reader, loop)
        with suppress(OSError, EOFError):
            await self._listen(reader, writer)
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()

    async def _listen(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard = Heard((await reader.readuntil(b"\r\n\r\n"))[:-4].decode("latin-1"), b"")
        heard.body = await _body(heard.headers, reader)
        self.heard.append(heard)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nfine\n")
        await writer.drain()


async def _body(headers: dict[str, str], reader: asyncio.StreamReader) -> bytes:
    if "transfer-encoding" not in headers:
        return await reader.readexactly(int(headers.get("content-length", "0")))
    body = b""
    while size := int(await reader.readuntil(b"\r\n"), 16):
        body += await reader.readexactly(size)
        await reader.readexactly(2)
    return body
