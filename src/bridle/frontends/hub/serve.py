"""Runs a hub until a signal ends it."""

import asyncio
import resource
import signal
import socket
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from msgspec import Struct

from bridle.frontends.hub.hub import Options
from bridle.types.errors import UsageError

DEFAULT_PORT = 8790
_BACKLOG = 2048
_GRACE = 3
_HEAD_SECONDS = 20.0
"""How long a new connection may take to send its first request."""
_DEAD_SECONDS = 60


class Address(Struct, frozen=True):
    """Where a hub listens."""

    host: str
    port: int
    certificate: str = ""
    key: str = ""

    def url(self, port: int) -> str:
        host = "127.0.0.1" if self.host in ("0.0.0.0", "::") else self.host
        host = f"[{host}]" if ":" in host else host
        return f"{'https' if self.certificate else 'http'}://{host}:{port}"


def read_address(text: str, certificate: str, key: str) -> Address:
    """Where to listen.

    Raises:
        UsageError: the words contradict each other, or are no address.
    """
    host, colon, port = text.rpartition(":")
    if not text:
        host, port = "127.0.0.1", str(DEFAULT_PORT)
    elif not colon or not host or not port.isdecimal() or int(port) > 65_535:
        raise UsageError(f"--listen must be host:port, such as 127.0.0.1:{DEFAULT_PORT}")
    if bool(certificate) != bool(key):
        raise UsageError("--tls-cert and --tls-key go together")
    return Address(host.strip("[]"), int(port), certificate, key)


def serve(options: Options, address: Address, *, ready: Callable[[int], object]) -> None:
    """Serve until a signal ends it; `ready` is called with the port once clients can connect.

    Raises:
        UsageError: a package is missing, or the address is taken.
        StoreError: the store cannot be used.
    """
    try:
        import cryptography
        import uvicorn

        del cryptography
    except ImportError as error:
        raise UsageError("uvicorn is not installed; run: pip install 'bridle[hub]'") from error
    listening = _listen(address)
    _raise_limit()
    asyncio.run(_serve(uvicorn, options, address, listening, ready))


async def _serve(
    uvicorn: Any, options: Options, address: Address, listening: socket.socket, ready: Callable[[int], object]
) -> None:
    from bridle.frontends.hub.app import app_of, open_hub

    hub = await open_hub(options)
    tls = {"ssl_certfile": address.certificate, "ssl_keyfile": address.key} if address.certificate else {}
    try:
        settings = uvicorn.Config(
            app_of(hub), http=_patient_protocol(),
            log_level="critical", access_log=False, server_header=False, lifespan="on",
            timeout_keep_alive=75, timeout_graceful_shutdown=_GRACE, proxy_headers=False, **tls,
        )  # fmt: skip
        settings.load()
    except (OSError, ValueError) as error:
        raise UsageError(f"can't use --tls-cert and --tls-key: {error}") from error

    class Server(uvicorn.Server):
        def capture_signals(self) -> Any:
            return (
                nullcontext()
            )  # A signal is a normal end here, and uvicorn would pass it on to the process.

    server = Server(settings)

    def end() -> None:
        server.should_exit = True

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, end)
    serving = asyncio.create_task(server.serve([listening]))
    started = asyncio.create_task(_started(server))
    await asyncio.wait([serving, started], return_when=asyncio.FIRST_COMPLETED)
    if started.done():
        ready(listening.getsockname()[1])
    started.cancel()
    await serving


def _patient_protocol() -> type[asyncio.Protocol]:
    """The protocol of uvicorn, which ends connections that never send a whole request."""
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

    class PatientProtocol(HttpToolsProtocol):
        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._first = self.loop.call_later(_HEAD_SECONDS, transport.close)

        def on_headers_complete(self) -> None:
            self._first.cancel()
            super().on_headers_complete()

        def connection_lost(self, exc: Exception | None) -> None:
            self._first.cancel()
            super().connection_lost(exc)

    return PatientProtocol


def _raise_limit() -> None:
    """Let the hub have as many connections as the system allows: every session is one."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


async def _started(server: Any) -> None:
    while not server.started:
        await asyncio.sleep(0.01)


def _drop_dead_peers(listening: socket.socket) -> None:
    """Connections whose other end is gone, or takes nothing, end after a minute."""
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, name):
            listening.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _DEAD_SECONDS * 1_000)


def _listen(address: Address) -> socket.socket:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    _drop_dead_peers(listening)
    try:
        listening.bind((address.host, address.port))
    except OSError as error:
        listening.close()
        raise UsageError(f"can't listen on {address.host}:{address.port}: {error.strerror}") from error
    listening.listen(_BACKLOG)
    listening.setblocking(False)
    return listening
