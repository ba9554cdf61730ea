"""bridle as a server: speaks MCP with one client over its standard streams."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from bridle.host.jsonlines import read_lines, to_line
from bridle.host.jsonrpc import INVALID_PARAMS, NO_HEADERS, PARSE_ERROR, Limits, Message
from bridle.host.streams import Output
from bridle.mcp.errors import ConnectionLost
from bridle.mcp.negotiation import CLIENT
from bridle.mcp.peer import make_peer
from bridle.mcp.protocol_versions import HANDSHAKE, HANDSHAKES, MODERNS, REVISION
from bridle.mcp.transports.base import Receiver, decode
from bridle.types.block import ResultContent
from bridle.types.errors import McpError
from bridle.types.model import ToolDefinition

_SERVER_INFO = "io.modelcontextprotocol/serverInfo"
_PERSON_SECONDS = 3600.0
_QUESTION = "permission"


Ask = Callable[[str], Awaitable[bool]]
"""Puts a question to the person at the client: whether they agree. No where the client cannot ask."""


class CallResult(Struct, frozen=True, kw_only=True):
    """What a call came to."""

    content: str | list[ResultContent]
    is_error: bool = False


class ServerOptions(Struct, frozen=True, kw_only=True):
    """What clients may use."""

    tools: Callable[[], Sequence[ToolDefinition]]
    call: Callable[[str, Mapping[str, Any], Ask], Awaitable[CallResult]]
    """Runs a tool by its name, asking as needed; whatever goes wrong is a result."""
    instructions: str = ""


class StandardStreams:
    """Messages as lines on two descriptors."""

    streams = False

    def __init__(self, incoming: int, outgoing: int) -> None:
        self._incoming = incoming
        self._output = Output(outgoing)

    async def open(self, receiver: Receiver) -> None:
        """There is nothing to begin with; `listen` is what takes time."""

    async def listen(self, receiver: Receiver) -> None:
        """Give on what comes until the client is gone."""
        async for line in read_lines(self._incoming):
            if not line.strip():
                continue
            try:
                receiver.take(decode(line))
            except ValueError as error:
                fault = {"code": PARSE_ERROR, "message": f"not JSON: {error}"}
                await self.send({"jsonrpc": "2.0", "id": None, "error": fault})
        receiver.lose(ConnectionLost("The client disconnected."))

    async def send(self, message: Message, headers: Mapping[str, str] = NO_HEADERS) -> None:
        del headers
        self._output.write(to_line(message))
        await self._output.drain()

    async def close(self) -> None:
        await self._output.drain()

    def agree(self, revision: str) -> None:
        """The way is the same for every revision."""

    def begin(self) -> None:
        """There is nothing to listen to besides."""


class ServedClient:
    """The client on the other end, for as long as it is there."""

    def __init__(self, transport: StandardStreams, offer: ServerOptions) -> None:
        self._transport = transport
        self._offer = offer
        self._modern = False
        self._capabilities: Mapping[str, Any] = {}
        self._held: dict[str, _Held] = {}
        """Calls that wait for the client to come back with an answer, by their state."""
        answers = {
            "initialize": self._initialize,
            "server/discover": self._discover,
            "tools/list": self._list,
            "tools/call": self._call,
        }
        self._peer = make_peer("the client", transport, answers=answers, notified=_ignored, noted=_unnoted)

    async def serve(self) -> None:
        """Answer until the client is gone; what it still waits for then is given up."""
        try:
            await self._transport.listen(self._peer)
        finally:
            await self._peer.close()
            held = [each.task for each in self._held.values()]
            for task in held:
                task.cancel()
            await asyncio.gather(*held, return_exceptions=True)
            await self._transport.close()

    async def _ask(self, message: str) -> bool:
        """A question by a request of our own, as older clients know it."""
        if not isinstance(self._capabilities.get("elicitation"), dict):
            return False
        try:
            answer = await self._peer.request(
                "elicitation/create", _form(message), limits=Limits(_PERSON_SECONDS)
            )
        except McpError:
            return False
        return answer.get("action") == "accept"

    async def _initialize(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        wanted, able = params.get("protocolVersion"), params.get("capabilities")
        self._capabilities = able if isinstance(able, dict) else {}
        return {
            "protocolVersion": wanted if wanted in HANDSHAKES else HANDSHAKE,
            "capabilities": {"tools": {}},
            "serverInfo": CLIENT,
            **({"instructions": self._offer.instructions} if self._offer.instructions else {}),
        }

    async def _discover(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        self._note_revision(params)
        answer: dict[str, Any] = {
            "resultType": "complete",
            "supportedVersions": [*MODERNS, *sorted(HANDSHAKES, reverse=True)],
            "capabilities": {"tools": {}},
            "ttlMs": 0,
            "cacheScope": "private",
            "_meta": {_SERVER_INFO: CLIENT},
        }
        return {**answer, "instructions": self._offer.instructions} if self._offer.instructions else answer

    async def _list(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        self._note_revision(params)
        listed = [
            {
                "name": tool["name"],
                "description": tool.get("description", ""),
                "inputSchema": tool.get("input_schema", {"type": "object"}),
            }
            for tool in self._offer.tools()
        ]
        return self._complete(
            {"tools": listed, **({"ttlMs": 0, "cacheScope": "private"} if self._modern else {})}
        )

    async def _call(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        self._note_revision(params)
        name, arguments = params.get("name"), params.get("arguments")
        if not isinstance(name, str) or name not in {tool["name"] for tool in self._offer.tools()}:
            raise McpError(f"Unknown tool: {str(name)[:200]}", code=INVALID_PARAMS)
        given: Mapping[str, Any] = arguments if isinstance(arguments, dict) else {}
        if self._modern:
            return await self._call_in_rounds(name, given, params)
        return _result(await self._offer.call(name, given, self._ask))

    async def _call_in_rounds(
        self, name: str, given: Mapping[str, Any], params: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        """A call whose questions go out as results, and whose answers come with the call made again."""
        held = self._held.pop(str(params.get("requestState")), None)
        if held is None:
            held = _Held(_can_ask(params))
            held.task = asyncio.ensure_future(self._offer.call(name, given, held.ask))
        else:
            held.take(params.get("inputResponses"))
        asked = asyncio.create_task(held.asked.wait())
        try:
            await asyncio.wait((held.task, asked), return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            held.task.cancel()
            raise
        finally:
            asked.cancel()
        if held.task.done():
            return self._complete(_result(held.task.result()))
        held.asked.clear()
        state = os.urandom(16).hex()
        self._held[state] = held
        request = {"method": "elicitation/create", "params": {"mode": "form", **_form(held.message)}}
        return {"resultType": "input_required", "inputRequests": {_QUESTION: request}, "requestState": state}

    def _complete(self, result: dict[str, Any]) -> dict[str, Any]:
        return {"resultType": "complete", **result} if self._modern else result

    def _note_revision(self, params: Mapping[str, Any]) -> None:
        meta = params.get("_meta")
        if isinstance(meta, dict) and meta.get(REVISION) in MODERNS:
            self._modern = True


class _Held:
    """A call that is under way, and the question that it waits with."""

    task: asyncio.Future[CallResult]

    def __init__(self, can_ask: bool) -> None:
        self._can_ask = can_ask
        self._answer: asyncio.Future[bool] | None = None
        self.asked = asyncio.Event()
        self.message = ""

    async def ask(self, message: str) -> bool:
        if not self._can_ask:
            return False
        self.message = message
        self._answer = asyncio.get_running_loop().create_future()
        self.asked.set()
        async with asyncio.timeout(_PERSON_SECONDS):
            return await self._answer

    def take(self, answers: Any) -> None:
        """What the client brings back; anything but a yes is a no."""
        given = answers.get(_QUESTION) if isinstance(answers, dict) else None
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(isinstance(given, dict) and given.get("action") == "accept")


def _can_ask(params: Mapping[str, Any]) -> bool:
    match params.get("_meta"):
        case {"io.modelcontextprotocol/clientCapabilities": {"elicitation": dict()}}:
            return True
        case _:
            return False


def _form(message: str) -> dict[str, Any]:
    return {"message": message, "requestedSchema": {"type": "object", "properties": {}}}


def _result(done: CallResult) -> dict[str, Any]:
    return {"content": content_of(done.content), "isError": done.is_error}


def content_of(content: str | list[ResultContent]) -> list[dict[str, Any]]:
    """Blocks of ours as blocks of the protocol."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    blocks: list[dict[str, Any]] = []
    for block in content:
        match block:
            case {"type": "text", "text": text}:
                blocks.append({"type": "text", "text": text})
            case {"type": "image", "source": {"type": "base64", "data": data, "media_type": kind}}:
                blocks.append({"type": "image", "data": data, "mimeType": kind})
            case _:
                blocks.append({"type": "text", "text": f"[Content of type {block['type']}]"})
    return blocks


def _ignored(method: str, params: Mapping[str, Any]) -> None:
    """Clients tell nothing that a server of tools must know."""


def _unnoted(text: str) -> None:
    """There is no one to read it."""
