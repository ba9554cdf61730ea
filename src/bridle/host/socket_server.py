"""A server of connections on sockets; closing it ends every connection."""

import asyncio
import errno
import os
import socket
import stat
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ssl

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

_BACKLOG = 100
_LIMIT = 2**16
_PAUSE = 1.0
_EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})


class SocketServer:
    """Accepts connections from the moment it is made, one task each.

    `asyncio.start_server` forgets a connection that was accepted just before the server is closed, or that is
    still in its TLS handshake; this server closes those too.
    """

    def __init__(
        self,
        serve: Serve,
        listeners: Sequence[socket.socket],
        *,
        limit: int = _LIMIT,
        tls: "ssl.SSLContext | None" = None,
    ) -> None:
        self._serve = serve
        self._limit = limit
        self._tls = tls
        self._loop = asyncio.get_running_loop()
        self._listeners = tuple(listeners)
        self._connections: dict[asyncio.Task[None], socket.socket] = {}
        self._pause: asyncio.TimerHandle | None = None
        for listener in self._listeners:
            listener.setblocking(False)
            listener.listen(_BACKLOG)
        self._listen()

    @property
    def port(self) -> int:
        """The port of the first TCP socket."""
        return self._listeners[0].getsockname()[1]

    def stop(self) -> None:
        """Stop listening; open connections continue."""
        if self._pause is not None:
            self._pause.cancel()
        for listener in self._listeners:
            if listener.fileno() >= 0:
                self._loop.remove_reader(listener)
                listener.close()

    async def close(self) -> None:
        """Stop listening and end all connections, except the one that calls this."""
        self.stop()
        own = asyncio.current_task()
        open_now = {task: sock for task, sock in self._connections.items() if task is not own}
        for task in open_now:
            task.cancel()
        await asyncio.gather(*open_now, return_exceptions=True)
        for sock in open_now.values():
            sock.close()  # A task that was cancelled before it began has closed nothing.

    def _listen(self) -> None:
        self._pause = None
        for listener in self._listeners:
            self._loop.add_reader(listener, self._accept, listener)

    def _accept(self, listener: socket.socket) -> None:
        try:
            sock, _ = listener.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return  # The client is gone again.
        except OSError as error:
            if error.errno not in _EXHAUSTED:
                raise
            # Without a pause the loop would do nothing but fail to accept.
            for each in self._listeners:
                self._loop.remove_reader(each)
            self._pause = self._loop.call_later(_PAUSE, self._listen)
            return
        sock.setblocking(False)
        task = self._loop.create_task(self._connect(sock))
        self._connections[task] = sock
        task.add_done_callback(self._ended)

    async def _connect(self, sock: socket.socket) -> None:
        reader = asyncio.StreamReader(self._limit, self._loop)
        protocol = asyncio.StreamReaderProtocol(reader, loop=self._loop)
        try:
            transport, _ = await self._loop.connect_accepted_socket(lambda: protocol, sock, ssl=self._tls)
        except OSError:
            return  # The client left in the handshake, or has no part in it.
        writer = asyncio.StreamWriter(transport, protocol, reader, self._loop)
        try:
            await self._serve(reader, writer)
        except BaseException:
            transport.abort()
            raise
        writer.close()

    def _ended(self, task: asyncio.Task[None]) -> None:
        del self._connections[task]
        if not task.cancelled() and (error := task.exception()) is not None:
            self._loop.call_exception_handler({"message": "a connection failed", "exception": error})


async def serve_tcp(
    serve: Serve, host: str, port: int, *, limit: int = _LIMIT, tls: "ssl.SSLContext | None" = None
) -> SocketServer:
    """Listen on all addresses of a host.

    Raises:
        OSError: the address is not known or not free.
    """
    found = await asyncio.get_running_loop().getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    listeners: list[socket.socket] = []
    try:
        for family, address in dict.fromkeys((family, address) for family, _, _, _, address in found):
            listeners.append(_tcp_listener(family, address))
    except BaseException:
        for listener in listeners:
            listener.close()
        raise
    return SocketServer(serve, listeners, limit=limit, tls=tls)


def serve_unix(serve: Serve, path: str, *, limit: int = _LIMIT) -> SocketServer:
    """Listen on a socket that only this user can open; a socket that is left there is replaced.

    Raises:
        OSError: the socket cannot be made.
    """
    try:
        if stat.S_ISSOCK(os.stat(path).st_mode):
            os.unlink(path)
    except FileNotFoundError:
        pass
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    # The socket must never be open to others, not even before its rights are set.
    before = os.umask(0o177)
    try:
        listener.bind(path)
    except BaseException:
        listener.close()
        raise
    finally:
        os.umask(before)
    return SocketServer(serve, (listener,), limit=limit)


def _tcp_listener(family: int, address: tuple[object, ...]) -> socket.socket:
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind(address)
    except BaseException:
        listener.close()
        raise
    return listener
