"""One exchange with a service of models over HTTP, in whatever dialect it speaks."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing, suppress
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from bridle.host.http.client import HttpClient, HttpFault, Limits, Request, Response
from bridle.providers import guessing, refusals
from bridle.providers.facts import Model
from bridle.providers.keys import Keys
from bridle.providers.sse import EventReader
from bridle.providers.vendors import Vendor
from bridle.types.errors import ConfigError, ProviderError, StreamBroken
from bridle.types.model import Completed, ModelEvent, ModelRequest, Started
from bridle.version import __version__

_WHOLE_ANSWER_MS = 600_000
_LARGEST_ANSWER = 64 * 1024 * 1024
_LARGEST_ERROR = 64 * 1024
_REST = 0.25
"""Seconds that the end of a response may lag behind the end of the answer in it."""


class Place(Struct, frozen=True):
    """Where a vendor's service is for one session, and what opens it."""

    vendor: Vendor
    env: Mapping[str, str]
    base: str
    kept: str = ""
    """The key that the user has saved for it; variables count first."""

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

    def request(self, asked: ModelRequest, model: Model, place: Place) -> Request:
        """The request to send, without what opens the door."""
        ...

    async def admitted(self, request: Request, place: Place) -> Request:
        """The request with a key, a token or a signature.

        Raises:
            ProviderError: there is none.
        """
        ...

    def reading(self, asked: ModelRequest, place: Place, request_id: str | None) -> Reading: ...


class HttpProvider:
    """Asks one vendor's service in its dialect."""

    def __init__(
        self,
        dialect: Dialect,
        place: Place,
        find: Callable[[str], Model],
        *,
        client: HttpClient | None = None,
        keys: Keys | None = None,
    ) -> None:
        self._dialect = dialect
        self._place = place
        self._keys = keys
        self._find = find
        self._client = client or HttpClient(place.env)

    async def warm_up(self, model: str) -> None:
        """Connect ahead of the first request; without a key there will be none."""
        del model
        if self._place.base and (self._place.key or not self._place.vendor.key_needed):
            await self._client.warm_up(self._place.base)

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        completed: Completed | None = None
        response: Response | None = None
        try:
            sent = await self._sent(request)
            window = self._find(request.model).context_window
            async with self._client.send(sent, self._limits(request)) as response:
                await self._check(response, request)
                reading = self._dialect.reading(request, self._place, refusals.request_id(response.headers))
                async with aclosing(_events(response, reading)) as events:
                    async for event in events:
                        if isinstance(event, Completed):
                            completed = guessing.ended(event, len(sent.body), window)
                            break
                        yield (
                            guessing.begun(event, len(sent.body), window) if type(event) is Started else event
                        )
                # The caller may leave with the answer: the connection is settled before it can.
                await response.finish(within=_REST)
        except HttpFault as fault:
            raise self._fault(fault, response) from fault
        except ConfigError as error:
            raise ProviderError(str(error)) from error
        if completed is None:
            raise StreamBroken("The answer stopped before its end; try again.", retryable=True)
        yield completed

    async def close(self) -> None:
        await self._client.close()

    async def _sent(self, request: ModelRequest) -> Request:
        if not self._place.base:
            raise ProviderError(refusals.no_address(self._place.vendor))
        await self._recall_key()
        bare = self._dialect.request(request, self._find(request.model), self._place)
        headers = (
            ("content-type", "application/json"),
            ("accept", "text/event-stream" if request.stream else "application/json"),
            ("user-agent", f"bridle/{__version__}"),
            *bare.headers,
            *self._place.vendor.headers,
        )
        # Of two headers with one name the later counts: it is the more special one.
        merged = {name.lower(): value for name, value in headers}
        return await self._dialect.admitted(replace(bare, headers=tuple(merged.items())), self._place)

    async def _recall_key(self) -> None:
        """Look once for a key that was saved, where no variable has one."""
        place, keys = self._place, self._keys
        if keys is not None and place.vendor.key_env and not place.key:
            self._keys = None
            self._place = replace(place, kept=await keys.kept(place.vendor.name, place.base))

    def _limits(self, request: ModelRequest) -> Limits:
        env = self._place.env
        whole = _seconds(env, "API_TIMEOUT_MS", _WHOLE_ANSWER_MS / 1000)
        if not request.stream:
            return Limits(idle=whole, total=whole, body=_LARGEST_ANSWER)
        patience = _seconds(env, "CLAUDE_STREAM_IDLE_TIMEOUT_MS", self._place.vendor.patience)
        return Limits(idle=min(patience, whole))

    async def _check(self, response: Response, request: ModelRequest) -> None:
        kind = response.headers.get("content-type", "")
        if response.status == 200 and not kind.startswith("text/html"):
            return
        body = await _start_of(response)
        if response.status == 200:
            raise ProviderError(refusals.no_service(self._place.vendor, self._place.base))
        raise refusals.refusal(
            response.status,
            response.headers,
            body,
            model=request.model,
            vendor=self._place.vendor,
            base=self._place.base,
        )

    def _fault(self, fault: HttpFault, response: Response | None) -> ProviderError:
        if response is None:
            return refusals.unreachable(fault, vendor=self._place.vendor, base=self._place.base)
        return refusals.broken(fault, request_id=refusals.request_id(response.headers))


class SseDecoder(Protocol):
    """Folds the data of server-sent events into model events."""

    def feed(self, data: bytes) -> Sequence[ModelEvent]: ...

    def finish(self) -> Sequence[ModelEvent]: ...

    def whole(self, body: bytes) -> Sequence[ModelEvent]: ...


class SseReading:
    """Reads a body of server-sent events."""

    __slots__ = ("_decoder", "_reader")

    def __init__(self, decoder: SseDecoder) -> None:
        self._decoder = decoder
        self._reader = EventReader()

    def feed(self, chunk: bytes) -> Iterable[ModelEvent]:
        for _, data in self._reader.feed(chunk):
            yield from self._decoder.feed(data)

    def finish(self) -> Iterable[ModelEvent]:
        for _, data in self._reader.finish():
            yield from self._decoder.feed(data)
        yield from self._decoder.finish()

    def whole(self, body: bytes) -> Iterable[ModelEvent]:
        return self._decoder.whole(body)


def admitted_by_key(request: Request, place: Place) -> Request:
    """The request with the vendor's key in the header that the vendor wants.

    Raises:
        ProviderError: no variable holds a key, and the vendor wants one.
    """
    vendor, key = place.vendor, place.key
    names = {name for name, _ in request.headers}
    if vendor.key_header in names:
        return request
    if token := next((token for name in vendor.token_env if (token := place.env.get(name, "").strip())), ""):
        return replace(request, headers=(*request.headers, ("authorization", f"Bearer {token}")))
    if not key:
        if vendor.key_needed:
            raise ProviderError(refusals.no_key(vendor), kind="authentication_failed")
        return request
    value = f"Bearer {key}" if vendor.key_header == "authorization" else key
    return replace(request, headers=(*request.headers, (vendor.key_header, value)))


def base_of(vendor: Vendor, env: Mapping[str, str]) -> tuple[str, bool]:
    """The address of a vendor's service, and whether a variable named it."""
    given = next((url for name in vendor.url_env if (url := env.get(name, "").strip())), "")
    if not given:
        return vendor.url, False
    url = (given if "://" in given else f"http://{given}").rstrip("/")
    host_only = "/" not in url.partition("://")[2]
    return (url + vendor.root if host_only else url), True


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


async def _start_of(response: Response) -> bytes:
    """Enough of a body to say what is wrong."""
    parts: list[bytes] = []
    size = 0
    with suppress(HttpFault):
        async for chunk in response:
            parts.append(chunk)
            size += len(chunk)
            if size > _LARGEST_ERROR:
                break
    return b"".join(parts)


def _seconds(env: Mapping[str, str], name: str, otherwise: float) -> float:
    given = env.get(name, "")
    return int(given) / 1000 if given.isdecimal() and int(given) > 0 else otherwise
