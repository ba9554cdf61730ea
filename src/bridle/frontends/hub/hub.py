"""What all routes of a hub share: the store, the feed, and who asks."""

import sqlite3
import time
from collections.abc import Callable, Mapping
from typing import Any, Concatenate, ParamSpec, TypeVar

import msgspec
from msgspec import Struct
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response

from bridle.frontends.hub import identity
from bridle.frontends.hub.database import Database
from bridle.frontends.hub.environments import Environment, by_secret
from bridle.frontends.hub.feed import Feed
from bridle.frontends.hub.guard import Guard
from bridle.frontends.hub.identity import Device, Machine, Role
from bridle.frontends.hub.refusals import Refusal
from bridle.frontends.hub.tokens import Claims, sign, verify

P = ParamSpec("P")
T = TypeVar("T")

COOKIE = "bridle_device"
TOKEN_SECONDS = 18_000
_LARGEST_BODY = 8_000_000
_SEEN_SECONDS = 60.0


class Options(Struct, frozen=True, kw_only=True):
    """How a hub is reached."""

    folder: str
    """Where the store and the files are."""
    listen: str = "127.0.0.1"
    hosts: str = ""
    """More names by which it is reached, separated by commas."""
    is_secure: bool = False
    """Whether browsers come by https."""
    poll_seconds: float = 8.0
    beat_seconds: float = 15.0
    push_delay: float = 2.0
    """Seconds in which a question can be answered before anyone is notified."""


class Hub:
    """One hub in this process."""

    def __init__(self, options: Options, base: Database, secret: bytes, push_key: bytes) -> None:
        self.options = options
        self.base = base
        self.feed = Feed()
        self.guard = Guard(options.listen, options.hosts)
        self._secret = secret
        self.push_key = push_key
        """By which push services know this hub."""
        self._seen: dict[str, float] = {}

    async def write(
        self, job: Callable[Concatenate[sqlite3.Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run a job of the store in a transaction, and return what it returns once that is on disk."""
        return await self.base.write(lambda base: job(base, *args, **kwargs))

    async def read(
        self, job: Callable[Concatenate[sqlite3.Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run a job of the store that only reads."""
        return await self.base.read(lambda base: job(base, *args, **kwargs))

    def token(self, session: str, epoch: int) -> str:
        """A key to one session, for the worker that runs it."""
        return sign(Claims(session, int(time.time()) + TOKEN_SECONDS, epoch), self._secret)

    async def device(self, request: HTTPConnection, role: Role) -> Device:
        """The device that asks.

        Raises:
            Refusal: it is not known, or may not do this.
        """
        key = request.cookies.get(COOKIE) or bearer(request)
        device = await self.read(identity.device_of, key) if key else None
        if device is None:
            raise self.wrong(request, "Pair this device first: bridle hub pair shows a code.")
        if not device.may(role):
            raise Refusal(403, f"{device.name} may {device.role} only; this needs the right to {role}.")
        await self._see(device.id)
        return device

    async def machine(self, request: HTTPConnection) -> Machine:
        """The machine that asks.

        Raises:
            Refusal: it is not known.
        """
        key = bearer(request)
        machine = await self.read(identity.machine_of, key) if key else None
        if machine is None:
            raise self.wrong(request, "The key of this machine is not valid: run bridle hub join.")
        await self._see(machine.id)
        return machine

    async def machine_or_device(self, request: HTTPConnection, role: Role) -> Machine | Device:
        """Who asks, where both may.

        Raises:
            Refusal: neither is known, or the device may not do this.
        """
        if bearer(request).startswith("mch_"):
            return await self.machine(request)
        return await self.device(request, role)

    async def environment(self, request: Request) -> Environment:
        """The environment whose worker asks, by its secret.

        Raises:
            Refusal: the secret is wrong.
        """
        id, secret = request.path_params["environment"], bearer(request)
        try:
            return await self.read(by_secret, id, secret)
        except Refusal as refusal:
            if refusal.status == 401:
                self.guard.blame(address_of(request))
            raise

    def worker(self, request: HTTPConnection, session: str) -> Claims:
        """What the worker of a session shows.

        Raises:
            Refusal: its token is wrong, has expired, or is for another session.
        """
        claims = self.claims(request)
        if claims is None or claims.session_id != session:
            raise self.wrong(request, "The token of this session is wrong or has expired.")
        return claims

    def claims(self, request: HTTPConnection) -> Claims | None:
        return verify(bearer(request), self._secret, now=time.time())

    def wrong(self, request: HTTPConnection, text: str) -> Refusal:
        """A refusal that counts against the address."""
        self.guard.blame(address_of(request))
        return Refusal(401, text)

    async def _see(self, id: str) -> None:
        now = time.time()
        if now - self._seen.get(id, 0.0) > _SEEN_SECONDS:
            self._seen[id] = now
            await self.write(identity.see, id, now)


def bearer(request: HTTPConnection) -> str:
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    return key.strip() if scheme.lower() == "bearer" else ""


def address_of(request: HTTPConnection) -> str:
    return request.client.host if request.client is not None else ""


async def body_of(request: Request, *, largest: int = _LARGEST_BODY) -> dict[str, Any]:
    """The body of a request; an empty one is an empty object.

    Raises:
        Refusal: it is too large, or no JSON object.
    """
    data = await bytes_of(request, largest=largest)
    if not data:
        return {}
    try:
        body = msgspec.json.decode(data)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise Refusal(400, "The body is not JSON, or nested too deep.") from error
    if not isinstance(body, dict):
        raise Refusal(400, "The body must be a JSON object.")
    return body


async def bytes_of(request: Request, *, largest: int) -> bytes:
    """The body of a request as it came.

    Raises:
        Refusal: it is too large.
    """
    size, parts = 0, list[bytes]()
    async for chunk in request.stream():
        size += len(chunk)
        if size > largest:
            raise Refusal(413, f"The request is larger than {largest} bytes.")
        parts.append(chunk)
    return b"".join(parts)


def text_of(body: Mapping[str, Any], name: str, *, longest: int = 4_096) -> str:
    """A text of a body; empty where there is none.

    Raises:
        Refusal: it is something else, or too long.
    """
    value = body.get(name)
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > longest:
        raise Refusal(400, f"{name} must be a string of at most {longest} characters.")
    return value


def number_of(request: Request, name: str, default: int) -> int:
    """A number of the query.

    Raises:
        Refusal: it is none.
    """
    text = request.query_params.get(name)
    if text is None:
        return default
    if not text.isascii() or not text.isdecimal() or len(text) > 15:
        raise Refusal(400, f"{name} must be a number.")
    return int(text)


def answer(value: Any, status: int = 200) -> Response:
    return Response(msgspec.json.encode(value), status, media_type="application/json")
