"""One exchange with a service of models over HTTP, in whatever dialect it speaks."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from typing import Protocol, runtime_checkable

from msgspec import Struct
from msgspec.structs import replace

from bridle.host.http.client import HttpClient, HttpFault, Request, Response
from bridle.providers import guessing, refusals, url_parts
from bridle.providers.facts import Model
from bridle.providers.keys import Keys, custom_headers
from bridle.providers.patience import limits_of
from bridle.providers.sse import EventReader
from bridle.providers.user_command import CloudCommands
from bridle.providers.vendors import Vendor
from bridle.types.errors import ConfigError, ProviderError, StreamBroken
from bridle.types.model import Completed, ModelEvent, ModelRequest, Started
from bridle.types.variables import is_on
from bridle.version import __version__

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
    commands: CloudCommands = CloudCommands()

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


@runtime_checkable
class Renewing(Protocol):
    """A dialect whose credentials end, and can be had anew by a command of the user's."""

    async def renewed(self, place: Place) -> bool:
        """Whether it is worth to ask once more after the credentials were refused or missing.

        Raises:
            ProviderError: the command fails.
        """
        ...


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

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        if isinstance(self._dialect, Renewing) and self._place.commands != _NO_COMMANDS:
            return self._renewing(request, self._dialect)
        return self._exchange(request)

    async def _renewing(self, request: ModelRequest, dialect: Renewing) -> AsyncIterator[ModelEvent]:
        """The exchange, with credentials renewed once if those at hand are not taken."""
        try:
            async for event in self._exchange(request):
                yield event
            return
        except ProviderError as error:
            if not _is_stale(error) or not await dialect.renewed(self._place):
                raise
        async for event in self._exchange(request):
            yield event

    async def _exchange(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        completed: Completed | None = None
        response: Response | None = None
        try:
            sent = await self._sent(request)
            window = self._find(request.model).context_window
            limits = limits_of(self._place.env, streamed=request.stream, silence=self._place.vendor.patience)
            async with self._client.send(sent, limits) as response:
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
            *(custom_headers(self._place.env) if self._place.vendor.serves_anthropic else ()),
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

    async def _check(self, response: Response, request: ModelRequest) -> None:
        kind = response.headers.get("content-type", "")
        if response.status == 200 and not kind.startswith("text/html"):
            return
        body = await response.beginning(_LARGEST_ERROR)
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


_NO_COMMANDS = CloudCommands()


def _is_stale(error: ProviderError) -> bool:
    """Whether other credentials may help: those that may not do a thing will not do it next time either."""
    denied = (error.error_type or "").startswith("accessdenied")
    return error.kind == "authentication_failed" and not denied and not isinstance(error, StreamBroken)


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
    if vendor.key_header in names or is_on(place.env, vendor.unguarded_env):
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
    variable = next((name for name in vendor.url_env if env.get(name, "").strip()), "")
    if not variable:
        return vendor.url, False
    given = env[variable].strip()
    url = url_parts.base(given if "://" in given else f"http://{given}", name=variable)
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
