"""All servers of a session, and what they offer together."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from msgspec import Struct

from bridle.host.jsonrpc import Message
from bridle.host.reaper import Reaper
from bridle.mcp.authorizer import Authorizer
from bridle.mcp.catalog import ServerTool
from bridle.mcp.client_requests import RequestContext
from bridle.mcp.connection import Connection
from bridle.mcp.discovery_cache import DiscoveryCache
from bridle.mcp.host_logins import HostLogins
from bridle.mcp.resource_tools import resource_tools, waiting_tool
from bridle.mcp.results import FitImage
from bridle.mcp.server_lists import ServerLists
from bridle.mcp.server_skills import verify
from bridle.mcp.timeouts import Timeouts
from bridle.mcp.tools import ServerToolContext, session_tool
from bridle.mcp.transports.in_process import Exchange, InProcessTransport, ahead, sdk_server
from bridle.mcp.transports.selection import TransportContext, make_transport
from bridle.types.errors import ConfigError, McpError
from bridle.types.sandbox import Sandbox
from bridle.types.services.mcp import (
    TURNED_OFF,
    LoginPage,
    Prompt,
    Replaced,
    Resource,
    SdkServer,
    ServedSkill,
    Server,
    ServerState,
    StdioServer,
    normalized,
)
from bridle.types.tool import Tool
from bridle.types.variables import is_on

if TYPE_CHECKING:
    from bridle.mcp.auth.challenge import Challenge

_MOST_INSTRUCTIONS = 16_000


class ServersContext(Struct, frozen=True, kw_only=True):
    """What the servers of a session are run in and turned to."""

    cwd: str
    env: Mapping[str, str]
    requests: RequestContext
    read: Callable[[str, Any], Server]
    """Reads an entry that a host sets; raises ConfigError."""
    fit_image: FitImage | None = None
    exchange: Exchange | None = None
    authorizer: Callable[[Server], Authorizer | None] = lambda _: None
    sandbox: Sandbox | None = None
    offered: Callable[[str], bool] = lambda _: True
    """Whether a tool of this name may be offered at all."""
    remember: Callable[[str, bool], None] | None = None
    """Keeps for later sessions that a server was turned on or off; raises ConfigError or OSError."""
    waits_for_all: bool = True
    """The first request waits a moment for every server, not only for those that are always loaded."""


class Servers:
    """Connects in the background, a few at a time; closed with the session."""

    def __init__(
        self, servers: Iterable[Server], context: ServersContext, timing: Timeouts | None = None
    ) -> None:
        self._context = context
        self._timing = timing or Timeouts.of(context.env)
        self._reaper = Reaper()
        self._local = asyncio.Semaphore(self._timing.local_slots)
        self._remote = asyncio.Semaphore(self._timing.remote_slots)
        self._connections: dict[str, Connection] = {}
        self._set_by_host: set[str] = set()
        self._waited_for: set[Connection] = set()
        self._received: WeakKeyDictionary[object, dict[str, str]] = WeakKeyDictionary()
        """The instructions that each conversation has received."""
        self._watch: Callable[[], None] = _unwatched
        self._offer: tuple[Tool, ...] | None = None
        self._built: dict[str, tuple[tuple[ServerTool, ...], tuple[Tool, ...]]] = {}
        self._resource_tools = resource_tools(self, env=context.env, fit=context.fit_image)
        self._waiting_tool = waiting_tool(self, self._timing.connect)
        self._waits = False
        """Whether the model knows of a tool that waits for servers; it stays then."""
        self._cache = DiscoveryCache.of(context.env)
        self._logins = HostLogins(context.authorizer, self.reconnect)
        for server in servers:
            self._add(server)

    def status(self) -> tuple[ServerState, ...]:
        return tuple(connection.state() for connection in self._connections.values())

    def tools(self) -> Sequence[Tool]:
        if self._offer is None:
            self._offer = tuple(self._build())
        return self._offer

    def input_schemas(self, server: str) -> Mapping[str, Mapping[str, Any]]:
        """What the tools of a server take, by the names that it gave them and as it wrote it.

        Raises:
            McpError: there is no such server.
        """
        return {tool.name: tool.schema for tool in self._find(server).offer.tools}

    def resources(self, server: str | None = None) -> tuple[Resource, ...]:
        chosen = self._connections.values() if server is None else [self._find(server)]
        return tuple(
            each for connection in chosen for each in connection.offer.resources if connection.offers
        )

    def prompts(self) -> tuple[Prompt, ...]:
        return tuple(
            each
            for connection in self._connections.values()
            if connection.offers
            for each in connection.offer.prompts
        )

    def skills(self) -> tuple[ServedSkill, ...]:
        return tuple(
            each
            for connection in self._connections.values()
            if connection.offers
            for each in connection.offer.skills
        )

    def instructions(self) -> Mapping[str, str]:
        texts: dict[str, str] = {}
        left = _MOST_INSTRUCTIONS
        for name, connection in sorted(self._connections.items()):
            text = connection.instructions()
            if text and len(text) <= left:
                texts[name] = text
                left -= len(text)
        return texts

    def news(self, conversation: object) -> str | None:
        """What servers say about using them that this conversation has not received yet; None when it has."""
        known = self._received.setdefault(conversation, {})
        fresh = {name: text for name, text in self.instructions().items() if known.get(name) != text}
        known.update(fresh)
        if not fresh:
            return None
        parts = "\n\n".join(f"## {name}\n{text}" for name, text in fresh.items())
        return f"Instructions from MCP servers for their tools and resources:\n\n{parts}"

    def waiting(self) -> tuple[str, ...]:
        """The servers that are still being connected."""
        return tuple(name for name, each in self._connections.items() if each.status == "pending")

    async def settle(self) -> None:
        # Once each: a server that is lost later must not hold up later turns.
        fresh = [each for each in self._connections.values() if each not in self._waited_for]
        self._waited_for.update(fresh)
        unknown = [each for each in fresh if not each.offers]
        always = [each for each in unknown if each.server.config.always_load]
        others = unknown if self._context.waits_for_all else []
        await asyncio.gather(
            _settled(always, self._timing.connect), _settled(others, self._timing.first_turn)
        )

    async def listed(self, named: Sequence[str] = ()) -> None:
        offering = {name: each.offer for name, each in self._connections.items() if each.offers}
        patience = {
            name: self._timing.connect if name in named else self._timing.first_turn for name in offering
        }
        await asyncio.gather(*(_complete(offer, patience[name]) for name, offer in offering.items()))

    async def reconnect(self, name: str) -> None:
        connection = self._find(name)
        if connection.status == "disabled":
            raise McpError(f"{name} is disabled. Enable it first.")
        await connection.restart()

    async def toggle(self, name: str, *, enabled: bool) -> None:
        connection = self._find(name)
        await self._remember(connection.server, enabled=enabled)
        if not enabled:
            await connection.turn_off(TURNED_OFF)
        elif connection.server.off not in ("", TURNED_OFF):
            raise McpError(f"Cannot enable {name}: {connection.server.off}.")
        elif connection.status == "disabled":
            await connection.restart()

    async def begin_login(self, name: str, redirect_uri: str | None = None) -> LoginPage:
        return await self._logins.begin(self._find(name).server, redirect_uri)

    async def finish_login(self, name: str, address: str) -> None:
        await self._logins.finish(name, address)

    async def log_out(self, name: str) -> None:
        connection = self._find(name)
        await self._logins.leave(connection.server)
        if connection.status != "disabled":
            with suppress(McpError):  # It says by its status that it wants a login.
                await connection.restart()

    async def set_servers(self, configs: Mapping[str, Any]) -> Replaced:
        wanted: dict[str, Server] = {}
        errors: dict[str, str] = {}
        for name, raw in configs.items():
            try:
                wanted[name] = self._context.read(name, raw)
            except ConfigError as error:
                errors[name] = str(error)
        old = {name for name in self._set_by_host if name in self._connections}
        same = {name for name in old & wanted.keys() if self._connections[name].server == wanted[name]}
        gone = sorted(old - same)
        await asyncio.gather(*(self._remove(name) for name in gone))
        fresh = [server for name, server in wanted.items() if name not in same]
        for server in fresh:
            if server.name in self._connections:
                await self._remove(server.name)
            self._add(server)
        self._set_by_host = same | {server.name for server in fresh}
        await _settled([self._connections[server.name] for server in fresh], self._timing.connect)
        for server in fresh:
            state = self._connections[server.name].state()
            if state.status == "failed":
                errors[server.name] = state.error or "cannot connect"
        return Replaced(
            added=tuple(server.name for server in fresh if server.name not in gone),
            removed=tuple(name for name in gone if name not in wanted),
            errors=errors,
        )

    async def ready(self, names: Sequence[str] | None, seconds: float) -> tuple[ServerState, ...]:
        chosen = list(self._connections.values()) if names is None else [self._find(name) for name in names]
        await _settled([each for each in chosen if each.status == "pending"], seconds)
        return tuple(each.state() for each in chosen)

    def add_sdk(
        self,
        names: Sequence[str],
        *,
        configs: Mapping[str, Mapping[str, Any]] | None = None,
        manifests: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        for name in names:
            if name in self._connections:
                continue
            config = sdk_server(name, (configs or {}).get(name, {}))
            server = Server(name=name, config=config, scope="dynamic")
            self._add(server, manifest=(manifests or {}).get(name))

    def message(self, name: str, message: Message) -> None:
        connection = self._connections.get(name)
        if connection is not None and isinstance(connection.transport, InProcessTransport):
            connection.transport.deliver(message)

    async def call(
        self, server: str, tool: str, input: Mapping[str, Any], *, call_id: str | None = None
    ) -> dict[str, Any]:
        connection = self._find(server)
        known = next((each for each in connection.offer.tools if tool in (each.name, each.full_name)), None)
        if known is None and connection.offers:
            raise McpError(f"{server} has no tool {tool!r}.")
        unknown = ServerTool(full_name=tool, name=tool, description="", schema_json=b"{}")
        return await connection.call(known or unknown, input, call_id=call_id)

    async def read_resource(self, server: str, uri: str) -> dict[str, Any]:
        connection = self._find(server)
        result = await connection.request("resources/read", {"uri": uri})
        if connection.offer.skills:
            verify(connection.offer.skills, uri, result)
        return result

    async def prompt(self, server: str, name: str, arguments: Mapping[str, str]) -> dict[str, Any]:
        return await self._find(server).request("prompts/get", {"name": name, "arguments": arguments})

    async def complete(
        self, server: str, reference: Mapping[str, Any], argument: tuple[str, str]
    ) -> tuple[str, ...]:
        name, value = argument
        params = {"ref": reference, "argument": {"name": name, "value": value}}
        result = await self._find(server).request("completion/complete", params)
        match result:
            case {"completion": {"values": list() as values}}:
                return tuple(each for each in values[:100] if isinstance(each, str))
            case _:
                return ()

    def relay(self, question: Mapping[str, Any], allowed: Callable[[str], bool]) -> bool:
        """Put a question about permission to the channels among the allowed; whether there was any."""
        relayed = [each.relay(question) for name, each in self._connections.items() if allowed(name)]
        return any(relayed)

    def roots_changed(self) -> None:
        for connection in self._connections.values():
            connection.tell_roots_changed()

    async def close(self) -> None:
        await self._logins.close()
        await asyncio.gather(*(connection.stop() for connection in self._connections.values()))
        await asyncio.to_thread(self._reaper.close)

    def _add(self, server: Server, *, manifest: Mapping[str, Any] | None = None) -> None:
        context = self._context
        exchange = context.exchange
        if manifest is not None and exchange is not None:
            exchange = ahead(exchange, manifest)
        transport = TransportContext(
            cwd=context.cwd,
            env=context.env,
            reaper=self._reaper,
            sandbox=context.sandbox,
            exchange=exchange,
            authorizer=context.authorizer,
        )
        is_sdk = isinstance(server.config, SdkServer)
        connection = Connection(
            server,
            make=lambda: make_transport(server, transport),
            context=context.requests,
            timing=self._timing,
            slots=self._local if isinstance(server.config, StdioServer) else self._remote,
            changed=self._forget_offer,
            prefixed=not (is_sdk and is_on(context.env, "CLAUDE_AGENT_SDK_MCP_NO_PREFIX")),
            cache=self._cache if server.source != "sdk" else None,
        )
        self._connections[server.name] = connection
        connection.start()

    async def _remove(self, name: str) -> None:
        connection = self._connections.pop(name)
        self._built.pop(name, None)
        self._forget_offer()
        await connection.stop()

    def challenge(self, name: str) -> "Challenge | None":
        """What a server has said about the login that it wants.

        Raises:
            McpError: there is no such server.
        """
        authorizer = self._context.authorizer(self._find(name).server)
        return getattr(authorizer, "challenge", None)

    async def _remember(self, server: Server, *, enabled: bool) -> None:
        """What is in no file has nothing to be remembered for."""
        if self._context.remember is None or server.scope == "dynamic":
            return
        try:
            await asyncio.to_thread(self._context.remember, server.name, enabled)
        except (ConfigError, OSError) as error:
            raise McpError(f"Could not save the change to {server.name}: {error}") from error

    def _find(self, name: str) -> Connection:
        if (connection := self._connections.get(name)) is not None:
            return connection
        alike = (each for key, each in self._connections.items() if normalized(key) == name)
        if (connection := next(alike, None)) is not None:
            return connection
        raise McpError(f"Server not found: {name}")

    def watch(self, changed: Callable[[], None]) -> None:
        """Tell `changed` whenever a server fares differently or offers something else."""
        self._watch = changed

    def _forget_offer(self) -> None:
        self._offer = None
        self._watch()

    def _build(self) -> Iterable[Tool]:
        """The tools by name; what a name stands for never changes while its server is there."""
        tools: dict[str, Tool] = {}
        for connection in self._connections.values():
            if connection.offers:
                for tool in self._tools_of(connection):
                    tools.setdefault(tool.name, tool)
        if any(connection.offers_resources() for connection in self._connections.values()):
            tools.update({tool.name: tool for tool in self._resource_tools})
        # Before the first request has waited no one knows which servers are slow.
        self._waits = self._waits or (bool(self._waited_for) and bool(self.waiting()))
        if self._waits:
            tools[self._waiting_tool.name] = self._waiting_tool
        return (tools[name] for name in sorted(tools) if self._context.offered(name))

    def _tools_of(self, connection: Connection) -> tuple[Tool, ...]:
        name = connection.server.name
        known = self._built.get(name)
        if known is None or known[0] is not connection.offer.tools:
            context = ServerToolContext.of(connection, env=self._context.env, fit=self._context.fit_image)
            built = tuple(session_tool(context, tool) for tool in connection.offer.tools)
            known = self._built[name] = (connection.offer.tools, built)
        return known[1]


def _unwatched() -> None:
    """No one looks."""


async def _settled(connections: Sequence[Connection], seconds: float) -> None:
    waiting = [asyncio.create_task(each.settled.wait()) for each in connections if not each.settled.is_set()]
    if not waiting:
        return
    try:
        await asyncio.wait(waiting, timeout=seconds)
    finally:
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


async def _complete(offer: ServerLists, seconds: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await offer.complete()
