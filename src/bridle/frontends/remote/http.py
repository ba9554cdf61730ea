"""HTTP/1.1 as far as a shared session speaks it: one request for each connection, everything bounded."""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

import h11
import msgspec
from msgspec import Struct

from bridle.frontends.remote.errors import RequestRefused
from bridle.types.text import decode_json

_LONGEST_HEAD = 16 * 1024
_LARGEST_BODY = 1_000_000
_CHUNK = 16 * 1024
_BUFFER = 256 * 1024
_LINGER = 1.0
_LINGER_BYTES = 8_000_000

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
_ALWAYS = (
    ("content-security-policy", _POLICY),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("permissions-policy", "camera=(), geolocation=(), microphone=()"),
    ("cache-control", "no-store"),
    ("connection", "close"),
)


class Timeouts(Struct, frozen=True, kw_only=True):
    """How long others may take, in seconds."""

    request: float = 10.0
    """For a head or a body to be whole."""
    reader: float = 20.0
    """To take what was written last."""
    beat: float = 5.0
    """Between two signs of life."""
    wrong_key: float = 1.0
    """Before a wrong key is answered, once there were many."""


class Request(Struct, frozen=True, kw_only=True):
    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> dict[str, Any]:
        """The body as a JSON object.

        Raises:
            RequestRefused: it is none.
        """
        if self.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise RequestRefused(415, "The body must be application/json.")
        try:
            value: Any = decode_json(self.body)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise RequestRefused(400, "The body is not JSON.") from error
        except RecursionError as error:
            raise RequestRefused(400, "The body is nested too deeply.") from error
        if not isinstance(value, dict):
            raise RequestRefused(400, "The body is not a JSON object.")
        return value


class HttpConnection:
    """One connection."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, timeouts: Timeouts
    ) -> None:
        self._timeouts = timeouts
        self._reader = reader
        self._writer = writer
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=_LONGEST_HEAD)
        writer.transport.set_write_buffer_limits(high=_BUFFER)

    async def head(self) -> h11.Request | None:
        """The head of the request; None when the client sends nothing.

        Raises:
            RequestRefused: it is no request, or did not come in time.
        """
        try:
            async with asyncio.timeout(self._timeouts.request):
                event = await self._next()
        except TimeoutError as error:
            raise RequestRefused(408, "The request timed out.") from error
        return event if isinstance(event, h11.Request) else None

    async def whole(self, head: h11.Request) -> Request:
        """The request with its body.

        Raises:
            RequestRefused: it is too large, no request, or did not come in time.
        """
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in head.headers}
        length = headers.get("content-length", "0")
        if int(length) > _LARGEST_BODY if length.isdecimal() else False:
            raise RequestRefused(413, f"More than {_LARGEST_BODY:,} bytes are not accepted.")
        parts: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(self._timeouts.request):
                while not isinstance(event := await self._next(), h11.EndOfMessage):
                    if not isinstance(event, h11.Data):
                        raise RequestRefused(400, "The request was cut off.")
                    parts.append(bytes(event.data))
                    size += len(event.data)
                    if size > _LARGEST_BODY:
                        raise RequestRefused(413, f"More than {_LARGEST_BODY:,} bytes are not accepted.")
        except TimeoutError as error:
            raise RequestRefused(408, "The request timed out.") from error
        path, _, query = head.target.decode("latin-1").partition("?")
        method = head.method.decode("latin-1")
        return Request(method=method, path=path, query=query, headers=headers, body=b"".join(parts))

    async def answer(self, status: int, body: bytes, kind: str) -> None:
        """Send a response that is whole."""
        self._begin(status, (("content-type", kind), ("content-length", str(len(body)))))
        self._send(h11.Data(data=body))
        self._send(h11.EndOfMessage())
        await self._flush()

    async def answer_json(self, status: int, value: Mapping[str, Any]) -> None:
        await self.answer(status, msgspec.json.encode(value), "application/json")

    def begin_lines(self) -> None:
        """Send lines of JSON from now on."""
        self._begin(200, (("content-type", "application/x-ndjson"), ("x-accel-buffering", "no")))

    async def send(self, lines: Iterable[bytes]) -> None:
        """Send lines; a reader who does not take them in time is left behind.

        Raises:
            OSError: the other end is gone.
            TimeoutError: it does not read.
        """
        self._send(h11.Data(data=b"".join(lines)))
        await self._flush()

    async def end_lines(self) -> None:
        """The line that was sent last was the last one."""
        self._send(h11.EndOfMessage())
        await self._flush()

    async def gone(self) -> None:
        """Return when the other end has closed its side."""
        while await self._reader.read(_CHUNK):
            pass  # Bytes after the request are ignored.

    async def linger(self) -> None:
        """Let the other end finish what it was saying, within reason, so that it reads the answer."""
        self._writer.write_eof()
        left = _LINGER_BYTES
        try:
            async with asyncio.timeout(_LINGER):
                while left > 0 and (data := await self._reader.read(_CHUNK)):
                    left -= len(data)
        except TimeoutError:
            pass  # It had its time.

    def close(self) -> None:
        self._writer.close()

    def abort(self) -> None:
        self._writer.transport.abort()

    async def _next(self) -> Any:
        while True:
            try:
                event = self._http.next_event()
            except h11.RemoteProtocolError as error:
                raise RequestRefused(error.error_status_hint, "Invalid request.") from error
            if event is not h11.NEED_DATA:
                return event
            if self._http.they_are_waiting_for_100_continue:
                self._send(h11.InformationalResponse(status_code=100, headers=[]))
            self._http.receive_data(await self._reader.read(_CHUNK))

    def _begin(self, status: int, headers: tuple[tuple[str, str], ...]) -> None:
        self._send(h11.Response(status_code=status, headers=[*headers, *_ALWAYS]))

    def _send(self, event: Any) -> None:
        data = self._http.send(event)
        if data:
            self._writer.write(data)

    async def _flush(self) -> None:
        async with asyncio.timeout(self._timeouts.reader):
            await self._writer.drain()
