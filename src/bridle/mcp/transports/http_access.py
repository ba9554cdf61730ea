"""The way to a remote server over HTTP: its headers, its login, its redirects."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager

import msgspec
from msgspec import Struct

from bridle.host.http.address import Origin, split_url
from bridle.host.http.client import HttpClient, HttpFault, Limits, Request, Response
from bridle.host.http.event_stream import EventDecoder, EventSizeError, ServerEvent
from bridle.mcp.authorizer import Authorizer
from bridle.mcp.errors import ConnectionLost, NotAuthorized
from bridle.mcp.transports.base import LONGEST_MESSAGE
from bridle.types.errors import ConfigError, McpError
from bridle.version import __version__

_MOST_REDIRECTS = 5
_MOST_RETRIES = 3
"""A login may turn out to be over, and the next one not to reach far enough."""
_FOREVER = 10 * 365 * 86_400.0
_SAME_METHOD = (307, 308)
_MOVED = (301, 302, 303, *_SAME_METHOD)

ONE_ANSWER = Limits(connect=30.0, idle=60.0, body=LONGEST_MESSAGE)
"""Bounds of a message that has no answer of its own."""
STREAM = Limits(connect=30.0, idle=_FOREVER)
"""A stream may be silent for as long as it likes; a caller that waits for an answer has its own limit."""


class HeadersHelper:
    """A program that makes headers; asked once, and once more when the server does not take them."""

    def __init__(self, run: Callable[[], Awaitable[Mapping[str, str]]]) -> None:
        self._run = run
        self._made: Mapping[str, str] | None = None

    async def headers(self) -> Mapping[str, str]:
        """What the program printed.

        Raises:
            McpError: it failed.
        """
        if self._made is None:
            self._made = await self._run()
        return self._made

    def forget(self) -> None:
        """Ask again next time."""
        self._made = None


class RemoteServer(Struct, frozen=True, kw_only=True):
    """A server somewhere else, and what opens it."""

    name: str
    url: str
    env: Mapping[str, str]
    headers: Mapping[str, str] = {}
    helper: HeadersHelper | None = None
    auth: Authorizer | None = None

    async def opening(self, method: str, url: str) -> dict[str, str]:
        """The headers that let a request in; later ones replace earlier ones of the same name."""
        auth = {} if self.auth is None else await self.auth.headers(method, url)
        more = {} if self.helper is None else await self.helper.headers()
        return merged(auth, self.headers, more)


def merged(*layers: Mapping[str, str]) -> dict[str, str]:
    """Headers in one, whatever the case of their names; later ones replace earlier ones."""
    found: dict[str, tuple[str, str]] = {}
    for layer in layers:
        found.update({name.lower(): (name, value) for name, value in layer.items()})
    return dict(found.values())


class HttpAccess:
    """Sends requests to one server."""

    def __init__(self, remote: RemoteServer) -> None:
        self.name = remote.name
        self.url = remote.url
        self._remote = remote
        self._client = HttpClient(remote.env)

    @asynccontextmanager
    async def send(
        self, method: str, url: str, *, headers: Mapping[str, str], body: bytes = b"", limits: Limits
    ) -> AsyncGenerator[Response, None]:
        """Yield the answer to a request, whatever its status but 401.

        Raises:
            ConnectionLost: the server cannot be reached or is cut off.
            NotAuthorized: the server wants a login that there is not.
        """
        retries = redirects = 0
        while True:
            request = Request(method, url, await self._all_headers(method, url, headers), body)
            async with self._opened(request, limits) as response:
                if (nonce := response.headers.get("dpop-nonce")) and self._remote.auth is not None:
                    self._remote.auth.note_nonce(url, nonce)
                if response.status in (401, 403) and retries < _MOST_RETRIES:
                    retries += 1
                    if await self._is_let_in(response, first=retries == 1):
                        continue
                if response.status == 401:
                    raise NotAuthorized(f"{self.name} needs a login.")
                if response.status == 403 and _wants_more(response):
                    raise NotAuthorized(
                        f"{self.name} needs more permissions than your login has. Log in again."
                    )
                if response.status in _MOVED and (target := response.headers.get("location")):
                    url = self._moved(url, target, response.status, method)
                    redirects += 1
                    if redirects > _MOST_REDIRECTS:
                        raise ConnectionLost(f"{self.name} redirects in a loop. Check its URL.")
                    continue
                yield response
                return

    async def close(self) -> None:
        await self._client.close()

    @asynccontextmanager
    async def _opened(self, request: Request, limits: Limits) -> AsyncGenerator[Response, None]:
        try:
            async with self._client.send(request, limits) as response:
                yield response
        except HttpFault as fault:
            raise ConnectionLost(f"Cannot reach {self.name}: {fault}") from fault
        except ConfigError as fault:
            raise McpError(f"Cannot query {self.name}: {fault}") from fault

    async def _is_let_in(self, response: Response, *, first: bool) -> bool:
        auth, helper = self._remote.auth, self._remote.helper
        if auth is None:
            if helper is None or response.status != 401 or not first:
                return False
            helper.forget()
            return True
        return await auth.challenged(response.status, response.headers.get("www-authenticate", ""))

    async def _all_headers(
        self, method: str, url: str, own: Mapping[str, str]
    ) -> tuple[tuple[str, str], ...]:
        usual = {"User-Agent": f"bridle/{__version__}"}
        return tuple(merged(usual, await self._remote.opening(method, url), own).items())

    def _moved(self, url: str, target: str, status: int, method: str) -> str:
        """Where a redirect leads: only to the same host, because the headers may hold secrets."""
        from urllib.parse import urljoin

        moved = urljoin(url, target)
        old, new = split_url(url)[0], split_url(moved)[0]
        if method != "GET" and status not in _SAME_METHOD:
            raise ConnectionLost(f"{self.name} moved to {moved[:200]}. Change its URL.")
        if not _is_same_place(old, new):
            raise ConnectionLost(f"{self.name} redirects to {new.url}. If this is correct, change its URL.")
        return moved


def decoded(events: EventDecoder, chunk: bytes) -> list[ServerEvent]:
    """The events of a server that `chunk` completes.

    Raises:
        ConnectionLost: one event is larger than any message may be.
    """
    try:
        return events.feed(chunk)
    except EventSizeError as error:
        raise ConnectionLost(f"the server sent an event of more than {LONGEST_MESSAGE >> 20} MiB") from error


def _wants_more(response: Response) -> bool:
    return "insufficient_scope" in response.headers.get("www-authenticate", "")


def _is_same_place(old: Origin, new: Origin) -> bool:
    upgraded = old.scheme == "http" and new.scheme == "https" and (old.port, new.port) == (80, 443)
    return old.host == new.host and (upgraded or (old.scheme, old.port) == (new.scheme, new.port))


async def run_helper(
    command: str, *, name: str, url: str, cwd: str, env: Mapping[str, str]
) -> dict[str, str]:
    """The headers that a helper program prints as a JSON object.

    Raises:
        McpError: it fails, or prints something else.
    """
    from bridle.host.process import run

    environment = {**env, "CLAUDE_CODE_MCP_SERVER_NAME": name, "CLAUDE_CODE_MCP_SERVER_URL": url}
    try:
        done = await run(["/bin/sh", "-c", command], cwd=cwd, env=environment, timeout=10.0, limit=64 * 1024)
    except OSError as error:
        raise McpError(f"Could not start the headersHelper of {name}: {error}.") from error
    if done.timed_out or done.cut or done.code != 0:
        why = "timed out after 10 s" if done.timed_out else f"exited with code {done.code}"
        said = done.stderr[:300].decode("utf-8", "replace").strip()
        raise McpError(f"The headersHelper of {name} {why}{': ' + said if said else ''}.")
    try:
        return msgspec.json.decode(done.stdout, type=dict[str, str])
    except msgspec.DecodeError as error:
        raise McpError(
            f"The headersHelper of {name} must print a JSON object of strings: {error}."
        ) from error
