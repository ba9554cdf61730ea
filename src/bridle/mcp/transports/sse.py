"""The older HTTP transport: one stream of events from the server, and an address for messages to it."""

import asyncio
from collections.abc import Mapping

from bridle.host.http.address import split_url
from bridle.host.http.client import Response
from bridle.host.http.event_stream import EventDecoder, ServerEvent
from bridle.host.jsonrpc import NO_HEADERS, Message
from bridle.mcp.errors import ConnectionLost, Refused
from bridle.mcp.transports.base import LONGEST_MESSAGE, Receiver, decode, encode
from bridle.mcp.transports.http_access import ONE_ANSWER, STREAM, HttpAccess, decoded
from bridle.types.errors import ConfigError, McpError


class SseTransport:
    """Listens on the stream for as long as it lasts; its end is the end of the connection."""

    streams = False

    def __init__(self, access: HttpAccess) -> None:
        self._access = access
        self._revision = ""
        self._listening: asyncio.Task[None] | None = None
        self._endpoint: asyncio.Future[str] | None = None

    async def open(self, receiver: Receiver) -> None:
        self._endpoint = asyncio.get_running_loop().create_future()
        self._listening = asyncio.create_task(self._listen(receiver, self._endpoint))
        await self._endpoint

    async def send(self, message: Message, headers: Mapping[str, str] = NO_HEADERS) -> None:
        if self._endpoint is None or not self._endpoint.done():
            raise ConnectionLost(f"{self._access.name} is not connected.")
        headers = {"Content-Type": "application/json", **self._own_headers(), **headers}
        async with self._access.send(
            "POST", self._endpoint.result(), headers=headers, body=encode(message), limits=ONE_ANSWER
        ) as response:
            if not 200 <= response.status < 300:
                raise Refused(
                    f"{self._access.name} returned status {response.status}.", status=response.status
                )
            await response.finish(within=1.0)

    async def close(self) -> None:
        if self._listening is not None:
            self._listening.cancel()
            await asyncio.gather(self._listening, return_exceptions=True)
        await self._access.close()

    def agree(self, revision: str) -> None:
        self._revision = revision

    def begin(self) -> None:
        """Listening has begun with the connection."""

    def _own_headers(self) -> dict[str, str]:
        return {"MCP-Protocol-Version": self._revision} if self._revision else {}

    async def _listen(self, receiver: Receiver, endpoint: asyncio.Future[str]) -> None:
        fault: McpError = ConnectionLost(f"{self._access.name} closed its stream.")
        try:
            headers = {"Accept": "text/event-stream"}
            async with self._access.send("GET", self._access.url, headers=headers, limits=STREAM) as response:
                if response.status != 200:
                    text = f"{self._access.name} returned status {response.status}."
                    raise Refused(text, status=response.status)
                await self._follow(response, receiver, endpoint)
        except McpError as error:
            fault = error
        if not endpoint.done():
            endpoint.set_exception(fault)
        receiver.lose(fault if isinstance(fault, ConnectionLost) else ConnectionLost(str(fault)))

    async def _follow(self, response: Response, receiver: Receiver, endpoint: asyncio.Future[str]) -> None:
        events = EventDecoder(LONGEST_MESSAGE)
        async for chunk in response:
            for event in decoded(events, chunk):
                if event.name == "endpoint":
                    self._point(event, endpoint)
                elif event.name == "message":
                    _take(event, receiver)

    def _point(self, event: ServerEvent, endpoint: asyncio.Future[str]) -> None:
        """Note the address for messages; it must be on the host that was asked, or secrets would leave it."""
        from urllib.parse import urljoin

        url = urljoin(self._access.url, event.data.decode("utf-8", "replace").strip())
        try:
            same = split_url(url)[0] == split_url(self._access.url)[0]
        except ConfigError:
            same = False
        if not same:
            raise ConnectionLost(f"{self._access.name} asked to send messages to another host; refused.")
        if not endpoint.done():
            endpoint.set_result(url)


def _take(event: ServerEvent, receiver: Receiver) -> None:
    try:
        message = decode(event.data)
    except ValueError:
        receiver.note(f"ignored invalid JSON: {event.data[:200].decode('utf-8', 'replace')}")
    else:
        receiver.take(message)
