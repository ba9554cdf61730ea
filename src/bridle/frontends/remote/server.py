"""The HTTP server of shared sessions: a page, numbered events and a few actions, for clients with the key."""

import asyncio
import os.path
import re
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, Protocol
from urllib.parse import parse_qs

import h11
import msgspec

from bridle.frontends.remote.access import (
    EVERYWHERE,
    has_token,
    is_known_host,
    is_same_origin,
    known_names,
    letter_token,
)
from bridle.frontends.remote.errors import RequestRefused
from bridle.frontends.remote.http import HttpConnection, Request, Timeouts
from bridle.frontends.remote.shared_session import SharedSession
from bridle.host.files import read_bytes
from bridle.host.socket_server import SocketServer, serve_tcp

_MOST_VISITS = 64
"""Connections at a time besides followers."""
_MOST_FOLLOWERS = 16
"""Of one session."""
_MOST_FOLLOWERS_IN_ALL = 256
_MOST_WRONG_KEYS = 20
"""After so many in a while, further ones are answered late."""
_WHILE = 10.0
_FAREWELL = 1.0
"""Seconds for followers to learn that the session has ended."""
_BATCH = 256 * 1024
_LARGEST_FILE = 1_000_000
_STILL_HERE = b'{"beat":true}\n'
_PAGE = os.path.join(os.path.dirname(__file__), "page")
_FILES = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/page.css": ("page.css", "text/css; charset=utf-8"),
    "/page.js": ("page.js", "text/javascript; charset=utf-8"),
    "/conversation.js": ("conversation.js", "text/javascript; charset=utf-8"),
    "/questions.js": ("questions.js", "text/javascript; charset=utf-8"),
    "/connection.js": ("connection.js", "text/javascript; charset=utf-8"),
}
_SESSION = re.compile(r"/api/sessions/([0-9A-Za-z-]{1,64})/(events|act)")
_PLAIN = re.compile(r"[^\w .,()'-]")
_LONGEST_NAME = 40


class SharedSessions(Protocol):
    """The sessions that are served."""

    @property
    def opens(self) -> bool:
        """Whether more can be started."""
        ...

    def all(self) -> Sequence[SharedSession]:
        """Those that run, and those that ended and can be looked at."""
        ...

    def find(self, id: str) -> SharedSession | None: ...

    async def open(self, wish: Mapping[str, Any], who: str) -> SharedSession:
        """Start another session.

        Raises:
            RequestRefused: none can be.
        """
        ...


class RemoteServer:
    """Listens for as long as something is shared."""

    def __init__(
        self,
        shared_sessions: SharedSessions,
        token: str,
        *,
        listen: str = "127.0.0.1",
        port: int = 0,
        names: str = "",
        timeouts: Timeouts | None = None,
    ) -> None:
        self._shared_sessions = shared_sessions
        self._timeouts = timeouts or Timeouts()
        self._token = token
        self._letters = letter_token(token)
        self._listen = listen
        self._port = port
        self._names = known_names(listen, names)
        self._server: SocketServer | None = None
        self._visits: set[asyncio.Task[None]] = set()
        self._strangers: dict[asyncio.Task[None], None] = {}
        """Connections that have not shown a key, the oldest first."""
        self._following: dict[asyncio.Task[None], SharedSession] = {}
        self._wrong_keys: deque[float] = deque(maxlen=_MOST_WRONG_KEYS)

    @property
    def port(self) -> int:
        return self._port

    @property
    def address(self) -> str:
        """Where this is, without the key."""
        host = "127.0.0.1" if self._listen in EVERYWHERE else self._listen
        host = f"[{host}]" if ":" in host else host
        return f"http://{host}:{self._port}/"

    async def open(self) -> None:
        """Listen.

        Raises:
            OSError: the address cannot be used.
        """
        self._server = await serve_tcp(self._serve, self._listen, self._port)
        self._port = self._server.port

    async def close(self) -> None:
        """Disconnect every client; the key becomes invalid."""
        if self._server is not None:
            self._server.stop()
        # Those who follow a session that has ended learn so first.
        leaving = [task for task, session in self._following.items() if session.ended is not None]
        if leaving:
            await asyncio.wait(leaving, timeout=_FAREWELL)
        for connection in tuple(self._visits):
            connection.cancel()
        await asyncio.gather(*self._visits, return_exceptions=True)
        if self._server is not None:
            await self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection, task = HttpConnection(reader, writer, self._timeouts), asyncio.current_task()
        if task is None or not self._make_room():
            connection.abort()
            return
        self._visits.add(task)
        self._strangers[task] = None
        try:
            await self._receive(connection, task)
        except (OSError, TimeoutError, h11.LocalProtocolError):
            connection.abort()  # The client is gone, or does not read.
        except asyncio.CancelledError:
            connection.abort()  # We are closing, and this task is the connection's own.
        finally:
            self._visits.discard(task)
            self._strangers.pop(task, None)
            connection.close()

    def _make_room(self) -> bool:
        """Whether one more connection can be taken; clients with the key go before those without."""
        if len(self._visits) - len(self._following) < _MOST_VISITS:
            return True
        oldest = next(iter(self._strangers), None)
        if oldest is None:
            return False
        del self._strangers[oldest]
        oldest.cancel()
        return True

    async def _receive(self, connection: HttpConnection, task: "asyncio.Task[None]") -> None:
        try:
            head = await connection.head()
            if head is None:
                return
            if self._check(head):
                self._strangers.pop(task, None)
            request = await connection.whole(head)
            await self._answer(request, connection)
        except RequestRefused as refusal:
            if refusal.status == 401:
                await self._slow_down()
            await connection.answer_json(refusal.status, {"error": str(refusal), **refusal.beside})
            if refusal.status == 413:
                await connection.linger()
        except (OSError, TimeoutError, h11.LocalProtocolError):
            raise
        except Exception as defect:
            # The top of this front end: the client must get an answer even when bridle has a bug.
            await connection.answer_json(
                500, {"error": f"internal error in bridle: {type(defect).__name__}: {defect}"}
            )

    async def _slow_down(self) -> None:
        """Let clients with wrong keys wait after many of them; the right key is never delayed."""
        now = asyncio.get_running_loop().time()
        many = len(self._wrong_keys) == _MOST_WRONG_KEYS and now - self._wrong_keys[0] < _WHILE
        self._wrong_keys.append(now)
        if many:
            await asyncio.sleep(self._timeouts.wrong_key)

    def _check(self, head: h11.Request) -> bool:
        """Look at who asks before the rest is even read; whether they showed the key.

        Raises:
            RequestRefused: they may not.
        """
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in head.headers}
        if not is_known_host(headers.get("host", ""), self._names):
            raise RequestRefused(421, "This host name is not allowed: see BRIDLE_REMOTE_HOSTS.")
        path = head.target.decode("latin-1").partition("?")[0]
        if path in _FILES:
            return False
        if not is_same_origin(headers):
            raise RequestRefused(403, "Requests from other pages are rejected.")
        keys = (self._token, self._letters) if path == "/api/letters" else (self._token,)
        if not has_token(headers, *keys):
            raise RequestRefused(401, "The key is missing or wrong.")
        return True

    async def _answer(self, request: Request, connection: HttpConnection) -> None:
        who = _who(request.headers)
        match request.method, request.path:
            case "GET", path if path in _FILES:
                name, kind = _FILES[path]
                data = await asyncio.to_thread(read_bytes, os.path.join(_PAGE, name), _LARGEST_FILE)
                await connection.answer(200, data, kind)
            case "GET", "/api/sessions":
                sessions = [shared_session.listing() for shared_session in self._shared_sessions.all()]
                await connection.answer_json(
                    200, {"sessions": sessions, "opens": self._shared_sessions.opens}
                )
            case "POST", "/api/sessions":
                shared_session = await self._shared_sessions.open(request.json(), who)
                await connection.answer_json(200, shared_session.listing())
            case "GET", "/api/letters":
                await connection.answer_json(200, {"name": self._shared_session(None).name})
            case "POST", "/api/letters":
                letter = request.json()
                await connection.answer_json(
                    200, await self._shared_session(letter.get("session")).take_letter(letter)
                )
            case method, path if (named := _SESSION.fullmatch(path)) is not None:
                shared_session = self._shared_session(named[1])
                if (method, named[2]) == ("GET", "events"):
                    if "once" in parse_qs(request.query):
                        await _catch_up(shared_session, request, connection)
                    else:
                        await self._follow(shared_session, request, connection, who)
                elif (method, named[2]) == ("POST", "act"):
                    await connection.answer_json(200, shared_session.act(request.json(), who))
                else:
                    raise RequestRefused(405, "Method not allowed.")
            case _, path if path in _FILES or path in ("/api/sessions", "/api/letters"):
                raise RequestRefused(405, "Method not allowed.")
            case _:
                raise RequestRefused(404, "Not found.")

    def _shared_session(self, id: Any) -> SharedSession:
        """A session by its id; without one the only session there is."""
        shared_sessions = [each for each in self._shared_sessions.all() if each.ended is None]
        found = (
            self._shared_sessions.find(id)
            if isinstance(id, str)
            else shared_sessions[0]
            if len(shared_sessions) == 1
            else None
        )
        if found is None:
            raise RequestRefused(404, "Session not found.")
        return found

    async def _follow(
        self, shared_session: SharedSession, request: Request, connection: HttpConnection, who: str
    ) -> None:
        """Send what happens until the reader goes or falls too far behind."""
        if len(shared_session.people) >= _MOST_FOLLOWERS or len(self._following) >= _MOST_FOLLOWERS_IN_ALL:
            raise RequestRefused(503, f"{_MOST_FOLLOWERS} clients are connected, the limit.")
        task = asyncio.current_task()
        assert task is not None
        self._following[task] = shared_session
        leave = shared_session.come(who)
        watching = asyncio.ensure_future(connection.gone())
        try:
            epoch, after = await _begin(shared_session, request, connection)
            while not watching.done():
                lines = shared_session.log.since(epoch, after, most=_BATCH)
                if lines is None:
                    return  # Too far behind: it comes back and starts over.
                if lines:
                    after += len(lines)
                    await connection.send(lines)
                elif shared_session.ended is not None:
                    await _end(shared_session, connection)
                    return
                elif not await _news(shared_session, after, watching, self._timeouts.beat):
                    shared_session.look()
                    await connection.send([_STILL_HERE])
        finally:
            del self._following[task]
            leave()
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)


async def _catch_up(shared_session: SharedSession, request: Request, connection: HttpConnection) -> None:
    """Send what a reader does not have yet, and no more: for pages that no one looks at."""
    shared_session.visit()
    epoch, after = await _begin(shared_session, request, connection)
    while lines := shared_session.log.since(epoch, after, most=_BATCH):
        after += len(lines)
        await connection.send(lines)
    await _end(shared_session, connection)


async def _begin(
    shared_session: SharedSession, request: Request, connection: HttpConnection
) -> tuple[str, int]:
    """Begin to send lines, with the conversation so far where the reader needs it; where it is then."""
    epoch, after = _position(request.query)
    connection.begin_lines()
    log = shared_session.log
    if log.since(epoch, after, most=0) is None:
        epoch, after = log.epoch, log.last
        await connection.send([shared_session.snapshot()])
    return epoch, after


async def _end(shared_session: SharedSession, connection: HttpConnection) -> None:
    """Send the last line: why nothing more will come, or a sign of life."""
    over = shared_session.ended
    line = _STILL_HERE if over is None else msgspec.json.encode({"over": over}) + b"\n"
    await connection.send([line])
    await connection.end_lines()


async def _news(
    shared_session: SharedSession, after: int, watching: "asyncio.Future[None]", seconds: float
) -> bool:
    """Wait a while for something to tell; whether there is."""
    news = asyncio.ensure_future(shared_session.log.changed(after))
    try:
        done, _ = await asyncio.wait([news, watching], timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        news.cancel()
        await asyncio.gather(news, return_exceptions=True)
    return bool(done)


def _position(query: str) -> tuple[str, int]:
    """What a reader has already; nothing where it does not say."""
    values = parse_qs(query)
    epoch, after = values.get("epoch", [""])[0], values.get("after", ["0"])[0]
    return epoch, int(after) if after.isdecimal() and len(after) < 16 else 0


def _who(headers: Mapping[str, str]) -> str:
    """What the other end calls itself, in harmless characters; else what its browser is."""
    named = headers.get("bridle-client", "")
    name = " ".join(_PLAIN.sub("", named).split())[:_LONGEST_NAME]
    return name or "another client"
