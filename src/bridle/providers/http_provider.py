"""The provider for every service of models over HTTP, in whatever dialect it speaks."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping
from contextlib import aclosing
from typing import Any, Protocol, TypeVar, runtime_checkable

from msgspec import Struct
from msgspec.structs import replace

from bridle.host.http.client import HttpClient, HttpFault, Limits, Request, Response
from bridle.providers.facts import Model
from bridle.providers.keys import Keys, custom_headers
from bridle.providers.vendor import CloudCommands, Vendor, request_id
from bridle.types.errors import ConfigError, ProviderError, StreamBroken
from bridle.types.model import Completed, LimitReported, ModelEvent, ModelRequest, Started
from bridle.types.variables import is_off, is_on
from bridle.version import __version__

_WHOLE_ANSWER = 600.0
_LARGEST_ANSWER = 64 * 1024 * 1024
_LARGEST_ERROR = 64 * 1024
_REST = 0.25
_GZIP = "CLAUDE_CODE_GZIP_REQUEST_BODIES"
"""Seconds that the end of a response may lag behind the end of the answer in it."""


_Counted = TypeVar("_Counted", Started, Completed)


class ServiceEndpoint(Struct, frozen=True):
    """Where a vendor's service is for one session, and what opens it."""

    vendor: Vendor
    env: Mapping[str, str]
    base: str
    kept: str = ""
    """The key that the user has saved for it; variables count first."""
    commands: CloudCommands = CloudCommands()
    keys: Keys | None = None
    """Where keys are that no variable holds."""

    @property
    def key(self) -> str:
        """The key in the first variable that holds one, else the one that was saved, else nothing."""
        names = self.vendor.key_env
        return next((key for name in names if (key := self.env.get(name, "").strip())), self.kept)


class Reading(Protocol):
    """Turns the body of a response into model events, one response at a time."""

    def feed(self, chunk: bytes) -> Iterable[ModelEvent]:
        """The events that `chunk` completes.

        Raises:
            ProviderError: the service reports an error before it began to answer.
            StreamBroken: the service reports an error in its answer, or the bytes make no sense.
        """
        ...

    def finish(self) -> Iterable[ModelEvent]:
        """What is left to tell when the body has ended."""
        ...

    def whole(self, body: bytes) -> Iterable[ModelEvent]:
        """Every event of an answer that was not streamed."""
        ...


class Dialect(Protocol):
    """Encodes a request and reads the answer; it keeps nothing but what saves encoding twice."""

    def request(self, asked: ModelRequest, model: Model, place: ServiceEndpoint) -> Request:
        """The request to send, without credentials."""
        ...

    async def admitted(self, request: Request, place: ServiceEndpoint) -> Request:
        """The request with a key, a token or a signature.

        Raises:
            ProviderError: there is none.
        """
        ...

    def reading(self, asked: ModelRequest, place: ServiceEndpoint, request_id: str | None) -> Reading: ...


@runtime_checkable
class RecoveryDialect(Protocol):
    """A dialect that can change something after a refusal: renew credentials, or leave a feature out."""

    async def recovered(self, error: ProviderError, asked: ModelRequest, place: ServiceEndpoint) -> bool:
        """Whether it is worth asking once more.

        Raises:
            ProviderError: what should have helped fails.
        """
        ...


class HttpProvider:
    """Asks one vendor's service in its dialect."""

    def __init__(
        self,
        dialect: Dialect,
        place: ServiceEndpoint,
        find: Callable[[str], Model],
        *,
        client: HttpClient | None = None,
    ) -> None:
        self._dialect = dialect
        self._place = place
        self._find = find
        self._client = client or HttpClient(place.env)
        self._limit: dict[str, Any] | None = None
        """The last reported limit on the use of the service."""

    async def warm_up(self, model: str) -> None:
        """Connect ahead of the first request; without a key there will be none."""
        del model
        if self._place.base and (self._place.key or not self._place.vendor.key_needed):
            await self._client.warm_up(self._place.base)

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        if isinstance(self._dialect, RecoveryDialect):
            return self._with_recovery(request, self._dialect)
        return self._exchange(request)

    async def _with_recovery(
        self, request: ModelRequest, dialect: RecoveryDialect
    ) -> AsyncIterator[ModelEvent]:
        """The exchange, and once more where the dialect can do something about a refusal."""
        try:
            async with aclosing(self._exchange(request)) as events:
                async for event in events:
                    yield event
            return
        except StreamBroken:
            raise
        except ProviderError as error:
            if not await dialect.recovered(error, request, self._place):
                raise
        async with aclosing(self._exchange(request)) as events:
            async for event in events:
                yield event

    async def _exchange(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        completed: Completed | None = None
        response: Response | None = None
        try:
            sent = await self._sent(request)
            window = self._find(request.model).context_window
            limits = limits_of(self._place.env, streamed=request.stream, silence=self._place.vendor.patience)
            async with self._client.send(sent, limits) as response:
                if (limit := self._changed_limit(response.headers)) is not None:
                    yield LimitReported(limit)
                await self._check(response, request)
                reading = self._dialect.reading(request, self._place, request_id(response.headers))
                async with aclosing(_events(response, reading)) as events:
                    async for event in events:
                        if isinstance(event, Completed):
                            completed = _counted(event, sent, window)
                            break
                        yield _counted(event, sent, window) if type(event) is Started else event
                # The caller may leave with the answer: the connection is settled before it can.
                await response.finish(within=_REST)
        except HttpFault as fault:
            raise self._fault(fault, response) from fault
        except ConfigError as error:
            raise ProviderError(str(error)) from error
        if completed is None:
            raise StreamBroken("The answer was cut off. Try again.", retryable=True, cause="answer stopped")
        yield completed

    def body_of(self, request: ModelRequest) -> bytes:
        """The body of a request as this service gets it."""
        return self._dialect.request(request, self._find(request.model), self._place).body

    async def close(self) -> None:
        await self._client.close()

    async def _sent(self, request: ModelRequest) -> Request:
        if not self._place.base:
            from bridle.providers import refusals

            raise ProviderError(refusals.no_address(self._place.vendor))
        await self._recall_key()
        bare = self._dialect.request(request, self._find(request.model), self._place)
        headers = (
            ("content-type", "application/json"),
            ("accept", "text/event-stream" if request.stream else "application/json"),
            ("user-agent", f"bridle/{__version__}"),
            *bare.headers,
            *self._place.vendor.headers,
            *(custom_headers(self._place.env) if self._place.vendor.serves_anthropic else ()),
            *request.headers.items(),
        )
        if self._place.vendor.serves_anthropic and is_on(self._place.env, _GZIP):
            bare = replace(bare, body=_compressed(bare.body))
            headers = (*headers, ("content-encoding", "gzip"))
        # Of two headers with one name the later counts: it is the more special one.
        merged = {name.lower(): value for name, value in headers}
        return await self._dialect.admitted(replace(bare, headers=tuple(merged.items())), self._place)

    async def _recall_key(self) -> None:
        """Look once for a key that was saved, where no variable has one."""
        place = self._place
        if place.keys is not None and place.vendor.key_env and not place.key and not place.vendor.is_home:
            kept = await place.keys.kept(place.vendor.name, place.base)
            # Without one it is looked for again: the user may log in while the session runs.
            self._place = replace(place, kept=kept, keys=None if kept else place.keys)

    def _changed_limit(self, headers: Mapping[str, str]) -> dict[str, Any] | None:
        """What a response says about limits on use, where that is news."""
        if "anthropic-ratelimit-unified-status" not in headers:
            return None
        from bridle.providers.usage import limit_of

        limit = limit_of(headers)
        if limit is None or limit == self._limit:
            return None
        self._limit = limit
        return limit

    async def _check(self, response: Response, request: ModelRequest) -> None:
        kind = response.headers.get("content-type", "")
        if response.status == 200 and not kind.startswith("text/html"):
            return
        from bridle.providers import refusals  # Nothing of it is needed while all goes well.

        place = self._place
        body = await response.beginning(_LARGEST_ERROR)
        if response.status == 200:
            raise ProviderError(refusals.no_service(place.vendor, place.base))
        if response.status == 401 and place.vendor.is_home and place.keys is not None:
            place.keys.refused()
        raise refusals.refusal(
            response.status,
            response.headers,
            body,
            model=request.model,
            vendor=place.vendor,
            base=place.base,
        )

    def _fault(self, fault: HttpFault, response: Response | None) -> ProviderError:
        from bridle.providers import refusals

        if response is None:
            return refusals.unreachable(fault, vendor=self._place.vendor, base=self._place.base)
        return refusals.broken(fault, request_id=request_id(response.headers))


def limits_of(env: Mapping[str, str], *, streamed: bool, silence: float = 90.0) -> Limits:
    """How long one exchange may take, as variables have it; `silence` is what is normal for the service."""
    whole = _seconds(env, "API_TIMEOUT_MS") or _WHOLE_ANSWER
    if not streamed:
        return Limits(idle=whole, total=whole, body=_LARGEST_ANSWER)
    watched = not is_off(env, "CLAUDE_ENABLE_STREAM_WATCHDOG")
    unlimited = env.get("API_FORCE_IDLE_TIMEOUT", "") == "0" or not watched
    given = _seconds(env, "API_FORCE_IDLE_TIMEOUT") or _seconds(env, "CLAUDE_STREAM_IDLE_TIMEOUT_MS")
    idle = whole if unlimited else given or silence
    # Ours watches bytes, so that the stricter of the two words counts.
    return Limits(idle=min(idle, whole, _seconds(env, "CLAUDE_BYTE_STREAM_IDLE_TIMEOUT_MS") or idle))


def _seconds(env: Mapping[str, str], name: str) -> float | None:
    given = env.get(name, "")
    return int(given) / 1000 if given.isdecimal() and int(given) > 0 else None


_COUNTS = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


def _counted(event: _Counted, sent: Request, window: int) -> _Counted:
    """The event, with a guess where the service does not say how long the prompt was."""
    usage: Mapping[str, Any] = event.message["usage"]
    if any(usage.get(name) for name in _COUNTS):
        return event
    from bridle.providers.usage import guessed

    return guessed(event, len(sent.body), window)


def is_stale(error: ProviderError) -> bool:
    """Whether other credentials may help: those that may not do a thing will not do it next time either."""
    return error.kind == "authentication_failed" and not (error.error_type or "").startswith("accessdenied")


def admitted_by_key(request: Request, place: ServiceEndpoint) -> Request:
    """The request with the vendor's key in the header that the vendor wants.

    Raises:
        ProviderError: no variable holds a key, and the vendor wants one.
    """
    vendor, key = place.vendor, place.key
    names = {name for name, _ in request.headers}
    if vendor.key_header in names or is_on(place.env, vendor.unguarded_env):
        return request
    if token := next((token for name in vendor.token_env if (token := place.env.get(name, "").strip())), ""):
        return replace(request, headers=(*request.headers, ("authorization", f"Bearer {token}")))
    if not key:
        if vendor.key_needed:
            from bridle.providers import refusals

            raise ProviderError(refusals.no_key(vendor, place.env), kind="authentication_failed")
        return request
    value = f"Bearer {key}" if vendor.key_header == "authorization" else key
    return replace(request, headers=(*request.headers, (vendor.key_header, value)))


async def _events(response: Response, reading: Reading) -> AsyncGenerator[ModelEvent, None]:
    if response.headers.get("content-type", "").startswith("application/json"):
        for event in reading.whole(await response.read()):
            yield event
        return
    async for chunk in response:
        for event in reading.feed(chunk):
            yield event
    for event in reading.finish():
        yield event


def _compressed(body: bytes) -> bytes:
    import gzip  # Only behind its variable.

    return gzip.compress(body, compresslevel=6, mtime=0)
