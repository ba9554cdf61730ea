"""Requests to a hub, with the names that the wire has for them."""

import asyncio
import random
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any

import msgspec
from msgspec import Struct

from bridle.frontends.hub.environments import Heartbeat
from bridle.frontends.hub.tokens import is_safe_id
from bridle.host.http.client import HttpClient, HttpFault, Limits, Request, Response
from bridle.types.errors import BridleError
from bridle.version import __version__

_TIMEOUT = Limits(connect=10.0, idle=15.0, total=30.0)
_STREAM = Limits(connect=10.0, idle=45.0)
"""The hub says something every fifteen seconds."""
_SLEPT_SECONDS = 60.0
_HEADERS = (
    ("content-type", "application/json"),
    ("anthropic-version", "2023-06-01"),
    ("anthropic-beta", "environments-2025-11-01"),
    ("x-environment-runner-version", __version__),
)


class HubUnreachable(BridleError):
    """The hub does not answer, or not now: try again."""

    def __init__(self, text: str, retry_after: float | None = None) -> None:
        super().__init__(text)
        self.retry_after = retry_after


class HubRefused(BridleError):
    """The hub will not do this, also if it is asked again."""

    def __init__(self, status: int, text: str, kind: str) -> None:
        super().__init__(text)
        self.status = status
        self.kind = kind

    @property
    def is_expired(self) -> bool:
        """Whether something has ended that can be opened again."""
        return self.status == 410 or "expired" in self.kind or "lifetime" in self.kind


class WorkItem(Struct, frozen=True):
    """A session that the hub wants run."""

    id: str
    session: str
    secret: str


class Bridge(Struct, frozen=True):
    """The right to be the worker of a session."""

    worker_jwt: str
    api_base_url: str
    expires_in: int
    worker_epoch: str


class HubClient:
    """Asks one hub with the key of this machine, or with another key."""

    def __init__(self, url: str, key: str, env: Mapping[str, str]) -> None:
        self.url = url.rstrip("/")
        self._key = key
        self._http = HttpClient(env, kept=32)

    async def close(self) -> None:
        await self._http.close()

    async def join(self, code: str, name: str) -> dict[str, Any]:
        """Exchange a code for the key of a machine."""
        return await self.call("POST", "/api/join", {"code": code, "name": name}, key="")

    async def register(self, wanted: Mapping[str, Any]) -> tuple[str, str]:
        made = await self.call("POST", "/v1/environments/bridge", wanted)
        return checked(made["environment_id"]), made["environment_secret"]

    async def poll(self, environment: str, secret: str, *, reclaim_after: float | None) -> WorkItem | None:
        query = "" if reclaim_after is None else f"?reclaim_older_than_ms={int(reclaim_after * 1000)}"
        work = await self.call("GET", f"/v1/environments/{environment}/work/poll{query}", key=secret)
        if work is None:
            return None
        return WorkItem(checked(work["id"]), checked(work["data"]["id"]), work["secret"])

    async def acknowledge(self, environment: str, work: str, token: str) -> None:
        await self.call("POST", f"/v1/environments/{environment}/work/{work}/ack", key=token)

    async def beat(self, environment: str, work: str, token: str) -> Heartbeat:
        path = f"/v1/environments/{environment}/work/{work}/heartbeat"
        return msgspec.convert(await self.call("POST", path, key=token), Heartbeat)

    async def stop(self, environment: str, work: str, *, force: bool) -> None:
        await self.call("POST", f"/v1/environments/{environment}/work/{work}/stop", {"force": force})

    async def reconnect(self, environment: str, session: str) -> None:
        path = f"/v1/environments/{environment}/bridge/reconnect"
        await self.call("POST", path, {"session_id": session})

    async def deregister(self, environment: str) -> None:
        await self.call("DELETE", f"/v1/environments/bridge/{environment}")

    async def create(self, title: str, tags: Sequence[str]) -> str:
        """Let the hub know a session that was begun here; returns its name there."""
        made = await self.call("POST", "/v1/code/sessions", {"title": title, "bridge": {}, "tags": [*tags]})
        return checked(made["session"]["id"])

    async def bridge(self, session: str) -> Bridge:
        return msgspec.convert(await self.call("POST", f"/v1/code/sessions/{session}/bridge"), Bridge)

    async def upload(self, session: str, events: Sequence[Mapping[str, Any]], token: str) -> None:
        path = f"/v1/code/sessions/{session}/worker/events"
        await self.call("POST", path, {"events": events}, key=token)

    async def report(self, session: str, state: Mapping[str, Any], token: str) -> None:
        await self.call("PUT", f"/v1/code/sessions/{session}/worker", state, key=token)

    async def delivered(self, session: str, event: str, status: str, token: str) -> None:
        path = f"/v1/code/sessions/{session}/worker/events/{event}/delivery"
        await self.call("POST", path, {"status": status}, key=token)

    async def waiting_keys(self) -> list[dict[str, str]]:
        """Devices that want to read what this machine sends, with their public keys."""
        return (await self.call("GET", "/api/machine/keys"))["devices"]

    async def hand_out(self, rings: Mapping[str, str]) -> None:
        """Leave the content keys for devices, encrypted for each; all others lose theirs."""
        await self.call("PUT", "/api/machine/keys", {"rings": rings})

    async def whoami(self) -> str:
        """The name of this machine at the hub."""
        return checked((await self.call("GET", "/api/machine"))["id"])

    async def download(self, file: str, *, largest: int) -> bytes:
        """The content of an attachment."""
        path = f"{self.url}/api/oauth/files/{checked(file)}/content"
        limits = Limits(connect=10.0, idle=15.0, total=30.0, body=largest)
        try:
            async with self._http.send(Request("GET", path, self._headers(None)), limits) as response:
                data = await response.read()
        except HttpFault as fault:
            raise HubUnreachable(str(fault)) from fault
        if response.status != 200:
            raise HubRefused(response.status, "Can't fetch the attachment.", "")
        return data

    @asynccontextmanager
    async def stream(self, session: str, token: str, after: int | None) -> AsyncGenerator[Response]:
        """The events that are meant for the worker of a session.

        Raises:
            HubRefused: the hub does not let this worker in.
            HubUnreachable: there is no stream now.
        """
        headers = self._headers(token)
        if after is not None:
            headers = (*headers, ("last-event-id", str(after)))
        path = f"{self.url}/v1/code/sessions/{session}/worker/events/stream"
        try:
            async with self._http.send(Request("GET", path, headers), _STREAM) as response:
                if response.status != 200:
                    _raise(response.status, await response.read(), response.headers)
                async with aclosing(response):
                    yield response
        except HttpFault as fault:
            raise HubUnreachable(str(fault)) from fault

    async def call(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, *, key: str | None = None
    ) -> Any:
        """Send one request and read the answer.

        Raises:
            HubRefused: the hub will not do this.
            HubUnreachable: it may do it later.
        """
        data = b"" if body is None else msgspec.json.encode(body)
        request = Request(method, f"{self.url}{path}", self._headers(key), data)
        try:
            async with self._http.send(request, _TIMEOUT) as response:
                answer = await response.read()
        except HttpFault as fault:
            raise HubUnreachable(str(fault)) from fault
        if response.status not in (200, 204):
            _raise(response.status, answer, response.headers)
        try:
            return msgspec.json.decode(answer) if answer else None
        except msgspec.MsgspecError as error:
            raise HubUnreachable(f"{self.url} is not a hub.") from error

    def _headers(self, key: str | None) -> tuple[tuple[str, str], ...]:
        used = self._key if key is None else key
        return (*_HEADERS, ("authorization", f"Bearer {used}")) if used else _HEADERS


class Backoff:
    """How long to wait before the next try; a machine that slept starts over."""

    def __init__(
        self,
        *,
        first: float,
        most: float,
        give_up: float | None,
        clock: Callable[[], float] = time.monotonic,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._first, self._most, self._give_up = first, most, give_up
        self._clock, self._jitter = clock, jitter
        self._delay = first
        self._since: float | None = None
        self._last = 0.0

    def reset(self) -> None:
        """It worked."""
        self._delay, self._since = self._first, None

    def next(self, wanted: float | None = None) -> float | None:
        """Seconds until the next try; None when it is time to give up."""
        now = self._clock()
        if self._since is not None and now - self._last > self._delay + _SLEPT_SECONDS:
            self.reset()
        if self._since is None:
            self._since = now
        self._last = now
        if self._give_up is not None and now - self._since > self._give_up:
            return None
        delay = self._delay if wanted is None else min(wanted, self._most)
        self._delay = min(self._delay * 2, self._most)
        return delay * (0.75 + self._jitter() / 2)


async def patiently(
    call: Callable[[], Any], backoff: Backoff, *, sleep: Callable[[float], Any] = asyncio.sleep
) -> Any:
    """Call until it works.

    Raises:
        HubRefused: the hub will not do this.
        HubUnreachable: it has not answered for too long.
    """
    while True:
        try:
            done = await call()
        except HubUnreachable as fault:
            delay = backoff.next(fault.retry_after)
            if delay is None:
                raise
            await sleep(delay)
        else:
            backoff.reset()
            return done


def checked(id: Any) -> str:
    """A name that the hub gave, before it stands in a path.

    Raises:
        HubRefused: it could lead elsewhere.
    """
    if not isinstance(id, str) or not is_safe_id(id):
        raise HubRefused(400, "The hub sent an invalid name.", "invalid_request_error")
    return id


def _raise(status: int, body: bytes, headers: Mapping[str, str]) -> None:
    text, kind = f"The hub answered with status {status}.", ""
    try:
        error = msgspec.json.decode(body)["error"]
        text, kind = str(error["message"]), str(error["type"])
    except (msgspec.MsgspecError, LookupError, TypeError):
        pass  # Something in between answered, in words of its own.
    if status == 429 or status >= 500:
        after = headers.get("retry-after", "")
        raise HubUnreachable(text, float(after) if after.isdecimal() and len(after) < 6 else None)
    raise HubRefused(status, text, kind)
