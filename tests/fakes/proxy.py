"""A tiny HTTP proxy on 127.0.0.1 that remembers what it was asked for."""

import asyncio
from contextlib import suppress

from tests.fakes.http_server import HttpServer, Wire, response


class FakeProxy(HttpServer):
    """Tunnels CONNECT and forwards absolute URLs, all to one `target` port, or says its `refusal`."""

    def __init__(self, target: int, *, refusal: str | None = None) -> None:
        super().__init__()
        self._target = target
        self._refusal = refusal
        self.heads: list[str] = []

    async def serve(self, wire: Wire, number: int) -> None:
        head = await wire.reader.readuntil(b"\r\n\r\n")
        self.heads.append(head.decode())
        if self._refusal is not None:
            await wire.send(response(self._refusal, b""))
            return
        answers, upstream = await asyncio.open_connection("127.0.0.1", self._target)
        try:
            if head.startswith(b"CONNECT"):
                wire.writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                upstream.write(_in_origin_form(head))
            await asyncio.gather(_copy(wire.reader, upstream), _copy(answers, wire.writer))
        finally:
            upstream.close()
            with suppress(OSError):
                await upstream.wait_closed()


def _in_origin_form(head: bytes) -> bytes:
    line, rest = head.split(b"\r\n", 1)
    method, url, version = line.split(b" ")
    path = b"/" + url.split(b"/", 3)[3]
    return b" ".join((method, path, version)) + b"\r\n" + rest


async def _copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    while data := await source.read(65536):
        sink.write(data)
        await sink.drain()
    sink.close()
