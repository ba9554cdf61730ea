"""Looks into requests of confined commands on their way out, to put in credentials that they do not have."""

import asyncio
import socket
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from bridle.host.http.address import Origin
from bridle.host.http.tls import client_context
from bridle.host.sandbox.authority import Authority
from bridle.host.sandbox.domains import plain_host
from bridle.host.sandbox.http_request import LARGEST_HEAD, Head, RequestReader, Streams
from bridle.host.sandbox.masking.credentials import CredentialStore, Secret
from bridle.host.sandbox.masking.injection import inject_body, inject_head, overlap
from bridle.host.sandbox.masking.settings import Signing
from bridle.host.sandbox.masking.sigv4 import Outcome, Refused, Resigned, resign
from bridle.types.errors import ConfigError

LARGEST_BODY = 8 * 1024 * 1024
"""Longer bodies of a stated length pass as they are."""
_CHUNK = 64 * 1024
_HANDSHAKE = 20.0
_GOODBYE = 2.0
_HELLO = b"\x16\x03"


class Destination(Struct, frozen=True):
    """Where a request goes: the host that was judged, and whether our own settings list it."""

    host: str
    port: int
    listed: bool


class PlainRequest(Struct, frozen=True):
    """How a request over plain HTTP continues: to its host, or with its whole address to a proxy."""

    path: str
    prefix: str = ""
    more: tuple[tuple[str, str], ...] = ()


class Interceptor:
    """Ends the encryption of commands here and begins another to the host, request by request."""

    def __init__(
        self,
        vault: CredentialStore,
        *,
        authority: Authority | None = None,
        signing: Signing | None = None,
        plaintext: bool = False,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self._vault = vault
        self._authority = authority
        self._signing = signing or Signing()
        self._plaintext = plaintext
        self._env = env or {}

    def looks_into_plain(self, place: Destination) -> bool:
        """Whether a request over plain HTTP may get real values."""
        return self._plaintext and bool(self._secrets(place))

    async def tunnel(self, client: Streams, server: Streams, place: Destination) -> None:
        """Join a command with a host; if the command begins to encrypt, look into what it sends.

        Raises:
            OSError, EOFError, ValueError: one side closed the connection or does not speak the protocol.
        """
        if self._authority is None:
            await join(client, server)
            return
        first, theirs = await _first_words(client[0], server[0])
        if theirs or not first.startswith(_HELLO):
            server[1].write(first)
            client[1].write(theirs)
            await join(client, server)
            return
        async with _decrypted(client, first, self._authority.context_for(place.host)) as inner:
            try:
                outer = await over_tls(server[1], self._trusted(), host=place.host)
            except OSError as error:
                await refuse(inner[1], "502 Bad Gateway", f"can't verify {place.host}: {error}")
                return
            try:
                await self.forward(inner, outer, place)
            finally:
                # A polite end would wait for the host, which has nothing to say any more.
                outer[1].transport.abort()

    async def forward(
        self,
        client: Streams,
        server: Streams,
        place: Destination,
        *,
        first: bytes = b"",
        plain: PlainRequest | None = None,
    ) -> None:
        """Pass on one request with real values in it, and the answer."""
        incoming = RequestReader(client, first)
        head = await incoming.head()
        if plain is not None:
            headers = (("Host", Origin("http", place.host, place.port).authority), *head.without("host"))
            head = replace(head, target=plain.path, headers=headers)
        elif not _is_for(head, place):
            await refuse(client[1], "421 Misdirected Request", "The Host header names another host.")
            return
        secrets = self._secrets(place)
        signed = self._resigning(head, place)
        body: bytes | None = None
        if isinstance(signed, Resigned) and signed.digest is None:
            body, whole = await incoming.whole(LARGEST_BODY)
            signed = signed if whole else Refused("The body is too large to be signed again.")
        if isinstance(signed, Refused):
            await refuse(client[1], "403 Forbidden", signed.reason)
            return
        if signed is None:
            head = inject_head(head, secrets)
        elif isinstance(signed, Resigned):
            head = signed.apply(head, body or b"")
        if plain is not None:
            head = replace(head, target=f"{plain.prefix}{head.target}", headers=(*head.headers, *plain.more))
        if any("upgrade" in value.lower() for value in head.values("connection")):
            server[1].write(head.written((("Connection", "Upgrade"),)) + incoming.trailing)
            await join(client, server)
            return
        await _answer(
            incoming,
            partial(_send, incoming, head, server[1], () if signed else secrets, body=body),
            client,
            server,
        )

    def _resigning(self, head: Head, place: Destination) -> Outcome | None:
        if not place.listed:
            return None
        return resign(head, self._vault, self._signing, host=place.host, port=place.port)

    def _secrets(self, place: Destination) -> tuple[Secret, ...]:
        return self._vault.secrets_for(place.host, place.port) if place.listed else ()

    def _trusted(self) -> ssl.SSLContext:
        try:
            return client_context(self._env)
        except ConfigError as error:
            raise OSError(str(error)) from error


async def over_tls(writer: asyncio.StreamWriter, context: ssl.SSLContext, *, host: str) -> Streams:
    """Encrypt an open connection from here on, to a host that proves its name.

    Raises:
        OSError: it does not.
    """
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=LARGEST_HEAD)
    protocol = asyncio.StreamReaderProtocol(reader)
    transport = await loop.start_tls(
        writer.transport, protocol, context, server_hostname=host, ssl_handshake_timeout=_HANDSHAKE
    )
    if transport is None:
        raise OSError("the connection ended")
    protocol.connection_made(transport)
    return reader, asyncio.StreamWriter(transport, protocol, reader, loop)


async def join(one: Streams, other: Streams) -> None:
    """Pass bytes both ways until both sides have said all."""
    try:
        await asyncio.gather(pass_on(one[0], other[1]), pass_on(other[0], one[1]))
    finally:
        other[1].close()


async def pass_on(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    """Pass bytes one way to their end."""
    while chunk := await source.read(_CHUNK):
        sink.write(chunk)
        await sink.drain()
    if sink.can_write_eof():
        sink.write_eof()


async def refuse(writer: asyncio.StreamWriter, status: str, text: str) -> None:
    """Answer a request ourselves."""
    body = f"{text}\n".encode("latin-1", "replace")
    fields = ("Content-Type: text/plain", f"Content-Length: {len(body)}", "Connection: close")
    writer.write("\r\n".join((f"HTTP/1.1 {status}", *fields, "", "")).encode() + body)
    await writer.drain()


@asynccontextmanager
async def _decrypted(client: Streams, first: bytes, context: ssl.SSLContext) -> AsyncGenerator[Streams]:
    """What a command says inside of its encryption, of which the `first` bytes were read already."""
    loop = asyncio.get_running_loop()
    near, far = socket.socketpair()
    far.setblocking(False)
    raw = await asyncio.open_connection(sock=near)
    raw[1].write(first)
    up, down = (asyncio.ensure_future(pass_on(*way)) for way in ((client[0], raw[1]), (raw[0], client[1])))
    reader = asyncio.StreamReader(limit=LARGEST_HEAD)
    protocol = asyncio.StreamReaderProtocol(reader)
    try:
        transport, _ = await loop.connect_accepted_socket(
            lambda: protocol,
            far,
            ssl=context,
            ssl_handshake_timeout=_HANDSHAKE,
            ssl_shutdown_timeout=_GOODBYE,
        )
        writer = asyncio.StreamWriter(transport, protocol, reader, loop)
        try:
            yield reader, writer
        finally:
            writer.close()
            await asyncio.wait((down,), timeout=_GOODBYE)
            transport.abort()
    except OSError:
        far.close()
        raise
    finally:
        for task in (up, down):
            task.cancel()
        await asyncio.gather(up, down, return_exceptions=True)
        raw[1].close()


async def _first_words(client: asyncio.StreamReader, server: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """What each side says first, as soon as one of them says anything or ends."""
    both = [asyncio.ensure_future(side.read(_CHUNK)) for side in (client, server)]
    try:
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for reading in both:
            reading.cancel()
        await asyncio.gather(*both, return_exceptions=True)
    ours, theirs = (b"" if reading.cancelled() else reading.result() for reading in both)
    return ours, theirs


async def _answer(
    incoming: RequestReader, send: Callable[[], Awaitable[None]], client: Streams, server: Streams
) -> None:
    """Pass the answer on while the request is still being sent, until it ends or no one wants it any more."""
    answer = asyncio.ensure_future(pass_on(server[0], client[1]))
    asking = asyncio.ensure_future(_ask(incoming, send))
    try:
        await asyncio.wait((answer, asking), return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (answer, asking):
            task.cancel()
        await asyncio.gather(answer, asking, return_exceptions=True)


async def _ask(incoming: RequestReader, send: Callable[[], Awaitable[None]]) -> None:
    """Send a request; ends when the client has gone."""
    await send()
    await incoming.gone()


async def _send(
    incoming: RequestReader,
    head: Head,
    sink: asyncio.StreamWriter,
    secrets: Sequence[Secret],
    *,
    body: bytes | None,
) -> None:
    more = (("Connection", "close"),)
    kind = (head.value("content-type") or "").lower()
    if head.value("content-encoding") is not None:
        secrets = ()
    if head.value("transfer-encoding") is not None and body is None:
        sink.write(head.written((*more, ("Transfer-Encoding", "chunked"))))
        await _send_chunks(incoming, sink, secrets, kind)
        return
    length, whole = head.value("content-length"), body is not None
    if body is None and secrets and length is not None:
        body, whole = await incoming.whole(LARGEST_BODY)
        body = inject_body(body, secrets, kind) if whole else body
    if whole and body is not None:
        length = str(len(body)) if body or length is not None else None
    sink.write(head.written((*more, *((("Content-Length", length),) if length is not None else ()))))
    sink.write(body or b"")
    if not whole:
        async for piece in incoming.pieces():
            sink.write(piece)
            await sink.drain()
    await sink.drain()


async def _send_chunks(
    incoming: RequestReader, sink: asyncio.StreamWriter, secrets: Sequence[Secret], kind: str
) -> None:
    held, keep = b"", overlap(secrets)
    async for piece in incoming.pieces():
        data = inject_body(held + piece, secrets, kind)
        cut = max(len(data) - keep, 0)
        held = data[cut:]
        if cut:
            sink.write(b"%x\r\n%s\r\n" % (cut, data[:cut]))
            await sink.drain()
    if held:
        sink.write(b"%x\r\n%s\r\n" % (len(held), held))
    sink.write(b"0\r\n\r\n")
    await sink.drain()


def _is_for(head: Head, place: Destination) -> bool:
    """Whether a request inside of a connection is for the host that the connection was allowed for."""
    named = head.values("host")
    if len(named) != 1 or not head.target.startswith(("/", "*")):
        return False
    host, colon, port = named[0].rpartition(":")
    if not colon or "]" in port:
        host, port = named[0], str(place.port)
    return plain_host(host) == place.host and port == str(place.port)
