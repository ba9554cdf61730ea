"""Where launchers report that a command is inside, and hand over the sockets of its network."""

import asyncio
import socket
from collections.abc import Callable

from bridle.host.sandbox.proxy import CommandAccess, Proxy

_LONGEST_TOKEN = 64
_MOST_LISTENERS = 4
_STARTING = 20.0


class LauncherSocket:
    """Counts the commands that are inside; `on_empty` is called when the last one has left.

    A launcher keeps its connection for as long as anything of its command lives.
    """

    def __init__(
        self, path: str, *, proxy: Proxy | None, instead: tuple[int | None, ...], on_empty: Callable[[], None]
    ) -> None:
        self._proxy = proxy
        self._instead = instead
        self._on_empty = on_empty
        self._expected: set[str] = set()
        self._guests: set[asyncio.Task[None]] = set()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.setblocking(False)
        self._socket.bind(path)
        self._socket.listen(128)
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._socket.fileno(), self._accept)

    @property
    def is_empty(self) -> bool:
        return not self._guests and not self._expected

    def expect(self, token: str) -> None:
        """Count a command that is about to start, for as long as starting may take."""
        self._expected.add(token)
        self._loop.call_later(_STARTING, self._give_up, token)

    def _give_up(self, token: str) -> None:
        if token in self._expected:
            self._expected.discard(token)
            self._leave_if_empty()

    async def close(self) -> None:
        self._loop.remove_reader(self._socket.fileno())
        self._socket.close()
        guests = tuple(self._guests)
        for guest in guests:
            guest.cancel()
        await asyncio.gather(*guests, return_exceptions=True)

    def _accept(self) -> None:
        try:
            connection, _ = self._socket.accept()
        except OSError:
            return  # The launcher has gone.
        connection.setblocking(False)
        guest = asyncio.create_task(self._host(connection))
        self._guests.add(guest)
        guest.add_done_callback(self._left)
        guest.add_done_callback(lambda _: connection.close())

    def _left(self, guest: asyncio.Task[None]) -> None:
        self._guests.discard(guest)
        self._leave_if_empty()

    def _leave_if_empty(self) -> None:
        if self.is_empty:
            self._on_empty()

    async def _host(self, connection: socket.socket) -> None:
        listeners: list[asyncio.Task[None]] = []
        try:
            await _readable(connection)
            said, numbers, _, _ = socket.recv_fds(connection, _LONGEST_TOKEN, _MOST_LISTENERS)
            sockets = [socket.socket(fileno=number) for number in numbers]
            self._expected.discard(said.decode("ascii", "replace"))
            visit = CommandAccess()
            for listener, instead in zip(sockets, self._instead, strict=False):
                if self._proxy is None:
                    listener.close()
                else:
                    listeners.append(self._proxy.serve(listener, visit=visit, instead=instead))
            if said:
                await self._loop.sock_sendall(connection, b"k")
            while await self._loop.sock_recv(connection, 1):
                pass  # Nothing more is said; the end of the connection is what counts.
        except OSError:
            pass  # The launcher was killed.
        finally:
            for listener in listeners:
                listener.cancel()


async def _readable(connection: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()
    loop.add_reader(connection.fileno(), lambda: ready.done() or ready.set_result(None))
    try:
        await ready
    finally:
        loop.remove_reader(connection.fileno())
