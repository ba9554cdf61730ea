"""One HTTP/1.1 connection: a request written, its response read as it comes."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import suppress
from typing import Literal

from msgspec import Struct

from bridle.host.http.body import BodyFault, Framing, framing, unpacking
from bridle.host.http.head import HeadFault, HeadReader, ResponseHead
from bridle.types.errors import BridleError

_READ = 256 * 1024
_KEPT_FOR = 60.0
"""Seconds; whatever stands between us and the host may drop an idle connection without a word."""


Reason = Literal["connect", "tls", "proxy", "idle", "broken", "size"]
"""Where an exchange failed; `idle` is that nothing came in time."""


class Limits(Struct, frozen=True):
    """Bounds of one exchange; times are in seconds."""

    connect: float = 30.0
    idle: float = 90.0
    """How long nothing may move."""
    total: float | None = None
    body: int | None = None
    """Bytes of the response after decoding."""


class HttpFault(BridleError):
    """There is no whole response."""

    def __init__(self, message: str, reason: Reason, *, cause: str = "") -> None:
        """`cause` names the host and what is wrong in a few words, where that is known."""
        super().__init__(message)
        self.reason: Reason = reason
        self.cause = cause


class Unanswered(HttpFault):
    """The connection ended before the first byte of a response."""


class Response:
    """Status and headers of an answer; iterating gives its body, once. Header names are in lower case."""

    def __init__(
        self, status: int, headers: dict[str, str], chunks: AsyncGenerator[bytes, None], *, reason: str = ""
    ) -> None:
        self.status = status
        self.reason = reason
        """The host's words for the status, if it has any."""
        self.headers = headers
        self._chunks = chunks

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._chunks

    async def read(self) -> bytes:
        """The whole body, as far as the limit of the request allows.

        Raises:
            HttpFault: it did not arrive whole, or is too large.
        """
        return b"".join([chunk async for chunk in self._chunks])

    async def beginning(self, most: int) -> bytes:
        """Enough of the body to say what is wrong: what comes until there are more than `most` bytes."""
        parts: list[bytes] = []
        size = 0
        with suppress(HttpFault):
            async for chunk in self._chunks:
                parts.append(chunk)
                size += len(chunk)
                if size > most:
                    break
        return b"".join(parts)

    async def finish(self, *, within: float) -> None:
        """Read to the end what little may be left, so that the connection can be used again."""
        with suppress(TimeoutError, HttpFault):
            async with asyncio.timeout(within):
                async for _ in self._chunks:
                    pass

    async def aclose(self) -> None:
        """Release the body, read or not."""
        await self._chunks.aclose()


class Connection:
    """Carries one exchange after the other."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._watch: _Watch | None = None
        self._framing: Framing | None = None
        self._stays_open = False
        self._rested_at = 0.0
        self.used = False
        """Whether an exchange has gone over it before the current one."""

    async def exchange(self, method: str, head: bytes, body: bytes, limits: Limits) -> Response:
        """Send a request and wait for the head of its response.

        Raises:
            Unanswered: the connection ended and not a byte had come.
            HttpFault: what came is not a response, or nothing came in time.
        """
        self._framing = None
        self._watch = _Watch(self._writer.transport, limits)
        self._writer.write(head)
        # Not joined: a body holds the whole conversation, and copying it is what a step would pay for.
        self._writer.write(body)
        answer = await self._head()
        headers = answer.headers
        self._framing = framing(answer.status, method, headers)
        self._stays_open = answer.version == "1.1" and "close" not in headers.get("connection", "").lower()
        chunks = self._body(answer.rest, self._framing, headers, limits)
        return Response(answer.status, headers, chunks, reason=answer.reason)

    def settle(self) -> bool:
        """Make ready for another exchange; False when this connection cannot have one."""
        if self._watch is not None:
            self._watch.stop()
            self._watch = None
        if self._framing is None or not self._framing.ended or not self._framing.reusable:
            return False
        self._rested_at = asyncio.get_running_loop().time()
        self.used = True
        return self._stays_open and not self._writer.is_closing()

    def is_usable(self) -> bool:
        rested = asyncio.get_running_loop().time() - self._rested_at
        fresh = not self.used or rested < _KEPT_FOR
        return fresh and not self._reader.at_eof() and not self._writer.is_closing()

    def abort(self) -> None:
        """Drop the connection at once, whatever is in flight."""
        if self._watch is not None:
            self._watch.stop()
        self._writer.transport.abort()

    async def wait_closed(self) -> None:
        with suppress(OSError):
            await self._writer.wait_closed()

    async def _head(self) -> ResponseHead:
        reader = HeadReader()
        data = await self._first_bytes()
        try:
            while (head := reader.feed(data)) is None:
                data = await self._more()
        except HeadFault as fault:
            raise HttpFault(f"The response is not HTTP, or was cut off ({fault}).", "broken") from fault
        return head

    async def _body(
        self, first: bytes, framed: Framing, headers: dict[str, str], limits: Limits
    ) -> AsyncGenerator[bytes, None]:
        size = 0
        try:
            unpack = unpacking(headers.get("content-encoding"))
            raw = framed.feed(first) if first else b""
            while True:
                for chunk in unpack(raw, framed.ended):
                    size += len(chunk)
                    if limits.body is not None and size > limits.body:
                        raise HttpFault(f"The response is larger than {limits.body} bytes.", "size")
                    yield chunk
                if framed.ended:
                    return
                raw = framed.feed(await self._more())
        except BodyFault as fault:
            raise HttpFault(str(fault), "broken") from fault

    async def _first_bytes(self) -> bytes:
        try:
            data = await self._more()
        except HttpFault as fault:
            if fault.reason != "broken":
                raise
            raise Unanswered(str(fault), "broken") from fault
        if not data:
            raise Unanswered("The connection closed before an answer arrived.", "broken")
        return data

    async def _more(self) -> bytes:
        watch = self._watch
        if watch is None:
            raise HttpFault("The response was read after its connection was closed.", "broken")
        watch.begin_waiting()
        try:
            data = await self._reader.read(_READ)
        except OSError as error:
            raise HttpFault(f"The connection broke: {error}.", "broken") from error
        finally:
            watch.waiting = False
        if watch.fired is not None:
            raise HttpFault(watch.fired, "idle")
        return data


class _Watch:
    """Drops a connection on which nothing moves; one timer for the exchange instead of one for each read."""

    def __init__(self, transport: asyncio.WriteTransport, limits: Limits) -> None:
        self._loop = asyncio.get_running_loop()
        self._transport = transport
        self._limits = limits
        self._moved_at = self._loop.time()
        self._unsent = 0
        self._deadline = float("inf") if limits.total is None else self._moved_at + limits.total
        self._timer = self._schedule()
        self.waiting = False
        """Whether a reader waits for bytes: a reader that takes its time is not the service's silence."""
        self.fired: str | None = None
        """What was waited for in vain."""

    def begin_waiting(self) -> None:
        self._moved_at = self._loop.time()
        self.waiting = True

    def stop(self) -> None:
        self._timer.cancel()

    def _schedule(self) -> asyncio.TimerHandle:
        return self._loop.call_at(min(self._moved_at + self._limits.idle, self._deadline), self._check)

    def _check(self) -> None:
        now = self._loop.time()
        unsent = self._transport.get_write_buffer_size()
        if unsent != self._unsent or not self.waiting:
            self._unsent = unsent
            self._moved_at = now
        if now >= self._deadline:
            self.fired = f"No complete answer within {self._limits.total:g} s."
        elif now >= self._moved_at + self._limits.idle:
            self.fired = f"No data for {self._limits.idle:g} s."
        else:
            self._timer = self._schedule()
            return
        self._transport.abort()
