"""A web server on 127.0.0.1 that answers paths with fixed JSON, and keeps what it was asked."""

import asyncio
import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple, Self


class Asked(NamedTuple):
    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class JsonServer:
    """`answers` maps a path to its JSON, or to a status and JSON; None keeps the caller waiting."""

    def __init__(self, answers: Mapping[str, Any]) -> None:
        self.answers = dict(answers)
        self.headers: dict[str, str] = {}
        """What every answer says besides."""
        self.asked: list[Asked] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self.url = ""

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if (task := asyncio.current_task()) is not None:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            await self._answer(reader, writer)
        writer.transport.abort()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, target, _ = head[0].split(" ", 2)
        pairs = (line.split(": ", 1) for line in head[1:] if ": " in line)
        headers = {name.lower(): value for name, value in pairs}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        self.asked.append(Asked(method, target, headers, body))
        answer = self.answers.get(target.partition("?")[0], (404, {"error": {"message": "nothing here"}}))
        if answer is None:
            await reader.read()
            return
        status, value = answer if isinstance(answer, tuple) else (200, answer)
        data = json.dumps(value).encode()
        lines = f"HTTP/1.1 {status} S\r\ncontent-type: application/json\r\ncontent-length: {len(data)}\r\n"
        more = "".join(f"{name}: {value}\r\n" for name, value in self.headers.items())
        writer.write(f"{lines}{more}connection: close\r\n\r\n".encode() + data)
        await writer.drain()
