"""Reads one HTTP request of a command, piece by piece."""

import asyncio
from collections.abc import AsyncGenerator, Iterable
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    import h11

LARGEST_HEAD = 64 * 1024
_CHUNK = 64 * 1024
_PATIENCE = 60.0
_HOP_BY_HOP = (b"keep-alive", b"proxy-connection", b"proxy-authorization", b"expect", b"te")
_FRAMING = ("content-length", "transfer-encoding")

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Head(Struct, frozen=True, kw_only=True):
    method: str
    target: str
    headers: tuple[tuple[str, str], ...]

    def values(self, name: str) -> list[str]:
        return [value for each, value in self.headers if each.lower() == name]

    def value(self, name: str) -> str | None:
        return next(iter(self.values(name)), None)

    def without(self, *names: str) -> tuple[tuple[str, str], ...]:
        return tuple((name, value) for name, value in self.headers if name.lower() not in names)

    def written(self, more: Iterable[tuple[str, str]]) -> bytes:
        """The bytes to send; names and values came out of a parser that lets no line break through."""
        lines = [f"{self.method} {self.target} HTTP/1.1"]
        lines += (f"{name}: {value}" for name, value in (*self.without("connection", *_FRAMING), *more))
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


class RequestReader:
    """A request whose body is read when it is asked for.

    Raises:
        ValueError: what comes is not a request.
        EOFError: the client closed the connection.
        TimeoutError: the client says nothing more.
    """

    def __init__(self, client: Streams, first: bytes = b"") -> None:
        import h11

        self._h11 = h11
        self._reader, self._writer = client
        self._machine = h11.Connection(h11.SERVER, max_incomplete_event_size=LARGEST_HEAD)
        if first:
            self._machine.receive_data(first)

    async def head(self) -> Head:
        event = await self._next()
        if not isinstance(event, self._h11.Request):
            raise EOFError
        return Head(
            method=event.method.decode("latin-1"),
            target=event.target.decode("latin-1"),
            headers=tuple(
                (name.decode("latin-1"), value.decode("latin-1")) for name, value in event.headers.raw_items()
            ),
        )

    @property
    def trailing(self) -> bytes:
        """What came behind the head, when the rest is not HTTP any more."""
        return self._machine.trailing_data[0]

    async def pieces(self) -> AsyncGenerator[bytes]:
        """The body, out of its framing."""
        if self._machine.they_are_waiting_for_100_continue:
            self._writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        while isinstance(event := await self._next(), self._h11.Data):
            yield bytes(event.data)

    async def whole(self, most: int) -> tuple[bytes, bool]:
        """The body up to a limit, and whether that is all."""
        body = bytearray()
        async for piece in self.pieces():
            body += piece
            if len(body) > most:
                return bytes(body), False
        return bytes(body), True

    async def gone(self) -> None:
        """Wait until the client has left; what else it says is dropped."""
        while await self._reader.read(_CHUNK):
            pass

    async def _next(self) -> "h11.Event":
        h11 = self._h11
        try:
            while (event := self._machine.next_event()) is h11.NEED_DATA:
                async with asyncio.timeout(_PATIENCE):
                    self._machine.receive_data(await self._reader.read(_CHUNK))
        except h11.RemoteProtocolError as error:
            raise ValueError(str(error)) from error
        if isinstance(event, h11.ConnectionClosed) or event is h11.PAUSED:
            raise EOFError
        assert isinstance(event, h11.Event)
        return event
