"""The process that a browser starts: it stands between the extension and the sessions of its user.

It understands nothing but who asked for what, and writes nothing down.
"""

import asyncio
import os
import socket
from collections.abc import Mapping
from typing import Any

from bridle.host.chrome.framing import BadFrame, Frames, read_message, write_message
from bridle.host.chrome.paths import socket_of
from bridle.host.jobs.protocol import is_own, listen
from bridle.host.socket_server import SocketServer
from bridle.host.stdio import complain
from bridle.host.streams import Output, read_chunks

EXTENSION = "jlmodjjkehifgccmgkekmgbkfjckmoba"
ORIGIN = f"chrome-extension://{EXTENSION}/"
_MARK = "[bridle native host] "
"""The browser shows what follows in its own log, if anywhere."""
_CHUNK = 256 * 1024
_MOST_SESSIONS = 64
_MOST_WAITING = 32 * 1024 * 1024
"""Bytes that wait for a session which does not read."""


def serve_browser(origin: str, env: Mapping[str, str]) -> int:
    """Relay messages until the browser closes the pipe; the exit code."""
    if origin != ORIGIN:
        complain(f"{_MARK}started for another extension")
        return 1
    return asyncio.run(_Host(env).run())


class _Host:
    def __init__(self, env: Mapping[str, str]) -> None:
        self._path = socket_of(env, os.getpid())
        self._hello: dict[str, Any] = {}
        self._tabs: dict[str, Any] = {"event": "tabs", "tabs": []}
        self._sessions: dict[int, _Session] = {}
        self._count = 0
        self._browser = Output(1)
        self._introduced = asyncio.Event()

    async def run(self) -> int:
        # Under its name only once it listens: a session takes a socket that refuses for one of the dead.
        starting = f"{self._path}.new"
        try:
            server = SocketServer(self._serve, (listen(starting, socket.SOCK_STREAM),))
            os.rename(starting, self._path)
        except OSError as error:
            complain(f"{_MARK}cannot listen: {error}")
            return 1
        try:
            return await self._follow()
        finally:
            await server.close()
            try:
                os.unlink(self._path)
            except OSError:
                pass  # It was removed already.

    async def _follow(self) -> int:
        frames = Frames()
        try:
            async for data in read_chunks(0):
                for payload in frames.feed(data):
                    self._take(read_message(payload))
        except BadFrame as error:
            complain(f"{_MARK}{error}")
            return 1
        return 0

    def _take(self, message: dict[str, Any]) -> None:
        """A message of the extension: who it is, what tabs there are, or an answer to one session."""
        match message:
            case {"hello": dict() as hello}:
                self._hello = {**hello, "pid": os.getpid()}
                self._introduced.set()
            case {"event": "tabs"}:
                self._tabs = message
                for each in self._sessions.values():
                    each.send(message)
            case {"id": str(key)}:
                number, _, own = key.partition(":")
                asked = self._sessions.get(int(number)) if number.isdecimal() else None
                if asked is not None and own.isdecimal():
                    asked.send({**message, "id": int(own)})
            case _:
                pass  # A newer extension may say more.

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not is_own(writer.get_extra_info("socket")) or len(self._sessions) >= _MOST_SESSIONS:
            writer.close()
            return
        self._count += 1
        number, session = self._count, _Session(writer)
        self._sessions[number] = session
        try:
            await self._introduced.wait()
            session.send({"hello": self._hello})
            session.send(self._tabs)
            await self._relay(number, session, reader)
        except (BadFrame, OSError):
            pass  # A session that is gone or speaks something else ends; the others continue.
        except asyncio.CancelledError:
            return  # The browser was closed, and the loop ends.
        finally:
            del self._sessions[number]
            writer.close()
        for name in session.names:
            await self._tell_browser({"event": "gone", "session": name})

    async def _relay(self, number: int, session: "_Session", reader: asyncio.StreamReader) -> None:
        frames = Frames()
        while data := await reader.read(_CHUNK):
            for payload in frames.feed(data):
                match read_message(payload):
                    case {"id": int(own), "session": str(name)} as message:
                        session.names.add(name)
                        await self._tell_browser({**message, "id": f"{number}:{own}"})
                    case _:
                        raise BadFrame("an empty request from a session")

    async def _tell_browser(self, message: dict[str, Any]) -> None:
        self._browser.write(write_message(message))
        await self._browser.drain()


class _Session:
    """One connection of a session."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self.names: set[str] = set()

    def send(self, message: dict[str, Any]) -> None:
        if self._writer.is_closing():
            return
        if self._writer.transport.get_write_buffer_size() > _MOST_WAITING:
            self._writer.transport.abort()
            return
        self._writer.write(write_message(message))
