"""One configured server over time: connected, lost, found again, turned off."""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from bridle.host.jsonrpc import Limits, Progress
from bridle.mcp.catalog import ServerTool, cut
from bridle.mcp.client import RESOURCES, Client
from bridle.mcp.client_requests import ClientRequests, RequestContext
from bridle.mcp.discovery_cache import DiscoveryCache
from bridle.mcp.errors import (
    HEADER_MISMATCH,
    URL_ELICITATION_REQUIRED,
    ConnectionLost,
    NotAuthorized,
    TimedOut,
)
from bridle.mcp.negotiation import Negotiation
from bridle.mcp.server_lists import ServerLists
from bridle.mcp.timeouts import Timeouts
from bridle.mcp.transports.base import Transport
from bridle.mcp.transports.headers import parameter_headers
from bridle.types.errors import McpError
from bridle.types.services.mcp import HttpServer, Server, ServerState, Status, StdioServer

_MOST_LINES = 200
_MOST_LOG = 16 * 1024
_MOST_VISITS = 3


class Connection:
    """Keeps one server connected in the background; `changed` is called when its lists change."""

    def __init__(
        self,
        server: Server,
        *,
        make: Callable[[], Transport],
        context: RequestContext,
        timing: Timeouts,
        slots: asyncio.Semaphore,
        changed: Callable[[], None],
        prefixed: bool = True,
        cache: DiscoveryCache | None = None,
    ) -> None:
        self.server = server
        self.offer = ServerLists(
            server, timing=timing, changed=changed, noted=self._note, prefixed=prefixed, cache=cache
        )
        self.transport: Transport | None = None
        self.settled = asyncio.Event()
        """Set once the first attempt is over, whatever came of it."""
        self._make = make
        self._requests = ClientRequests(server.name, context)
        self._timing = timing
        self._slots = slots
        self._changed = changed
        self._client: Client | None = None
        self._status: Status = "disabled" if server.off else "failed" if server.fault else "pending"
        self._error: str | None = server.off or server.fault or None
        self._attempt = 0
        self._log: deque[str] = deque(maxlen=_MOST_LINES)
        self._task: asyncio.Task[None] | None = None
        self._moved: set[asyncio.Task[None]] = set()
        """Calls that continue in the background."""
        self._has_been_connected = self._status == "pending" and self.offer.recall()

    @property
    def status(self) -> Status:
        return self._status

    @property
    def offers(self) -> bool:
        """Whether its tools count: also while a lost connection is fixed, so that requests stay alike."""
        return self._status == "connected" or (self._status == "pending" and self._has_been_connected)

    def state(self) -> ServerState:
        agreement = self._client.agreement if self._status == "connected" and self._client else None
        return ServerState(
            name=self.server.name,
            status=self._status,
            scope=self.server.scope,
            source=self.server.source,
            config=self.server.config,
            info=None if agreement is None else agreement.info,
            protocol=None if agreement is None else agreement.revision,
            error=self._error,
            attempt=self._attempt,
            tools=tuple(tool.facts() for tool in self.offer.tools) if self.offers else (),
            log="\n".join(self._log)[-_MOST_LOG:],
        )

    def instructions(self) -> str:
        if self._client is None or self._status != "connected":
            return ""
        return cut(self._client.agreement.instructions.strip())

    def offers_resources(self) -> bool:
        return (
            self._client is not None
            and self._status == "connected"
            and (self._client.agreement.offers(RESOURCES))
        )

    def start(self) -> None:
        """Connect in the background, unless the server is turned off."""
        if self._status == "disabled" or self.server.fault:
            self.settled.set()
        elif self._task is None:
            self._task = asyncio.create_task(self._look_after())

    async def restart(self) -> None:
        """Connect again and wait for it.

        Raises:
            McpError: the server cannot be reached.
        """
        if self.server.fault:
            raise McpError(f"{self.server.name}: {self.server.fault}. Then start bridle again.")
        await self.stop()
        self._attempt, self._has_been_connected = 0, False
        self._become("pending")
        self.settled.clear()
        self.start()
        await self.settled.wait()
        if self._status != "connected":
            raise McpError(self._error or f"{self.server.name} is not connected.")

    async def turn_off(self, reason: str) -> None:
        await self.stop()
        self._become("disabled", reason)

    async def stop(self) -> None:
        """End the connection and whatever was started for it."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None
        moved = tuple(self._moved)
        for task in moved:
            task.cancel()
        await asyncio.gather(*moved, return_exceptions=True)
        await self._drop()
        self.settled.set()

    async def call(
        self,
        tool: ServerTool,
        arguments: Mapping[str, Any],
        *,
        call_id: str | None = None,
        progress: Progress | None = None,
    ) -> dict[str, Any]:
        """Call a tool, with the person led through pages that it depends on.

        Raises:
            McpError: the server is not connected, refused, or did not answer in time.
        """
        visits = refreshed = 0
        while True:
            try:
                return await self._call(tool, arguments, call_id, progress)
            except McpError as error:
                if error.code == URL_ELICITATION_REQUIRED and visits < _MOST_VISITS:
                    visits += 1
                    if not await self._requests.visit(_pages(error)):
                        raise McpError(f"{error} The page was not opened.", code=error.code) from error
                elif error.code == HEADER_MISMATCH and not refreshed:
                    refreshed = 1
                    await self.offer.fetch_first(await self._connected())
                    tool = next((each for each in self.offer.tools if each.name == tool.name), tool)
                else:
                    raise

    async def request(
        self,
        method: str,
        params: Mapping[str, Any],
        *,
        limits: Limits | None = None,
        progress: Progress | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """Ask the server.

        Raises:
            McpError: the server is not connected, refused, or did not answer in time.
        """
        client = await self._connected()
        try:
            return await client.request(
                method,
                params,
                limits=limits or self._limits(),
                progress=progress,
                headers=headers or {},
            )
        except ConnectionLost as error:
            client.peer.lose(error)
            self._note_lost(client, error)
            raise
        except NotAuthorized as error:
            self._become("needs-auth", str(error))
            client.peer.lose(ConnectionLost(str(error)))
            raise

    def relay(self, question: Mapping[str, Any]) -> bool:
        """Send a permission question to the people behind the server; whether it takes such."""
        client = self._client
        if client is None or self._status != "connected" or not client.may_decide:
            return False
        client.peer.tell("notifications/claude/channel/permission_request", question)
        return True

    def tell(self, method: str, params: Mapping[str, Any]) -> None:
        """Tell the server something, if it is there."""
        if self._client is not None and self._status == "connected":
            self._client.peer.tell(method, params)

    def tell_roots_changed(self) -> None:
        if self._client is not None and self._status == "connected":
            self._client.tell_roots_changed()

    async def _call(
        self,
        tool: ServerTool,
        arguments: Mapping[str, Any],
        call_id: str | None,
        progress: Progress | None,
    ) -> dict[str, Any]:
        params: dict[str, Any] = {"name": tool.name, "arguments": arguments}
        if call_id is not None:
            params["_meta"] = {"claudecode/toolUseId": call_id}
        return await self.request(
            "tools/call",
            params,
            limits=self._call_limits(),
            progress=progress or _ignore,
            headers=parameter_headers(tool.header_paths, arguments),
        )

    def _call_limits(self) -> Limits:
        own = self.server.config.timeout
        return Limits(own / 1000 if own else self._timing.call, self._timing.silence)

    def _limits(self) -> Limits:
        return Limits(self._timing.connect)

    async def _connected(self) -> Client:
        """The client, once it is there: a server that is just being reconnected is worth a short wait."""
        name = self.server.name
        if self._status == "pending":
            try:
                async with asyncio.timeout(self._timing.reconnect_wait):
                    await self.settled.wait()
            except TimeoutError as error:
                raise McpError(f"{name} is still connecting. Try again later.") from error
        if self._client is None or self._status != "connected":
            reason = {"needs-auth": "it needs a login", "disabled": "it is disabled"}
            why = reason.get(self._status) or self._error or "it is not connected"
            raise McpError(f"{name} is not available: {why.rstrip('.')}.")
        return self._client

    async def _look_after(self) -> None:
        """Connect, and again whenever the connection is lost, until there is no hope."""
        loop = asyncio.get_running_loop()
        lost_at = loop.time()
        while True:
            connected_at = loop.time()
            if await self._attempt_once() and self._client is not None:
                self.settled.set()
                self._note_lost(self._client, await asyncio.shield(self._client.peer.lost))
                if self._status == "needs-auth":
                    break
                if self._attempt == 0 or loop.time() - connected_at > self._timing.steady:
                    self._attempt, lost_at = 0, loop.time()
            elif not self._may_try_again(lost_at):
                break
            self._attempt += 1
            if self._attempt > self._timing.attempts:
                self._become("failed", f"{self._error} Gave up after {self._timing.attempts} retries.")
                break
            self._become("pending", self._error)
            await self._drop()
            await asyncio.sleep(
                min(self._timing.first_delay * 2 ** (self._attempt - 1), self._timing.longest_delay)
            )
        await self._drop()
        self.settled.set()

    def _note_lost(self, client: Client, error: ConnectionLost) -> None:
        """From now on calls wait until the connection is fixed."""
        if client is self._client and self._status == "connected":
            self.settled.clear()
            self._become("pending", str(error))

    def _may_try_again(self, lost_at: float) -> bool:
        """A server that never answered is not looked for again, nor one that has been gone for too long."""
        if self._attempt == 0 or self._status == "needs-auth":
            return False
        return asyncio.get_running_loop().time() - lost_at < self._timing.give_up

    async def _attempt_once(self) -> bool:
        try:
            async with self._slots:
                await self._connect("auto" if self._probes() else "legacy")
        except NotAuthorized as error:
            self._become("needs-auth", str(error))
            return False
        except McpError as error:
            self._become("failed", str(error) + self._last_words())
            await self.offer.doubt()
            return False
        except OSError as error:
            self._become("failed", f"Could not start {self.server.name}: {error}.")
            return False
        self._has_been_connected = True
        self._become("connected")
        return True

    async def _connect(self, negotiation: Negotiation) -> None:
        transport = self._make()
        client = Client(self.server.name, transport, self._requests, changed=self._renew, noted=self._note)
        try:
            async with asyncio.timeout(self._timing.connect):
                await client.open(negotiation=negotiation, limits=self._limits())
                await self.offer.fetch_first(client)
        except TimeoutError as error:
            await client.close()
            raise TimedOut(f"{self.server.name} was not ready after {self._timing.connect:g} s.") from error
        except ConnectionLost:
            started = client.peer.lost.done()
            await client.close()
            if negotiation == "legacy" or not started:
                raise
        except BaseException:
            await client.close()
            raise
        else:
            self._client, self.transport = client, transport
            self.offer.fetch_rest(client)
            return
        # Some older servers end when they are asked something before the handshake.
        await self._connect("legacy")

    def _probes(self) -> bool:
        return self._timing.probes and isinstance(self.server.config, StdioServer | HttpServer)

    async def _drop(self) -> None:
        client, self._client, self.transport = self._client, None, None
        await self.offer.stop()
        if client is not None:
            await client.close()

    def _renew(self, feature: str) -> None:
        self.offer.refresh(feature, self._client)

    def _become(self, status: Status, error: str | None = None) -> None:
        self._status, self._error = status, error
        self._changed()

    def _note(self, text: str) -> None:
        self._log.append(text[:2_000])

    def _last_words(self) -> str:
        said = " ".join(line.strip() for line in list(self._log)[-3:] if line.strip())
        return f" Last output: {said[-500:]}" if said else ""

    def keep(self, work: Coroutine[Any, Any, None]) -> None:
        """Let a call continue in the background, for as long as the server is looked after."""
        task = asyncio.create_task(work)
        self._moved.add(task)
        task.add_done_callback(self._moved.discard)


def _pages(error: McpError) -> list[Any]:
    match error.data:
        case {"elicitations": list() as pages}:
            return pages
        case _:
            return []


def _ignore(notification: Mapping[str, Any]) -> None:
    """Progress keeps a call alive even when no one looks."""
