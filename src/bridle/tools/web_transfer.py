"""One HTTP request whose connection goes to the address that was checked."""

import asyncio
import base64
import ssl
import zlib
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from http import HTTPStatus
from urllib.parse import unquote

import h11

from bridle.host.web_address import WebAddress
from bridle.tools.web_addresses import Proxy, find_addresses, find_proxy, require_public_name
from bridle.types.errors import ToolError
from bridle.version import __version__

MOST_BYTES = 10 * 1024 * 1024
_CONNECT_SECONDS = 15
_HEADER_BYTES = 64 * 1024
_ACCEPT = "text/markdown, text/html;q=0.9, text/plain;q=0.8, */*;q=0.5"
_AGENT = f"bridle/{__version__} (WebFetch)"


class Response:
    """The head of an answer; the body is read on request while the connection is open."""

    def __init__(self, head: h11.Response, connection: h11.Connection, reader: asyncio.StreamReader) -> None:
        self.status = head.status_code
        self.reason = head.reason.decode("latin-1")[:100] or _phrase(head.status_code)
        self._headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in head.headers}
        self._connection = connection
        self._reader = reader

    def header(self, name: str) -> str:
        """A header by its name in small letters, empty when it is absent."""
        return self._headers.get(name, "")

    async def read(self) -> bytes:
        """The whole body, unpacked.

        Raises:
            ToolError: it is too large or broken.
        """
        body = bytearray()
        while isinstance(event := await _next_event(self._connection, self._reader), h11.Data):
            body += event.data
            _require_small(len(body))
        return _unpack(bytes(body), self.header("content-encoding").strip().lower())


@asynccontextmanager
async def get(target: WebAddress, env: Mapping[str, str]) -> AsyncGenerator[Response, None]:
    """Ask for a page and give its answer as long as the block runs.

    Raises:
        ToolError: the host may not be reached, cannot be reached, or does not speak HTTP.
    """
    writer: asyncio.StreamWriter | None = None
    try:
        proxy = find_proxy(target, env)
        reader, writer = await (_connect_through(proxy, target, env) if proxy else _connect(target, env))
        plain_proxy = proxy if proxy is not None and target.scheme == "http" else None
        connection = h11.Connection(h11.CLIENT, max_incomplete_event_size=_HEADER_BYTES)
        writer.write(_request(connection, target, plain_proxy))
        await writer.drain()
        yield Response(await _next_head(connection, reader), connection, reader)
    except OSError as error:
        raise ToolError(f"{target.host} cannot be reached: {str(error) or type(error).__name__}.") from error
    except h11.ProtocolError as error:
        raise ToolError(f"{target.host} gave an answer that is not proper HTTP: {error}.") from error
    finally:
        if writer is not None:
            writer.transport.abort()


async def _connect(
    target: WebAddress, env: Mapping[str, str]
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    addresses = await find_addresses(target, env)
    context = await _tls(env) if target.scheme == "https" else None
    failure: OSError | None = None
    for address in addresses:
        try:
            async with asyncio.timeout(_CONNECT_SECONDS):
                return await asyncio.open_connection(
                    address, target.port, ssl=context, server_hostname=target.host if context else None
                )
        except OSError as error:
            failure = error
    raise failure or OSError("no address")


async def _connect_through(
    proxy: Proxy, target: WebAddress, env: Mapping[str, str]
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    await require_public_name(target, env)
    async with asyncio.timeout(_CONNECT_SECONDS):
        context = await _tls(env) if proxy.tls else None
        reader, writer = await asyncio.open_connection(proxy.host, proxy.port, ssl=context)
    if target.scheme == "https":
        try:
            await _tunnel(reader, writer, target, proxy)
            await writer.start_tls(await _tls(env), server_hostname=target.host)
        except BaseException:
            writer.transport.abort()
            raise
    return reader, writer


async def _tunnel(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, target: WebAddress, proxy: Proxy
) -> None:
    host = f"[{target.host}]" if ":" in target.host else target.host
    place = f"{host}:{target.port}"
    connection = h11.Connection(h11.CLIENT, max_incomplete_event_size=_HEADER_BYTES)
    headers = [("Host", place), ("User-Agent", _AGENT), *_proxy_headers(proxy)]
    writer.write(connection.send(h11.Request(method="CONNECT", target=place, headers=headers)) or b"")
    writer.write(connection.send(h11.EndOfMessage()) or b"")
    await writer.drain()
    head = await _next_head(connection, reader)
    if not 200 <= head.status_code < 300:
        raise ToolError(
            f"The proxy refused to reach {target.host}: {head.status_code} {_phrase(head.status_code)}."
        )


def _request(connection: h11.Connection, target: WebAddress, proxy: Proxy | None) -> bytes:
    headers = [
        ("Host", target.authority),
        ("User-Agent", _AGENT),
        ("Accept", _ACCEPT),
        ("Accept-Encoding", "gzip, deflate"),
        ("Connection", "close"),
        *(_proxy_headers(proxy) if proxy else []),
    ]
    place = target.url if proxy else target.path
    request = connection.send(h11.Request(method="GET", target=place, headers=headers))
    return (request or b"") + (connection.send(h11.EndOfMessage()) or b"")


def _proxy_headers(proxy: Proxy) -> list[tuple[str, str]]:
    if not proxy.user:
        return []
    pair = f"{unquote(proxy.user)}:{unquote(proxy.password)}".encode()
    return [("Proxy-Authorization", f"Basic {base64.b64encode(pair).decode('ascii')}")]


async def _next_head(connection: h11.Connection, reader: asyncio.StreamReader) -> h11.Response:
    while True:
        event = await _next_event(connection, reader)
        if isinstance(event, h11.Response):
            return event
        if not isinstance(event, h11.InformationalResponse):
            raise h11.RemoteProtocolError("it ended before it began")


async def _next_event(connection: h11.Connection, reader: asyncio.StreamReader) -> h11.Event:
    while (event := connection.next_event()) is h11.NEED_DATA:
        connection.receive_data(await reader.read(64 * 1024))
    if isinstance(event, h11.Event):
        return event
    raise h11.RemoteProtocolError("it changed to another protocol")


async def _tls(env: Mapping[str, str]) -> ssl.SSLContext:
    return await asyncio.to_thread(_load_tls, env.get("NODE_EXTRA_CA_CERTS"))


def _load_tls(extra_roots: str | None) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if extra_roots:
        context.load_verify_locations(extra_roots)
    return context


def _unpack(body: bytes, encoding: str) -> bytes:
    if encoding in ("", "identity"):
        return body
    if encoding not in ("gzip", "x-gzip", "deflate"):
        raise ToolError(
            f"The page is packed with {encoding[:50]}, which cannot be unpacked; try another URL."
        )
    try:
        unpacked = _inflate(body, 32 + zlib.MAX_WBITS)
    except zlib.error:
        try:
            # Some servers leave out the wrapping that deflate should have.
            unpacked = _inflate(body, -zlib.MAX_WBITS)
        except zlib.error as error:
            raise ToolError(f"The page is damaged and cannot be unpacked: {error}.") from error
    _require_small(len(unpacked))
    return unpacked


def _inflate(body: bytes, window: int) -> bytes:
    return zlib.decompressobj(window).decompress(body, MOST_BYTES + 1)


def _require_small(size: int) -> None:
    if size > MOST_BYTES:
        raise ToolError(f"The page is larger than {MOST_BYTES // 1024 // 1024} MB; fetch a smaller one.")


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unknown"
