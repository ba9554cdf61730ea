"""A tiny HTTP proxy on 127.0.0.1 that remembers what it was asked for."""

import asyncio
from contextlib import suppress
from typing import Self

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class FakeProxy:
    """Tunnels CONNECT and forwards absolute URLs, all to one `target` port, or says its `refusal`."""

    def __init__(self, target: int, *, refusal: str | None = None) -> None:
        self._target = target
        self._refusal = refusal
        self._tasks: set[asyncio.Task[None]] = set()
        self.heads: list[str] = []

    @property
    def port(self) -> int:
        return self._server.sockets[0].getsockname()[1]

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
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
        upstream: asyncio.StreamWriter | None = None
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            self.heads.append(head.decode())
            if self._refusal is not None:
                writer.write(f"HTTP/1.1 {self._refusal}\r\nContent-Length: 0\r\n\r\n".encode())
                return
            answers, upstream = await asyncio.open_connection("127.0.0.1", self._target)
            if head.startswith(b"CONNECT"):
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                upstream.write(_in_origin_form(head))
            await asyncio.gather(_copy(reader, upstream), _copy(answers, writer))
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # One side is gone or the proxy closes: both sides are closed below.
        finally:
            self._tasks.discard(task)
            for each in (writer, upstream):
                if each is not None:
                    with suppress(OSError):
                        each.close()
                        await each.wait_closed()


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
