"""Streamable HTTP: every message is a POST to one address; answers come as JSON or as a stream of events."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import Any

from bridle.host.http.client import Response
from bridle.host.http.event_stream import EventDecoder
from bridle.host.jsonrpc import NO_HEADERS, Message
from bridle.mcp.errors import ConnectionLost, Refused, SessionExpired
from bridle.mcp.protocol_versions import is_modern
from bridle.mcp.transports.base import LONGEST_MESSAGE, Receiver, decode, encode
from bridle.mcp.transports.headers import mirrored
from bridle.mcp.transports.http_access import ONE_ANSWER, STREAM, HttpAccess, decoded
from bridle.types.errors import McpError

_ACCEPT = "application/json, text/event-stream"
_MOST_RESUMES = 10
_RETRY = 1.0
_LISTEN_AGAIN = 1.0
"""The least seconds between two streams; twice as many after each that brought nothing."""
_MOST_DOUBLED = 6
_LONGEST_PAUSE = 60.0
_AFTER_FAILURE = 5.0
_LAST_WORDS = 0.5
_MOST_FAILED_LISTENS = 5


class StreamableTransport:
    """Keeps the session that the server opened, if it opens one."""

    streams = True

    def __init__(
        self, access: HttpAccess, *, pause: Callable[[float], Awaitable[None]] = asyncio.sleep
    ) -> None:
        self._access = access
        self._pause = pause
        """Waits so many seconds."""
        self._receiver: Receiver | None = None
        self._session: str | None = None
        self._revision = ""
        self._listening: asyncio.Task[None] | None = None

    async def open(self, receiver: Receiver) -> None:
        self._receiver = receiver

    def agree(self, revision: str) -> None:
        self._revision = revision
        if not revision:
            self._session = None

    def begin(self) -> None:
        if self._listening is not None:
            self._listening.cancel()
        if not is_modern(self._revision):
            self._listening = asyncio.create_task(self._listen())

    async def send(self, message: Message, headers: Mapping[str, str] = NO_HEADERS) -> None:
        session = self._session
        headers = {
            "Content-Type": "application/json",
            "Accept": _ACCEPT,
            **({"Mcp-Session-Id": session} if session else {}),
            **mirrored(message, self._revision),
            **headers,
        }
        is_request = "id" in message and "method" in message
        limits = STREAM if is_request else ONE_ANSWER
        events = EventDecoder(LONGEST_MESSAGE)
        try:
            async with self._access.send(
                "POST", self._access.url, headers=headers, body=encode(message), limits=limits
            ) as response:
                if not 200 <= response.status < 300:
                    raise await self._fault(response, session)
                if message.get("method") == "initialize":
                    self._session = response.headers.get("mcp-session-id") or None
                if not is_request or await self._answered(response, events, message["id"]):
                    # A connection that is read to its end can be used again.
                    await response.finish(within=_LAST_WORDS)
                    return
        except ConnectionLost:
            if events.last_id is None:
                raise
        await self._resume(events, message["id"])

    async def close(self) -> None:
        if self._listening is not None:
            self._listening.cancel()
            await asyncio.gather(self._listening, return_exceptions=True)
        if self._session is not None:
            try:
                async with (
                    asyncio.timeout(2.0),
                    self._access.send(
                        "DELETE", self._access.url, headers=self._own_headers(), limits=ONE_ANSWER
                    ),
                ):
                    pass
            except (McpError, TimeoutError):
                pass  # The server will drop the session after its timeout.
        await self._access.close()

    def _own_headers(self) -> dict[str, str]:
        headers = {"MCP-Protocol-Version": self._revision} if self._revision else {}
        return {**headers, "Mcp-Session-Id": self._session} if self._session else headers

    def _stream_headers(self, events: EventDecoder) -> dict[str, str]:
        headers = {"Accept": "text/event-stream", **self._own_headers()}
        if events.last_id is not None:
            # The header has the bytes of the id, which are UTF-8; our client writes characters as Latin-1.
            headers["Last-Event-ID"] = events.last_id.encode().decode("latin-1")
        return headers

    async def _answered(self, response: Response, events: EventDecoder, wanted: Any) -> bool:
        """Read the answer to a request; False when its stream ended too early."""
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind == "text/event-stream":
            return await self._follow(response, events, wanted)
        if not self._take(await _read(response), wanted):
            raise McpError(
                f"{self._access.name} returned {kind or 'nothing'} instead of an answer. Check its URL."
            )
        return True

    async def _follow(self, response: Response, events: EventDecoder, wanted: Any) -> bool:
        """Give on what a stream brings; whether the wanted answer was in it."""
        async for data in _messages(response, events):
            if self._take(data, wanted):
                return True
        return False

    def _take(self, data: bytes, wanted: Any) -> bool:
        """Give on a message; whether it is the wanted answer."""
        assert self._receiver is not None
        try:
            message = decode(data)
        except ValueError:
            self._receiver.note(f"ignored invalid JSON: {data[:200].decode('utf-8', 'replace')}")
            return False
        self._receiver.take(message)
        each = message if isinstance(message, list) else [message]
        return any(isinstance(one, dict) and "method" not in one and one.get("id") == wanted for one in each)

    async def _resume(self, events: EventDecoder, wanted: Any) -> None:
        """Take up a stream that ended before the answer came, as long as the server lets us."""
        for _ in range(_MOST_RESUMES):
            if events.last_id is None or is_modern(self._revision):
                break
            await asyncio.sleep(_RETRY if events.retry is None else events.retry)
            headers = self._stream_headers(events)
            async with self._access.send("GET", self._access.url, headers=headers, limits=STREAM) as response:
                if response.status != 200:
                    break
                if await self._follow(response, events, wanted):
                    return
        raise ConnectionLost(f"{self._access.name} disconnected before it answered.")

    async def _listen(self) -> None:
        """Read what the server sends on its own, for as long as it offers a stream for that."""
        events = EventDecoder(LONGEST_MESSAGE)
        failures = fruitless = 0
        while failures < _MOST_FAILED_LISTENS:
            headers = self._stream_headers(events)
            fruitless += 1
            try:
                async with self._access.send(
                    "GET", self._access.url, headers=headers, limits=STREAM
                ) as response:
                    if response.status != 200:
                        return  # The server offers none, or will say on the next request what is wrong.
                    failures = 0
                    async for data in _messages(response, events):
                        fruitless = 0
                        self._take(data, None)
            except McpError:
                failures += 1
            grown = min(_LISTEN_AGAIN * 2 ** min(fruitless, _MOST_DOUBLED), _LONGEST_PAUSE)
            await self._pause(max(grown, _AFTER_FAILURE * failures, events.retry or 0.0))

    async def _fault(self, response: Response, session: str | None) -> McpError:
        """What a status that is not success means; a message in the body is the answer itself."""
        name, status = self._access.name, response.status
        data = await _read(response)
        if status == 404 and session is not None:
            if self._session == session:
                self._session = None
            return SessionExpired(f"{name} lost the session.")
        try:
            message = decode(data)
        except ValueError:
            message = None
        match message:
            case {"error": {"code": int() as code, "message": str() as text, **rest}}:
                fault = Refused(f"{name} denied the request: {text[:2000]}", status=status, code=code)
                fault.data = rest.get("data")
                return fault
            case _:
                pass
        said = data[:200].decode("utf-8", "replace").strip()
        return Refused(f"{name} returned status {status}{': ' + said if said else ''}.", status=status)


async def _messages(response: Response, events: EventDecoder) -> AsyncGenerator[bytes]:
    """The messages of a stream, as they come."""
    events.reset()
    async for chunk in response:
        for event in decoded(events, chunk):
            if event.name == "message" and event.data:
                yield event.data


async def _read(response: Response) -> bytes:
    """The body of an answer that is no stream, within bounds."""
    data = bytearray()
    async for chunk in response:
        data += chunk
        if len(data) > LONGEST_MESSAGE:
            raise ConnectionLost(f"The server sent a response of more than {LONGEST_MESSAGE >> 20} MiB.")
    return bytes(data)
