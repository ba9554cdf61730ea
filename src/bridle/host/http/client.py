"""A small HTTP/1.1 client: bodies streamed, connections kept, nothing followed or guessed."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING

from msgspec import Struct

from bridle.host.air_gap.gap import AIR_GAP, GapRefusal
from bridle.host.http.address import Origin, Proxy, proxy_for, split_url
from bridle.host.http.connection import Connection, HttpFault, Limits, Response, Unanswered
from bridle.host.http.head import HeadFault, write_head
from bridle.host.secrets import SECRETS
from bridle.types.errors import ConfigError
from bridle.types.variables import is_on

if TYPE_CHECKING:
    import ssl

__all__ = ["HttpClient", "HttpFault", "Limits", "Request", "Resolve", "Response"]

Resolve = Callable[[str, int], Awaitable[list[str]]]
"""The addresses that may be connected for a host and a port, best first."""

_KEPT_PER_ORIGIN = 8
_USUAL = Limits()


class Request(Struct, frozen=True):
    method: str
    url: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""


class HttpClient:
    """Sends requests and keeps the connections; proxies and certificates come from `env`.

    With `resolve` the addresses it gives are the ones connected, behind a proxy the ones asked for.
    """

    def __init__(
        self, env: Mapping[str, str], *, resolve: Resolve | None = None, kept: int = _KEPT_PER_ORIGIN
    ) -> None:
        """`kept` is how many connections to one origin stay open between requests."""
        self._env = env
        self._kept = kept
        self._resolve = resolve
        self._idle: dict[Origin, list[Connection]] = {}
        self._warming: dict[Origin, asyncio.Event] = {}
        self._context: ssl.SSLContext | None = None
        self._is_stale = False
        """The client certificate may have been renewed since."""
        self._closed = False

    @asynccontextmanager
    async def send(self, request: Request, limits: Limits = _USUAL) -> AsyncGenerator[Response, None]:
        """Yield the response; leaving before the end of its body closes the connection.

        Raises:
            HttpFault: the host cannot be reached or does not answer properly.
            ConfigError: the URL, a header, the proxy or a certificate cannot be used.
        """
        SECRETS.learn_headers(request.headers)
        origin, target = split_url(request.url)
        head = await self._head(request, origin, target)
        connection = await self._take(origin, limits)
        try:
            try:
                response = await connection.exchange(request.method, head, request.body, limits)
            except Unanswered:
                self._distrust_certificate()
                # The host may drop a kept connection while the request is on its way.
                if not connection.used:
                    raise
                connection.abort()
                connection = await self._open(origin, limits)
                response = await connection.exchange(request.method, head, request.body, limits)
            async with aclosing(response):
                yield response
        finally:
            self._release(origin, connection)

    async def warm_up(self, url: str, limits: Limits = _USUAL) -> None:
        """Connect ahead of the first request, which waits for this connection if it comes earlier."""
        origin, _ = split_url(url)
        if origin in self._warming or self._idle.get(origin):
            return
        done = self._warming[origin] = asyncio.Event()
        try:
            self._keep(origin, await self._open(origin, limits))
        except (HttpFault, ConfigError):
            pass  # The request that needs the connection will say why there is none.
        finally:
            del self._warming[origin]
            done.set()

    async def close(self) -> None:
        """Close every connection that is not in use; the others close when their exchange ends."""
        self._closed = True
        kept = [connection for each in self._idle.values() for connection in each]
        self._idle.clear()
        for connection in kept:
            connection.abort()
        for connection in kept:
            await connection.wait_closed()

    async def _take(self, origin: Origin, limits: Limits) -> Connection:
        if (warming := self._warming.get(origin)) is not None:
            await warming.wait()
        kept = self._idle.get(origin, [])
        while kept:
            connection = kept.pop()
            if connection.is_usable():
                return connection
            connection.abort()
        return await self._open(origin, limits)

    def _release(self, origin: Origin, connection: Connection) -> None:
        if connection.settle() and not self._closed:
            self._keep(origin, connection)
        else:
            connection.abort()

    def _keep(self, origin: Origin, connection: Connection) -> None:
        kept = self._idle.setdefault(origin, [])
        kept.append(connection)
        if len(kept) > self._kept:
            kept.pop(0).abort()

    async def _open(self, origin: Origin, limits: Limits) -> Connection:
        try:
            async with asyncio.timeout(limits.connect):
                return Connection(*await self._dial(origin))
        except TimeoutError as error:
            text = f"{origin.url} did not accept a connection within {limits.connect:g} s."
            raise HttpFault(text, "connect", cause=f"can't reach {origin.host} (timeout)") from error
        except OSError as error:
            from bridle.host.http.connect_faults import connect_fault  # Only a failure needs it.

            self._distrust_certificate()
            raise connect_fault(origin, error) from error

    async def _dial(self, origin: Origin) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        context = self._tls() if origin.scheme == "https" else None
        if (local := _way_out(origin)) is not None:
            return await _connect(["127.0.0.1"], Origin(origin.scheme, origin.host, local), context)
        proxy = self._proxy(origin)
        if proxy is None:
            return await _connect(await self._addresses(origin), origin, context)
        through = self._tls() if proxy.origin.scheme == "https" else None
        try:
            reader, writer = await _connect([proxy.origin.host], proxy.origin, through)
        except OSError as error:
            from bridle.host.http.connect_faults import connect_fault

            raise connect_fault(proxy.origin, error, what="the proxy ") from error
        if context is None:
            return reader, writer
        try:
            address = (await self._addresses(origin))[0]
            await _tunnel(reader, writer, Origin("", address, origin.port), proxy)
            await writer.start_tls(context, server_hostname=origin.host)
        except BaseException:
            writer.transport.abort()
            raise
        return reader, writer

    def _proxy(self, origin: Origin) -> Proxy | None:
        return None if AIR_GAP.active else proxy_for(origin, self._env)

    async def _addresses(self, origin: Origin) -> list[str]:
        if self._resolve is None:
            return [origin.host]
        addresses = await self._resolve(origin.host, origin.port)
        if not addresses:
            text = f"No address found for {origin.host}."
            raise HttpFault(text, "connect", cause=f"can't reach {origin.host} (DNS)")
        return addresses

    async def _head(self, request: Request, origin: Origin, target: str) -> bytes:
        headers = [("host", origin.authority), *request.headers]
        if request.body or request.method in ("POST", "PUT", "PATCH"):
            headers.append(("content-length", str(len(request.body))))
        proxy = self._proxy(origin)
        if proxy is not None and origin.scheme == "http":
            address = (await self._addresses(origin))[0]
            target = f"{Origin('http', address, origin.port).url}{target}"
            headers += [("proxy-authorization", proxy.authorization)] if proxy.authorization else []
        try:
            return write_head(request.method, target, headers)
        except HeadFault as error:
            raise ConfigError(
                f"The request to {origin.url} has a header or URL that HTTP forbids."
            ) from error

    def _tls(self) -> "ssl.SSLContext":
        if self._context is None or self._is_stale:
            from bridle.host.http.tls import client_context  # Plain http does without.

            try:
                self._context = client_context(self._env)
            except ConfigError:
                if self._context is None:
                    raise
                return self._context  # The files are just being replaced, so the old ones must do.
            self._is_stale = False
        return self._context

    def _distrust_certificate(self) -> None:
        """After a fault: read a client certificate again, it may have been renewed."""
        pinned = is_on(self._env, "CLAUDE_CODE_DISABLE_MTLS_RELOAD_ON_STALE_CONNECTION")
        if self._env.get("CLAUDE_CODE_CLIENT_CERT") and not pinned:
            self._is_stale = True


def _way_out(origin: Origin) -> int | None:
    """The local port that leads to an origin where all else is out of reach; None to connect as usual.

    Raises:
        HttpFault: it may not be reached.
    """
    try:
        return AIR_GAP.way(origin.host, origin.port)
    except GapRefusal as error:
        raise HttpFault(str(error), "connect", cause=f"offline: {origin.host} not allowed") from error


async def _connect(
    addresses: list[str], origin: Origin, context: "ssl.SSLContext | None"
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection to the first address that takes one."""
    for address in addresses[:-1]:
        try:
            return await _connect([address], origin, context)
        except OSError:
            continue  # The error of the last address is the one reported.
    name = origin.host if context is not None else None
    last = addresses[-1]
    # A race between one runner costs time, and drops its socket when it is cancelled at the finish.
    is_address = ":" in last or last.replace(".", "").isdecimal()
    if is_address or not isinstance(asyncio.get_running_loop(), asyncio.BaseEventLoop):
        # Other event loops have no races between addresses.
        return await asyncio.open_connection(last, origin.port, ssl=context, server_hostname=name)
    return await asyncio.open_connection(
        last, origin.port, ssl=context, server_hostname=name, happy_eyeballs_delay=0.25
    )


async def _tunnel(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, target: Origin, proxy: Proxy
) -> None:
    host = f"[{target.host}]" if ":" in target.host else target.host
    lines = [f"CONNECT {host}:{target.port} HTTP/1.1", f"Host: {host}:{target.port}"]
    if proxy.authorization:
        lines.append(f"Proxy-Authorization: {proxy.authorization}")
    writer.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))
    try:
        answer = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
        raise HttpFault(f"The proxy {proxy.origin.url} gave no readable answer.", "proxy") from error
    version, _, rest = answer.partition(b"\r\n")[0].decode("latin-1").partition(" ")
    if not version.startswith("HTTP/1.") or not rest.startswith("2"):
        hint = "; add a user and password to HTTPS_PROXY" if rest.startswith("407") else ""
        raise HttpFault(f"The proxy {proxy.origin.url} refused to connect ({rest[:80]}){hint}.", "proxy")
