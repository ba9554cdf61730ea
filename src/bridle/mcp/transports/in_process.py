"""Servers that live in the host program or in this process: messages go through a function."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from bridle.host.jsonrpc import NO_HEADERS, Message
from bridle.mcp.errors import ConnectionLost
from bridle.mcp.transports.base import Receiver
from bridle.types.errors import BridleError, McpError
from bridle.types.services.mcp import SdkServer

Exchange = Callable[[str, Message], Awaitable[Any]]
"""Takes the name of a server and a message to it; gives back its answer, or anything for a notification."""


class InProcessTransport:
    """Each request is one call of the function, and what it returns is the answer."""

    streams = False

    def __init__(self, name: str, exchange: Exchange) -> None:
        self._name = name
        self._exchange = exchange
        self._receiver: Receiver | None = None

    async def open(self, receiver: Receiver) -> None:
        self._receiver = receiver

    async def send(self, message: Message, headers: Mapping[str, str] = NO_HEADERS) -> None:
        del headers
        receiver = self._receiver
        if receiver is None:
            raise ConnectionLost(f"{self._name} is not connected.")
        try:
            answer = await self._exchange(self._name, message)
        except McpError:
            raise
        except BridleError as error:
            raise ConnectionLost(f"Cannot reach {self._name}: {error}") from error
        if "id" not in message or "method" not in message:
            return
        if not isinstance(answer, dict) or answer.get("id") != message["id"]:
            raise McpError(f"{self._name} did not answer {message['method']}.")
        receiver.take(answer)

    def deliver(self, message: Message) -> None:
        """A message that the server sends on its own."""
        if self._receiver is not None:
            self._receiver.take(message)

    async def close(self) -> None:
        self._receiver = None

    def agree(self, revision: str) -> None:
        """The way is the same for every revision."""

    def begin(self) -> None:
        """There is nothing to listen to."""


def ahead(exchange: Exchange, manifest: Mapping[str, Any]) -> Exchange:
    """A transport whose first answers are known: what the manifest holds is not asked for."""
    known = {
        "initialize": _object(manifest, "initializeResult", "initialize"),
        "tools/list": _object(manifest, "toolsListResult", "toolsList", "tools"),
    }
    left = {method: answer for method, answer in known.items() if answer is not None}
    introduced = "initialize" in left

    async def answer(name: str, message: Message) -> Any:
        method = str(message.get("method"))
        if "id" in message and method in left:
            return {"jsonrpc": "2.0", "id": message["id"], "result": left.pop(method)}
        if introduced and method == "notifications/initialized":
            return None  # The host has said this to its server itself.
        return await exchange(name, message)

    return answer


def sdk_server(name: str, settings: Mapping[str, Any]) -> SdkServer:
    """A server inside the host program, with what the host says about it."""
    timeout = settings.get("timeout")
    usable = isinstance(timeout, int | float) and not isinstance(timeout, bool) and timeout > 0
    return SdkServer(
        name=name,
        timeout=float(timeout) if usable and timeout is not None else None,
        always_load=settings.get("alwaysLoad") is True,
    )


def _object(manifest: Mapping[str, Any], *names: str) -> Mapping[str, Any] | None:
    for name in names:
        match manifest.get(name):
            case dict() as found:
                return found
            case list() as tools:
                return {"tools": tools}
            case _:
                continue
    return None
