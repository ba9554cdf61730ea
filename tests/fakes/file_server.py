"""Serves bytes over HTTP on this machine."""

import asyncio
from collections.abc import Mapping
from typing import Self


class FileServer:
    """Answers with what `files` holds at the moment; everything else is missing."""

    def __init__(self, files: Mapping[str, bytes], *, redirects: Mapping[str, str] | None = None) -> None:
        self._files = files
        self._redirects = redirects or {}
        self._server: asyncio.Server | None = None
        self.url = ""

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._answer, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        await self._server.wait_closed()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        path = head.split(" ")[1]
        if path in self._redirects:
            answer = f"HTTP/1.1 302 Found\r\nlocation: {self._redirects[path]}\r\ncontent-length: 0\r\n"
            body = b""
        else:
            body = self._files.get(path, b"")
            status = "200 OK" if path in self._files else "404 Not Found"
            answer = f"HTTP/1.1 {status}\r\ncontent-length: {len(body)}\r\n"
        writer.write(answer.encode() + b"connection: close\r\n\r\n" + body)
        await writer.drain()
        writer.close()
        await writer.wait_closed()
