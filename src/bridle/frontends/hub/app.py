"""The hub as an ASGI application."""

import asyncio
import os
import sqlite3
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from bridle.frontends.hub.browsing import Browsing
from bridle.frontends.hub.database import Database, database_path
from bridle.frontends.hub.devices import Devices
from bridle.frontends.hub.hub import Hub, Options
from bridle.frontends.hub.keys import Keys
from bridle.frontends.hub.pages import FILES, page_routes
from bridle.frontends.hub.push import PushService, new_push_key
from bridle.frontends.hub.push_routes import PushRoutes
from bridle.frontends.hub.refusals import Refusal
from bridle.frontends.hub.wire import Wire
from bridle.types.errors import BridleError

_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
        b"connect-src 'self'; manifest-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; "
        b"frame-ancestors 'none'",
    ),
]


async def open_hub(options: Options) -> Hub:
    """Open the store of a hub.

    Raises:
        StoreError: it cannot be used.
    """
    os.makedirs(os.path.join(options.folder, "files"), mode=0o700, exist_ok=True)
    base = await asyncio.to_thread(Database, database_path(options.folder))
    secret, push_key = await base.write(_secrets)
    return Hub(options, base, secret, push_key)


def _secrets(base: sqlite3.Connection) -> tuple[bytes, bytes]:
    """The key for tokens, and the one by which push services know this hub."""
    base.execute("INSERT OR IGNORE INTO meta VALUES ('push', ?)", (new_push_key(),))
    found = dict(base.execute("SELECT key, value FROM meta WHERE key IN ('secret', 'push')").fetchall())
    return found["secret"], found["push"]


def app_of(hub: Hub) -> ASGIApp:
    """The application; closing it closes the store."""
    pusher = PushService(hub, delay=hub.options.push_delay)

    @asynccontextmanager
    async def living(app: Starlette) -> AsyncGenerator[None]:
        del app
        pushing = asyncio.create_task(pusher.run())
        try:
            yield
        finally:
            pushing.cancel()
            await asyncio.gather(pushing, return_exceptions=True)
            await asyncio.to_thread(hub.base.close)

    routes = routes_of(hub, pusher)
    handlers: dict[Any, Any] = {
        Refusal: _refuse,
        BridleError: _fault,
        HTTPException: _unknown,
        Exception: _defect,
    }
    return _Entrance(Starlette(routes=routes, lifespan=living, exception_handlers=handlers), hub)


def routes_of(hub: Hub, pusher: PushService | None = None) -> list[Route]:
    """Everything that a hub answers."""
    pusher = pusher or PushService(hub, delay=hub.options.push_delay)
    return [
        *Wire(hub).routes(),
        *Devices(hub).routes(),
        *Browsing(hub).routes(),
        *Keys(hub).routes(),
        *PushRoutes(hub, pusher).routes(),
        *page_routes(),
        Route("/healthz", _healthy),
    ]


class _Entrance:
    """Checks who comes before anything else is done, and adds the headers that every answer has."""

    def __init__(self, app: ASGIApp, hub: Hub) -> None:
        self._app = app
        self._hub = hub

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], *_HEADERS]}
            await send(message)

        request = Request(scope)
        try:
            address = request.client.host if request.client is not None else ""
            self._hub.guard.check(request.headers, address, is_page=request.url.path in FILES)
        except Refusal as refusal:
            await _answer_of(refusal)(scope, receive, send_with_headers)
            return
        await self._app(scope, receive, send_with_headers)


def _answer_of(refusal: Refusal) -> Response:
    headers = {} if refusal.retry_after is None else {"retry-after": str(refusal.retry_after)}
    body = msgspec.json.encode(refusal.body())
    return Response(body, refusal.status, headers, media_type="application/json")


async def _refuse(request: Request, refusal: Refusal) -> Response:
    del request
    return _answer_of(refusal)


async def _fault(request: Request, fault: BridleError) -> Response:
    del request
    return _answer_of(Refusal(503 if "store" in str(fault) else 400, str(fault)))


async def _unknown(request: Request, error: HTTPException) -> Response:
    del request
    text = "Not found." if error.status_code == 404 else "Method not allowed."
    return _answer_of(Refusal(error.status_code, text))


async def _healthy(request: Request) -> Response:
    del request
    return Response("ok\n", media_type="text/plain")


async def _defect(request: Request, error: Exception) -> Response:
    """The end of a request that no one expected: its client learns the kind of fault and nothing else."""
    del request
    return _answer_of(Refusal(500, f"Internal error in the hub ({type(error).__name__})."))
