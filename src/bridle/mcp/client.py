"""One server, spoken to: the handshake, requests with all that belongs to them, lists of what it offers."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Raw

from bridle.host.jsonrpc import NO_HEADERS, Limits, Progress
from bridle.mcp.client_requests import ClientRequests
from bridle.mcp.errors import SessionExpired, TimedOut
from bridle.mcp.negotiation import Negotiated, Negotiation, agree, request_meta
from bridle.mcp.peer import make_peer
from bridle.mcp.transports.base import Transport
from bridle.types.errors import McpError

_MOST_ROUNDS = 10
_MOST_PAGES = 500
_MOST_ITEMS = 20_000
_FOREVER = 10 * 365 * 86_400.0
_LISTEN_AGAIN = 5.0
_MOST_FAILED_LISTENS = 5

TOOLS, PROMPTS, RESOURCES = "tools", "prompts", "resources"
_LISTED = {
    "toolsListChanged": TOOLS,
    "promptsListChanged": PROMPTS,
    "resourcesListChanged": RESOURCES,
}


class Client:
    """Opened once, closed once; `changed` is called with those of the server's lists that are out of date."""

    def __init__(
        self,
        name: str,
        transport: Transport,
        requests: ClientRequests,
        *,
        changed: Callable[[str], None],
        noted: Callable[[str], None],
    ) -> None:
        self._name = name
        self._transport = transport
        self._requests = requests
        self._changed = changed
        self._noted = noted
        self.peer = make_peer(
            name, transport, answers=requests.answers(), notified=self._take_notification, noted=noted
        )
        self._agreement: Negotiated | None = None
        self._renewing = asyncio.Lock()
        self._listening: asyncio.Task[None] | None = None

    @property
    def agreement(self) -> Negotiated:
        if self._agreement is None:
            raise McpError(f"{self._name} is not connected.")
        return self._agreement

    @property
    def may_decide(self) -> bool:
        """Whether the server says that people can answer questions about permission over it."""
        agreement = self._agreement
        return agreement is not None and all(
            agreement.extends(feature) for feature in ("claude/channel", "claude/channel/permission")
        )

    async def open(self, *, negotiation: Negotiation, limits: Limits) -> None:
        """Connect and find a revision that both speak.

        Raises:
            McpError: the server cannot be reached, or cannot be understood.
        """
        try:
            async with asyncio.timeout(limits.total):
                await self._transport.open(self.peer)
        except TimeoutError as error:
            raise TimedOut(f"Connecting to {self._name} timed out after {limits.total:g} s.") from error
        self._agreement = await agree(
            self.peer,
            self._transport,
            capabilities=self._requests.capabilities(),
            negotiation=negotiation,
            limits=limits,
        )
        if self._agreement.modern:
            self._listening = asyncio.create_task(self._listen(self._agreement))

    async def request(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        limits: Limits,
        progress: Progress | None = None,
        headers: Mapping[str, str] = NO_HEADERS,
    ) -> dict[str, Any]:
        """Ask the server, answering what it must know before it can answer itself.

        A session that the server has forgotten is opened again, once.

        Raises:
            McpError: the server answered with an error, or there is no answer.
        """
        given = dict(params or {})
        for _ in range(_MOST_ROUNDS):
            result = await self._ask(method, given, limits=limits, progress=progress, headers=headers)
            if result.get("resultType") != "input_required":
                return result
            given = await self._with_inputs(params or {}, result)
        raise McpError(f"Gave up on {method}: {self._name} keeps asking for input.")

    async def items(self, method: str, key: str, *, limits: Limits) -> list[Any]:
        """Every entry of a list, page by page, as far as any real server would go; see `entry_of`.

        Raises:
            McpError: the list cannot be had.
        """
        found: list[Any] = []
        cursors: set[str] = set()
        params: dict[str, Any] = {}
        for _ in range(_MOST_PAGES):
            result = await self.request(method, params, limits=limits)
            page = result.get(key)
            found += [each for each in page if isinstance(each, dict | Raw)] if isinstance(page, list) else []
            cursor = result.get("nextCursor")
            if not isinstance(cursor, str) or not cursor:
                return found
            if cursor in cursors or len(found) >= _MOST_ITEMS:
                self._noted(f"{method} returned too many pages; using the first {len(found)} entries")
                return found[:_MOST_ITEMS]
            cursors.add(cursor)
            params = {"cursor": cursor}
        return found

    def tell_roots_changed(self) -> None:
        """The working folders are others now; servers of newer revisions ask when they need them."""
        if self._agreement is not None and not self._agreement.modern:
            self.peer.tell("notifications/roots/list_changed")

    async def close(self) -> None:
        if self._listening is not None:
            self._listening.cancel()
            await asyncio.gather(self._listening, return_exceptions=True)
        await self.peer.close()
        await self._transport.close()

    async def _ask(
        self,
        method: str,
        params: dict[str, Any],
        *,
        limits: Limits,
        progress: Progress | None,
        headers: Mapping[str, str],
    ) -> dict[str, Any]:
        agreement = self.agreement
        meta = {**params.get("_meta", {}), **request_meta(agreement, self._requests.capabilities())}
        sent = {**params, "_meta": meta} if meta else params
        # Where each request has a stream of its own, closing it says that no one waits.
        by_stream = agreement.modern and self._transport.streams
        try:
            return await self.peer.request(
                method, sent, limits=limits, progress=progress, headers=headers, tells_cancel=not by_stream
            )
        except SessionExpired:
            await self._renew(agreement, limits)
        return await self.peer.request(method, sent, limits=limits, progress=progress, headers=headers)

    async def _renew(self, old: Negotiated, limits: Limits) -> None:
        async with self._renewing:
            if self._agreement is not old:
                return  # Another request has done it meanwhile.
            self._agreement = await agree(
                self.peer,
                self._transport,
                capabilities=self._requests.capabilities(),
                negotiation="legacy",
                limits=limits,
            )

    async def _with_inputs(self, params: Mapping[str, Any], result: Mapping[str, Any]) -> dict[str, Any]:
        """A request repeated with the answers to what the server asked back."""
        asked, state = result.get("inputRequests"), result.get("requestState")
        given = dict(params)
        if isinstance(asked, dict):
            given["inputResponses"] = {key: await self._input(each) for key, each in asked.items()}
        if isinstance(state, str):
            given["requestState"] = state
        return given

    async def _input(self, request: Any) -> Mapping[str, Any]:
        match request:
            case {"method": str() as method} if (answer := self._requests.answers().get(method)) is not None:
                params = request.get("params")
                return await answer(params if isinstance(params, dict) else {})
            case _:
                raise McpError(f"{self._name} requested input that bridle does not support.")

    async def _listen(self, agreement: Negotiated) -> None:
        """Subscribe to changes of a server that sends them on request only."""
        wanted = {key: True for key, feature in _LISTED.items() if agreement.announces(feature)}
        failures = 0
        while wanted and failures < _MOST_FAILED_LISTENS:
            try:
                await self.request("subscriptions/listen", {"notifications": wanted}, limits=Limits(_FOREVER))
            except McpError as error:
                if error.code is not None or self.peer.lost.done():
                    return
                failures += 1
            await asyncio.sleep(_LISTEN_AGAIN)
            # What changed while no one listened is not known.
            for feature in wanted:
                self._changed(_LISTED[feature])

    def _take_notification(self, method: str, params: Mapping[str, Any]) -> None:
        match method:
            case "notifications/tools/list_changed":
                self._changed(TOOLS)
            case "notifications/prompts/list_changed":
                self._changed(PROMPTS)
            case "notifications/resources/list_changed":
                self._changed(RESOURCES)
            case "notifications/elicitation/complete":
                self._requests.complete(params.get("elicitationId"))
            case "notifications/claude/channel" if self._agreement and self._agreement.extends(
                "claude/channel"
            ):
                self._requests.push(params)
            case "notifications/claude/channel/permission" if self.may_decide:
                self._requests.settle(params)
            case "notifications/message":
                self._noted(_logged(params))
            case _:
                self._requests.notify(method, params)


def _logged(params: Mapping[str, Any]) -> str:
    level, data = params.get("level"), params.get("data")
    text = data if isinstance(data, str) else str(data)
    return f"{level if isinstance(level, str) else 'log'}: {text}"[:2_000]
