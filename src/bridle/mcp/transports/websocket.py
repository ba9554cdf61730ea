"""Servers behind a WebSocket: one JSON message a frame."""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

from bridle.host.http.address import proxy_for, split_url
from bridle.host.http.tls import client_context
from bridle.host.jsonrpc import NO_HEADERS, Message
from bridle.mcp.errors import ConnectionLost, NotAuthorized
from bridle.mcp.transports.base import LONGEST_MESSAGE, Receiver, decode, encode
from bridle.mcp.transports.http_access import RemoteServer
from bridle.types.errors import ConfigError, McpError
from bridle.version import __version__

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection

_OPEN_WITHIN = 30.0
_CLOSE_WITHIN = 2.0


class WebSocketTransport:
    """One connection; its end is the end of the conversation."""

    streams = False

    def __init__(self, remote: RemoteServer) -> None:
        self._remote = remote
        self._name = remote.name
        self._socket: ClientConnection | None = None
        self._listening: asyncio.Task[None] | None = None

    async def open(self, receiver: Receiver) -> None:
        self._socket = await self._connect(again=True)
        self._listening = asyncio.create_task(self._listen(self._socket, receiver))

    async def send(self, message: Message, headers: Mapping[str, str] = NO_HEADERS) -> None:
        from websockets.exceptions import ConnectionClosed

        del headers
        if self._socket is None:
            raise ConnectionLost(f"{self._name} is not connected.")
        try:
            await self._socket.send(encode(message), text=True)
        except ConnectionClosed as error:
            raise ConnectionLost(f"{self._name} closed the connection.") from error

    async def close(self) -> None:
        if self._socket is not None:
            await self._socket.close()
        if self._listening is not None:
            self._listening.cancel()
            await asyncio.gather(self._listening, return_exceptions=True)

    def agree(self, revision: str) -> None:
        """The wire is the same for every revision."""

    def begin(self) -> None:
        """Listening has begun with the connection."""

    async def _connect(self, *, again: bool) -> "ClientConnection":
        from websockets.asyncio.client import connect
        from websockets.exceptions import InvalidStatus, WebSocketException
        from websockets.typing import Subprotocol

        env = self._remote.env
        try:
            # The same proxies count as for http and https.
            origin, _ = split_url(f"http{self._remote.url.removeprefix('ws')}")
            proxy = proxy_for(origin, env)
            return await connect(
                self._remote.url,
                subprotocols=[Subprotocol("mcp")],
                additional_headers=await self._remote.opening(
                    "GET", self._remote.url.replace("ws", "http", 1)
                ),
                user_agent_header=f"bridle/{__version__}",
                ssl=client_context(env) if origin.scheme == "https" else None,
                proxy=None if proxy is None else proxy.url,
                max_size=LONGEST_MESSAGE,
                open_timeout=_OPEN_WITHIN,
                close_timeout=_CLOSE_WITHIN,
            )
        except InvalidStatus as error:
            status = error.response.status_code
            challenge = error.response.headers.get("WWW-Authenticate", "")
            auth = self._remote.auth if again and status in (401, 403) else None
            if auth is not None and await auth.challenged(status, challenge):
                return await self._connect(again=False)
            if status == 401:
                raise NotAuthorized(f"{self._name} needs a login.") from error
            raise ConnectionLost(f"{self._name} returned status {status}.") from error
        except (OSError, TimeoutError, WebSocketException, ValueError, ConfigError) as error:
            raise ConnectionLost(f"Cannot reach {self._name}: {error}.") from error

    async def _listen(self, socket: "ClientConnection", receiver: Receiver) -> None:
        from websockets.exceptions import ConnectionClosed

        try:
            async for data in socket:
                raw = data.encode() if isinstance(data, str) else data
                try:
                    message = decode(raw)
                except ValueError:
                    receiver.note(f"ignored invalid JSON: {raw[:200].decode('utf-8', 'replace')}")
                else:
                    receiver.take(message)
        except ConnectionClosed as error:
            receiver.lose(ConnectionLost(f"{self._name} closed the connection: {error}."))
            return
        except McpError as error:
            receiver.note(str(error))
        receiver.lose(ConnectionLost(f"{self._name} closed the connection."))
