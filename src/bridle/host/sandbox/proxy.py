"""The way out for confined commands: an HTTP and SOCKS5 proxy that reaches only what the rules allow."""

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any

from msgspec import Struct

from bridle.host.http.address import Origin
from bridle.host.http.address import Proxy as Upstream
from bridle.host.sandbox.domains import Rule, parse_rules, plain_host, read_rules
from bridle.host.sandbox.http_request import Streams
from bridle.host.sandbox.interception import Destination, Interceptor, PlainRequest, join, refuse
from bridle.host.sandbox.policy import Network
from bridle.host.sandbox.upstream_proxy import authorization, connect, tunnel, upstream_for
from bridle.types.question import Answer, NetworkQuestion, Permitted

_LARGEST_HEAD = 64 * 1024
_PATIENCE = 30.0
_MOST_REFUSALS = 20
_HOP_BY_HOP = (b"proxy-", b"connection:", b"keep-alive:", b"host:", b"upgrade:")


class CommandAccess:
    """What one command was let through to, until it ends."""

    def __init__(self) -> None:
        self.hosts: set[str] = set()


class Reached(Struct, frozen=True):
    """Streams to a host, or to the proxy of the house that knows the way."""

    streams: Streams
    upstream: Upstream | None = None
    """The proxy at the other end, when it needs the target's address."""


class Gate:
    """Decides about hosts; an answer that comes with updates holds for the session, else for the command."""

    def __init__(
        self,
        network: Network,
        ask: Callable[[NetworkQuestion], Awaitable[Answer]],
        *,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self._rules = read_rules(network)
        self._denied: tuple[Rule, ...] = ()
        self._ask = ask
        self._env = env or {}
        self._asked: dict[str, asyncio.Task[Answer]] = {}
        self._settled: dict[str, bool] = {}
        self._refused: dict[str, None] = {}

    async def connect(
        self, host: str, port: int, *, visit: CommandAccess, scheme: str = "https"
    ) -> Reached | None:
        """Streams to a host that may be reached, at the very address that was checked; None when it may not.

        Raises:
            OSError: the host may be reached and does not answer.
        """
        name = plain_host(host)
        if not name or not 0 < port < 65536 or not await self._may_reach(name, port, visit):
            return self._refuse(name, port)
        upstream = upstream_for(scheme, name, port, self._env)
        addresses = await _resolve(name, port, required=upstream is None)
        open_to_us = [each for each in addresses if self._rules.may_connect(name, _address(each), port)]
        if addresses and not open_to_us:
            return self._refuse(name, port)
        async with asyncio.timeout(_PATIENCE):
            if upstream is None:
                return Reached(await _first_that_answers(open_to_us, port))
            if scheme == "http":
                return Reached(await connect(upstream, self._env), upstream)
            return Reached(await tunnel(upstream, name, port, self._env))

    def place(self, host: str, port: int) -> Destination:
        """A host as credentials are meant for it; an answer to a question opens it and lists it not."""
        name = plain_host(host)
        return Destination(name, port, self._rules.judge(name, port) == "allow")

    def deny(self, hosts: Sequence[str]) -> None:
        """Refuse these hosts besides those of the settings, from now on and until other ones are named."""
        self._denied = tuple(parse_rules(hosts))

    def take_refusals(self) -> tuple[str, ...]:
        """The hosts that were refused since this was last asked."""
        refused = tuple(self._refused)
        self._refused.clear()
        return refused

    async def close(self) -> None:
        asked = tuple(self._asked.values())
        for question in asked:
            question.cancel()
        await asyncio.gather(*asked, return_exceptions=True)

    def _refuse(self, host: str, port: int) -> None:
        if len(self._refused) < _MOST_REFUSALS:
            self._refused[f"{host}:{port}"[:300]] = None

    async def _may_reach(self, host: str, port: int, visit: CommandAccess) -> bool:
        if any(rule.covers(host, port) for rule in self._denied):
            return False
        match self._rules.judge(host, port):
            case "allow":
                return True
            case "deny":
                return False
            case "ask":
                return await self._put(host, port, visit)

    async def _put(self, host: str, port: int, visit: CommandAccess) -> bool:
        """Ask about a host, once however many connections wait for the answer."""
        if host in visit.hosts:
            return True
        if (settled := self._settled.get(host)) is not None:
            return settled
        if (asked := self._asked.get(host)) is None:
            asked = asyncio.ensure_future(self._ask(NetworkQuestion(host=host, port=port)))
            self._asked[host] = asked
            asked.add_done_callback(lambda _: self._asked.pop(host, None))
        answer = await asyncio.shield(asked)
        permitted = isinstance(answer, Permitted)
        if permitted:
            visit.hosts.add(host)
        if not permitted or answer.updates:
            self._settled[host] = permitted
        return permitted


class Proxy:
    """Serves connections of confined commands until it is closed."""

    def __init__(self, gate: Gate, interceptor: Interceptor | None = None) -> None:
        self.gate = gate
        self._interceptor = interceptor
        self._running: set[asyncio.Task[None]] = set()

    def serve(
        self, listener: socket.socket, *, visit: CommandAccess | None = None, instead: int | None = None
    ) -> asyncio.Task[None]:
        """Take connections at a listening socket; `instead` is the port of another proxy to pass them to.

        The task ends when it is cancelled, and closes the socket.
        """
        return self._start(self._accept(listener, visit or CommandAccess(), instead), listener)

    async def close(self) -> None:
        await self.gate.close()
        running = tuple(self._running)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    def _start(self, work: Coroutine[Any, Any, None], own: socket.socket) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        # Here and not only in the task, which may be cancelled before it has begun.
        task.add_done_callback(lambda task: own.close() if task.cancelled() else None)
        return task

    async def _accept(self, listener: socket.socket, visit: CommandAccess, instead: int | None) -> None:
        loop = asyncio.get_running_loop()
        listener.setblocking(False)
        while True:
            try:
                connection, _ = await loop.sock_accept(listener)
            except OSError:
                listener.close()
                return  # Only a broken listener or a lack of descriptors ends up here.
            self._start(self._attend(connection, visit, instead), connection)

    async def _attend(self, connection: socket.socket, visit: CommandAccess, instead: int | None) -> None:
        reader, writer = await asyncio.open_connection(sock=connection, limit=_LARGEST_HEAD)
        try:
            if instead is not None:
                await join((reader, writer), await asyncio.open_connection("127.0.0.1", instead))
                return
            async with asyncio.timeout(_PATIENCE):
                first = await reader.readexactly(1)
            if first == b"\x05":
                await self._socks((reader, writer), visit)
            else:
                await self._http(first, (reader, writer), visit)
        except (OSError, EOFError, ValueError, asyncio.LimitOverrunError):
            pass  # A client that disconnects or does not speak the protocol harms only itself.
        finally:
            writer.close()

    async def _http(self, first: bytes, client: Streams, visit: CommandAccess) -> None:
        reader, writer = client
        async with asyncio.timeout(_PATIENCE):
            head = first + await reader.readuntil(b"\r\n\r\n")
        method, target, _ = head.split(b"\r\n", 1)[0].split(b" ", 2)
        tunnel = method.upper() == b"CONNECT"
        host, port, path = _target(target.decode("latin-1"), tunnel=tunnel)
        try:
            reached = await self.gate.connect(host, port, visit=visit, scheme="https" if tunnel else "http")
        except OSError:
            await refuse(writer, "502 Bad Gateway", f"Can't reach {host}:{port}.")
            return
        if reached is None:
            await refuse(writer, "403 Forbidden", f"The sandbox does not let commands reach {host}:{port}.")
            return
        place = self.gate.place(host, port)
        if tunnel:
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            await self._join(client, reached.streams, place)
        else:
            await self._forward(client, reached, place, head=head, path=path)

    async def _forward(
        self, client: Streams, reached: Reached, place: Destination, *, head: bytes, path: str
    ) -> None:
        """Pass on a request over plain HTTP, as a host wants it or as the proxy of the house does."""
        authority = Origin("http", place.host, place.port).authority
        prefix = "" if reached.upstream is None else f"http://{authority}"
        own = () if reached.upstream is None else authorization(reached.upstream)
        if self._interceptor is not None and self._interceptor.looks_into_plain(place):
            try:
                await self._interceptor.forward(
                    client, reached.streams, place, first=head, plain=PlainRequest(path, prefix, own)
                )
            finally:
                reached.streams[1].close()
            return
        request, *fields = head[:-4].split(b"\r\n")
        kept = [field for field in fields if not field.lower().startswith(_HOP_BY_HOP)]
        lines = (
            b"%s %s HTTP/1.1" % (request.split(b" ", 1)[0], f"{prefix}{path}".encode("latin-1")),
            b"Host: " + authority.encode("latin-1"),
            *kept,
            *(f"{name}: {value}".encode("latin-1") for name, value in own),
            b"Connection: close",
        )
        reached.streams[1].write(b"\r\n".join(lines) + b"\r\n\r\n")
        await join(client, reached.streams)

    async def _join(self, client: Streams, server: Streams, place: Destination) -> None:
        if self._interceptor is None:
            await join(client, server)
            return
        try:
            await self._interceptor.tunnel(client, server, place)
        finally:
            server[1].close()

    async def _socks(self, client: Streams, visit: CommandAccess) -> None:
        reader, writer = client
        async with asyncio.timeout(_PATIENCE):
            await reader.readexactly((await reader.readexactly(1))[0])
            writer.write(b"\x05\x00")
            _, command, _, kind = await reader.readexactly(4)
            host = await _socks_host(kind, reader)
            port = int.from_bytes(await reader.readexactly(2), "big")
        if command != 1:
            writer.write(_socks_reply(7))
            return
        try:
            reached = await self.gate.connect(host, port, visit=visit)
        except OSError:
            writer.write(_socks_reply(4))
            return
        writer.write(_socks_reply(2 if reached is None else 0))
        if reached is not None:
            await self._join(client, reached.streams, self.gate.place(host, port))


async def _first_that_answers(addresses: Sequence[str], port: int) -> Streams:
    fault: OSError | None = None
    for address in addresses:
        try:
            return await asyncio.open_connection(address, port)
        except OSError as error:
            fault = error
    raise fault or OSError("no address")


async def _resolve(host: str, port: int, *, required: bool) -> list[str]:
    """The addresses of a host; behind a proxy of the house, names may mean nothing here."""
    try:
        return [str(ipaddress.ip_address(host))]
    except ValueError:
        pass  # A name.
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError:
        if required:
            raise
        return []
    return list(dict.fromkeys(str(each[4][0]) for each in found))


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    return ipaddress.ip_address(text.partition("%")[0])


def _target(target: str, *, tunnel: bool) -> tuple[str, int, str]:
    """Host, port and path of a request to a proxy; ValueError when it is not one."""
    if tunnel:
        host, _, port = target.rpartition(":")
        return host, int(port), ""
    scheme, separator, rest = target.partition("://")
    if not separator or scheme.lower() != "http":
        raise ValueError(target)
    authority, slash, path = rest.partition("/")
    authority = authority.rpartition("@")[2]
    host, colon, port = authority.rpartition(":")
    if not colon or "]" in port:
        host, port = authority, "80"
    return host, int(port), slash + path or "/"


async def _socks_host(kind: int, reader: asyncio.StreamReader) -> str:
    match kind:
        case 1:
            return str(ipaddress.IPv4Address(await reader.readexactly(4)))
        case 4:
            return str(ipaddress.IPv6Address(await reader.readexactly(16)))
        case 3:
            return (await reader.readexactly((await reader.readexactly(1))[0])).decode("latin-1")
        case _:
            raise ValueError("unknown kind of address")


def _socks_reply(code: int) -> bytes:
    return bytes((5, code, 0, 1, 0, 0, 0, 0, 0, 0))
