"""The page on this machine that the browser comes back to after a login."""

import asyncio
from collections.abc import Mapping
from typing import Self
from urllib.parse import parse_qsl, urlsplit

from bridle.host.socket_server import SocketServer, serve_tcp
from bridle.mcp.auth.errors import LoginFailed

_PATH = "/callback"
_LONGEST_HEAD = 16 * 1024
_PATIENCE = 10.0
_DONE = "You are logged in. Close this page and return to bridle."
_FAILED = "The login failed. Return to bridle for details."


class Callback:
    """Listens on the loopback interface for one visit; `async with` opens and closes it."""

    def __init__(self, port: int | None = None, *, fixed: bool = False) -> None:
        self._port = port
        self._fixed = fixed
        """Whether it must be this port, because someone has registered it."""
        self._server: SocketServer | None = None
        self._visits: set[asyncio.Task[None]] = set()
        self._came: asyncio.Future[dict[str, str]] = asyncio.get_running_loop().create_future()

    @property
    def redirect_uri(self) -> str:
        # Ports that people register belong to a name; a port of the moment to the address (RFC 8252).
        return f"http://{'localhost' if self._fixed else '127.0.0.1'}:{self._port}{_PATH}"

    async def __aenter__(self) -> Self:
        try:
            self._server = await serve_tcp(self._serve, "127.0.0.1", self._port or 0)
        except OSError as error:
            if self._fixed or not self._port:
                raise LoginFailed(
                    f"The port {self._port or 0} for the login callback is not available: {error.strerror}."
                ) from error
            self._server = await serve_tcp(self._serve, "127.0.0.1", 0)
        self._port = self._server.port
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.stop()
            await asyncio.gather(*self._visits, return_exceptions=True)
            await self._server.close()
        if not self._came.done():
            self._came.cancel()

    async def visited(self) -> Mapping[str, str]:
        """The parameters that the browser brings."""
        return await asyncio.shield(self._came)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if (task := asyncio.current_task()) is not None:
            self._visits.add(task)
            task.add_done_callback(self._visits.discard)
        try:
            async with asyncio.timeout(_PATIENCE):
                await self._answer(reader, writer)
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # A visitor who says nothing sensible is no one.
        finally:
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        words = head[:_LONGEST_HEAD].split(b"\r\n", 1)[0].decode("latin-1").split(" ")
        if len(words) != 3 or words[0] != "GET" or not is_callback(words[1]):
            await _write(writer, 404, "Not found.")
            return
        found = read_parameters(words[1])
        await _write(writer, 200, _FAILED if "error" in found else _DONE)
        if not self._came.done():
            self._came.set_result(found)


class HostCallback:
    """A page of a host program, which hands over the address that the browser ends at."""

    def __init__(self, redirect_uri: str) -> None:
        self.redirect_uri = redirect_uri

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Nothing is open."""

    async def visited(self) -> Mapping[str, str]:
        """Never comes: the host has the browser."""
        return await asyncio.get_running_loop().create_future()


def read_parameters(address: str) -> dict[str, str]:
    """What the address that the browser was sent to says."""
    return dict(parse_qsl(urlsplit(address.strip()).query, keep_blank_values=True))


def is_callback(target: str) -> bool:
    """Whether a request is the end of a login, and not one for an icon."""
    parts = urlsplit(target)
    return parts.path == _PATH and bool(parts.query)


async def _write(writer: asyncio.StreamWriter, status: int, text: str) -> None:
    body = f"<!doctype html><meta charset=utf-8><title>bridle</title><p>{text}</p>".encode()
    head = (
        f"HTTP/1.1 {status} Done\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {len(body)}\r\n"
        "Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nConnection: close\r\n\r\n"
    )
    writer.write(head.encode() + body)
    await writer.drain()
