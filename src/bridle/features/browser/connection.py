"""The connection of a session to one browser, over the socket of its native host."""

import asyncio
import os
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from bridle.host.chrome.framing import BadFrame, Frames, Parts, read_message, write_request
from bridle.host.chrome.paths import sockets
from bridle.host.jobs.protocol import is_own
from bridle.types.services.browser import BrowserTab

_CHUNK = 256 * 1024
_HELLO = 10.0
_SECONDS = 60.0
_MOST_BYTES = 24 * 1024 * 1024
"""Of one answer, in parts."""


class BrowserFault(Exception):
    """A browser is gone, or does not do what it is asked for."""


class KnownBrowser(Struct, frozen=True, kw_only=True):
    """A browser that runs with the extension."""

    browser: str = "Browser"
    version: str = ""
    extension: str = ""
    profile: str = ""
    """An id that the extension makes up once for each profile of the user."""
    pid: int = 0
    socket: str = ""

    @property
    def label(self) -> str:
        return f"{self.browser} {self.version.partition('.')[0]}".strip()


class ListedTab(Struct, frozen=True, kw_only=True):
    """A tab as the extension reports it."""

    id: int
    url: str = ""
    title: str = ""
    session: str | None = None
    """None where the user shares it."""


async def find_browsers(env: Mapping[str, str]) -> tuple[KnownBrowser, ...]:
    """Every browser that answers, the newest first; sockets without a listener are removed."""
    found = await asyncio.gather(*(_introduced(path) for path in sockets(env)))
    return tuple(each for each in found if each is not None)


async def _introduced(path: str) -> KnownBrowser | None:
    try:
        connection = await BrowserConnection.open(path, lambda: None)
    except BrowserFault:
        return None
    await connection.close()
    return connection.about


class BrowserConnection:
    """Requests and answers; several may be under way."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, changed: Callable[[], None]
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._changed = changed
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._count = 0
        self._introduced: asyncio.Future[KnownBrowser] = asyncio.get_running_loop().create_future()
        self._listed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._about = KnownBrowser()
        self.tabs: tuple[ListedTab, ...] = ()

    @classmethod
    async def open(cls, path: str, changed: Callable[[], None]) -> "BrowserConnection":
        """Connect, and wait until the browser has said who it is.

        Raises:
            BrowserFault: no browser listens there, or it says nothing.
        """
        try:
            reader, writer = await asyncio.open_unix_connection(path, limit=_CHUNK)
        except ConnectionRefusedError as error:
            _remove(path)
            raise BrowserFault("the browser was closed") from error
        except OSError as error:
            raise BrowserFault(f"can't reach the browser: {error.strerror}") from error
        made = cls(reader, writer, changed)
        if not is_own(writer.get_extra_info("socket")):
            writer.close()
            raise BrowserFault("the socket belongs to another user")
        made._task = asyncio.create_task(made._follow())
        try:
            async with asyncio.timeout(_HELLO):
                about = await made._introduced
                await made._listed.wait()
        except TimeoutError as error:
            await made.close()
            raise BrowserFault("the extension is not responding") from error
        made._about = msgspec.structs.replace(about, socket=path)
        return made

    @property
    def about(self) -> KnownBrowser:
        return self._about

    @property
    def is_open(self) -> bool:
        return self._task is not None and not self._task.done()

    async def ask(self, session: str, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """The result of a request.

        Raises:
            BrowserFault: the browser is gone, refuses, or takes too long.
        """
        if not self.is_open:
            raise BrowserFault("the browser was closed")
        self._count += 1
        number = self._count
        answered: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answered
        request = {"id": number, "session": session, "method": method, "params": dict(params)}
        try:
            async with asyncio.timeout(_SECONDS):
                for part in write_request(request):
                    self._writer.write(part)
                    await self._writer.drain()
                message = await answered
        except TimeoutError as error:
            raise BrowserFault("the browser is not responding") from error
        except OSError as error:
            raise BrowserFault("the browser was closed") from error
        except BadFrame as error:
            raise BrowserFault(str(error)) from error
        finally:
            del self._waiting[number]
        return _result(message)

    async def close(self) -> None:
        self._writer.close()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _follow(self) -> None:
        frames, parts = Frames(), Parts(_MOST_BYTES)
        try:
            while data := await self._reader.read(_CHUNK):
                for payload in frames.feed(data):
                    if (message := parts.join(read_message(payload))) is not None:
                        self._take(message)
        except (BadFrame, OSError):
            pass  # What follows cannot be read: the connection ends here.
        finally:
            self._writer.close()
            self._end()

    def _take(self, message: dict[str, Any]) -> None:
        match message:
            case {"hello": dict() as hello} if not self._introduced.done():
                self._introduced.set_result(_converted(hello, KnownBrowser) or KnownBrowser())
            case {"event": "tabs", "tabs": list() as rows}:
                found = (_converted(row, ListedTab) for row in rows)
                self.tabs = tuple(tab for tab in found if tab is not None)
                self._listed.set()
                self._changed()
            case {"id": int(number)} if number in self._waiting:
                if not self._waiting[number].done():
                    self._waiting[number].set_result(message)
            case _:
                pass  # An answer that came too late, or something newer.

    def _end(self) -> None:
        gone = BrowserFault("the browser was closed")
        for each in (self._introduced, *self._waiting.values()):
            if not each.done():
                each.set_exception(gone)
        if self._introduced.done() and not self._introduced.cancelled():
            self._introduced.exception()  # What waited has it; otherwise it is of no interest.
        self._changed()


def usable_tabs(tabs: tuple[ListedTab, ...], session: str) -> tuple[BrowserTab, ...]:
    """Those that a session opened, and those that the user shares."""
    return tuple(
        BrowserTab(id=each.id, url=each.url, title=each.title, shared=each.session is None)
        for each in tabs
        if each.session in (None, session)
    )


def _result(message: dict[str, Any]) -> dict[str, Any]:
    match message:
        case {"error": {"message": str(text)}}:
            raise BrowserFault(text)
        case {"result": dict() as result}:
            return result
        case {"result": None}:
            return {}
        case _:
            raise BrowserFault("the extension sent an invalid answer")


def _converted(values: Any, kind: Any) -> Any:
    try:
        return msgspec.convert(values, kind)
    except msgspec.ValidationError:
        return None


def _remove(path: str) -> None:
    """A socket without a listener is what a browser left that was killed."""
    try:
        os.unlink(path)
    except OSError:
        pass  # Another session was quicker.
