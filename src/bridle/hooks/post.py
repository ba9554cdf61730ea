"""One POST over HTTP/1.1, whose answer has a size limit and whose redirects are not followed."""

import asyncio
import base64
import ipaddress
import socket
import ssl
from collections.abc import Mapping, Sequence

import h11
from msgspec import Struct

from bridle.hooks.endpoint import Endpoint, Proxy, proxy_for
from bridle.types.errors import ConfigError
from bridle.version import __version__

MOST_BYTES = 1024 * 1024
_HEADER_BYTES = 64 * 1024
_CONNECT_SECONDS = 15
_AGENT = f"bridle/{__version__} (hook)"

Headers = Sequence[tuple[str, str]]
_Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Posted(Struct, frozen=True):
    status: int
    body: bytes


async def post(endpoint: Endpoint, body: bytes, *, headers: Headers, env: Mapping[str, str]) -> Posted:
    """Send a JSON body and return what came back.

    Raises:
        ConfigError: the address may not be asked, or the environment names an unusable proxy or root.
        OSError: the host cannot be reached.
        h11.ProtocolError: the headers cannot be sent, or the answer is too large or not HTTP.
    """
    proxy = proxy_for(endpoint, env)
    connection = h11.Connection(h11.CLIENT, max_incomplete_event_size=_HEADER_BYTES)
    plain_proxy = proxy if proxy is not None and endpoint.scheme == "http" else None
    message = _encode(connection, endpoint, body, headers=headers, proxy=plain_proxy)
    reader, writer = await (_connect_through(proxy, endpoint, env) if proxy else _connect(endpoint, env))
    try:
        writer.write(message)
        await writer.drain()
        head = await _next_head(connection, reader)
        return Posted(head.status_code, await _read_body(connection, reader))
    finally:
        writer.transport.abort()


def _encode(
    connection: h11.Connection, endpoint: Endpoint, body: bytes, *, headers: Headers, proxy: Proxy | None
) -> bytes:
    chosen = {name.lower() for name, _ in headers}
    usual = (
        ("Host", endpoint.authority),
        ("User-Agent", _AGENT),
        ("Content-Type", "application/json"),
        ("Accept", "application/json"),
        ("Accept-Encoding", "identity"),
    )
    fields = [
        *(pair for pair in usual if pair[0].lower() not in chosen),
        *headers,
        *(_proxy_headers(proxy) if proxy else ()),
        ("Content-Length", str(len(body))),
        ("Connection", "close"),
    ]
    request = h11.Request(
        method="POST",
        target=endpoint.url if proxy else endpoint.path,
        headers=[(name.encode(), value.encode()) for name, value in fields],
    )
    parts = [connection.send(event) for event in (request, h11.Data(data=body), h11.EndOfMessage())]
    return b"".join(part for part in parts if part)


async def _connect(endpoint: Endpoint, env: Mapping[str, str]) -> _Streams:
    addresses = await _look_up(endpoint)
    context = await _tls(env) if endpoint.scheme == "https" else None
    failure: OSError | None = None
    for address in addresses:
        try:
            async with asyncio.timeout(_CONNECT_SECONDS):
                return await asyncio.open_connection(
                    address, endpoint.port, ssl=context, server_hostname=endpoint.host if context else None
                )
        except OSError as error:
            failure = error
    raise failure or OSError("it has no address")


async def _connect_through(proxy: Proxy, endpoint: Endpoint, env: Mapping[str, str]) -> _Streams:
    _require_reachable(endpoint, (endpoint.host,))
    async with asyncio.timeout(_CONNECT_SECONDS):
        context = await _tls(env) if proxy.tls else None
        reader, writer = await asyncio.open_connection(proxy.host, proxy.port, ssl=context)
    if endpoint.scheme == "https":
        try:
            await _tunnel(reader, writer, endpoint, proxy)
            await writer.start_tls(await _tls(env), server_hostname=endpoint.host)
        except BaseException:
            writer.transport.abort()
            raise
    return reader, writer


async def _tunnel(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, endpoint: Endpoint, proxy: Proxy
) -> None:
    host = f"[{endpoint.host}]" if ":" in endpoint.host else endpoint.host
    place = f"{host}:{endpoint.port}"
    connection = h11.Connection(h11.CLIENT, max_incomplete_event_size=_HEADER_BYTES)
    headers = [("Host", place), ("User-Agent", _AGENT), *_proxy_headers(proxy)]
    writer.write(connection.send(h11.Request(method="CONNECT", target=place, headers=headers)) or b"")
    writer.write(connection.send(h11.EndOfMessage()) or b"")
    await writer.drain()
    head = await _next_head(connection, reader)
    if not 200 <= head.status_code < 300:
        raise OSError(f"the proxy refused with {head.status_code}")


def _proxy_headers(proxy: Proxy) -> list[tuple[str, str]]:
    if not proxy.user:
        return []
    pair = base64.b64encode(f"{proxy.user}:{proxy.password}".encode()).decode("ascii")
    return [("Proxy-Authorization", f"Basic {pair}")]


async def _look_up(endpoint: Endpoint) -> tuple[str, ...]:
    """All addresses of a host; the one that is connected is one that was checked."""
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(endpoint.host, endpoint.port, type=socket.SOCK_STREAM)
    except UnicodeError as error:
        raise OSError(f"{endpoint.host} is not a host name") from error
    addresses = tuple(dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in found))
    _require_reachable(endpoint, addresses)
    return addresses


def _require_reachable(endpoint: Endpoint, addresses: tuple[str, ...]) -> None:
    """Link-local addresses are where clouds hand out credentials to whoever asks."""
    for address in addresses:
        try:
            meant = ipaddress.ip_address(address.partition("%")[0])
        except ValueError:
            continue  # A name that the proxy will look up.
        mapped = meant.ipv4_mapped if isinstance(meant, ipaddress.IPv6Address) else None
        if (mapped or meant).is_link_local:
            raise ConfigError(
                f"{endpoint.host} is {address}, a link-local address that no hook may be sent to"
            )


async def _next_head(connection: h11.Connection, reader: asyncio.StreamReader) -> h11.Response:
    while True:
        event = await _next_event(connection, reader)
        if isinstance(event, h11.Response):
            return event
        if not isinstance(event, h11.InformationalResponse):
            raise h11.RemoteProtocolError("the answer ended before it began")


async def _read_body(connection: h11.Connection, reader: asyncio.StreamReader) -> bytes:
    body = bytearray()
    while isinstance(event := await _next_event(connection, reader), h11.Data):
        body += event.data
        if len(body) > MOST_BYTES:
            raise h11.RemoteProtocolError(f"the answer is larger than {MOST_BYTES // 1024} KiB")
    return bytes(body)


async def _next_event(connection: h11.Connection, reader: asyncio.StreamReader) -> h11.Event:
    while (event := connection.next_event()) is h11.NEED_DATA:
        connection.receive_data(await reader.read(64 * 1024))
    if isinstance(event, h11.Event):
        return event
    raise h11.RemoteProtocolError("the answer changes to another protocol")


async def _tls(env: Mapping[str, str]) -> ssl.SSLContext:
    return await asyncio.to_thread(_load_tls, env)


def _load_tls(env: Mapping[str, str]) -> ssl.SSLContext:
    """The roots of the system, or those that the environment names; certificates are always checked."""
    named = env.get("SSL_CERT_FILE")
    try:
        context = ssl.create_default_context(cafile=named or None)
        if extra := env.get("NODE_EXTRA_CA_CERTS"):
            context.load_verify_locations(extra)
    except OSError as error:
        raise ConfigError(
            f"the certificates cannot be used ({error}); check SSL_CERT_FILE and NODE_EXTRA_CA_CERTS"
        ) from error
    return context
