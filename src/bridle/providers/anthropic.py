"""The dialect of the Anthropic Messages API, spoken over HTTP."""

import re
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from typing import Any

from msgspec import DecodeError, Struct
from msgspec.json import decode as from_json

from bridle.host.http.client import HttpClient, HttpFault, Limits, Request, Response
from bridle.providers import anthropic_errors as errors
from bridle.providers.anthropic_request import betas, cache_life, encode, encode_for_counting
from bridle.providers.anthropic_stream import Decoder, stream_of
from bridle.providers.keys import Keys, custom_headers
from bridle.providers.limits import limit_of
from bridle.providers.on_demand import BETA, takes_references
from bridle.providers.patience import SILENCE, limits_of
from bridle.providers.sse import EventReader
from bridle.types.errors import ConfigError, ProviderError, StreamBroken
from bridle.types.model import Completed, LimitTold, ModelEvent, ModelRequest
from bridle.types.variables import is_on
from bridle.version import __version__

__all__ = ["AnthropicProvider", "Decoder", "encode"]

_HOME = "https://api.anthropic.com"
_OWN_HOSTS = (".anthropic.com", ".claude.ai")
_OWN_PREFIX = "anthropic/"
_VERSION = "2023-06-01"
_LARGEST_ERROR = 64 * 1024
_LISTING = 3.0
"""Seconds for a list of models, which nobody should have to wait for."""
_LARGEST_LISTING = 4 * 1024 * 1024
_REST = 0.25
"""Seconds that the end of a response may lag behind the end of the answer in it."""
_REFERENCES = re.compile("(?i)tool.?reference|defer.?loading|advanced-tool-use|item type in content")
"""What a service that knows no references to tools names when it refuses a request."""


class AnthropicProvider:
    """Asks the service that the environment names, with the credentials it holds."""

    def __init__(
        self,
        env: Mapping[str, str],
        *,
        client: HttpClient | None = None,
        keys: Keys | None = None,
        names: Mapping[str, str] | None = None,
    ) -> None:
        self._env = env
        self._keys = keys or Keys(env)
        self._told: dict[str, Any] | None = None
        """What was last heard of limits."""
        self._names = names or {}
        """What the service calls models that have another name there."""
        self._base = (env.get("ANTHROPIC_BASE_URL", "").strip() or _HOME).rstrip("/")
        self._knows_references = _is_home(self._base) or bool(env.get("ENABLE_TOOL_SEARCH", "").strip())
        self._client = client or HttpClient(env)

    async def warm_up(self, model: str) -> None:
        """Connect to the service ahead of the first request; without credentials there will be none."""
        del model
        if _credentials(self._env):
            await self._client.warm_up(self._base)

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        return self._referring(request) if self._refers(request) else self._exchange(request)

    async def _referring(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """The exchange, and once more without references where the service does not know them after all."""
        try:
            async with aclosing(self._exchange(request)) as events:
                async for event in events:
                    yield event
            return
        except ProviderError as error:
            if error.status is None or not _REFERENCES.search(str(error)):
                raise
        self._knows_references = False
        async with aclosing(self._exchange(request)) as events:
            async for event in events:
                yield event

    async def _exchange(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        body = self.encoded(request)
        completed: Completed | None = None
        response: Response | None = None
        try:
            sent = await self._post("/v1/messages?beta=true", request, body)
            async with self._client.send(sent, limits_of(self._env, streamed=request.stream)) as response:
                told = limit_of(response.headers)
                if told is not None and told != self._told:
                    self._told = told
                    yield LimitTold(told)
                await self._check(response, request)
                decoder = Decoder(errors.request_id(response.headers))
                async with aclosing(_frames(response)) as frames:
                    async for data in frames:
                        event = decoder.feed(data)
                        if isinstance(event, Completed):
                            completed = event
                            break
                        if event is not None:
                            yield event
                # The caller may leave with the answer: the connection is settled before it can.
                await response.finish(within=_REST)
        except HttpFault as fault:
            raise self._fault(fault, response) from fault
        except ConfigError as error:
            raise ProviderError(str(error)) from error
        if completed is None:
            raise StreamBroken("The answer stopped before its end; try again.", retryable=True)
        yield completed

    def encoded(self, request: ModelRequest) -> bytes:
        """The body of a request as this service gets it."""
        return encode(
            request,
            cache=cache_life(self._env, request.model),
            experimental=not self._is_plain,
            served=self._served(request),
            references=self._refers(request),
        )

    async def count_tokens(self, request: ModelRequest) -> int:
        """How many tokens the service counts in the prompt of `request`.

        Raises:
            ProviderError: the service cannot be asked or does not count.
        """
        limits = Limits(idle=SILENCE, total=SILENCE, body=_LARGEST_ERROR)
        try:
            body = encode_for_counting(request, references=self._refers(request))
            sent = await self._post("/v1/messages/count_tokens?beta=true", request, body)
            async with self._client.send(sent, limits) as response:
                await self._check(response, request)
                return _token_count(await response.read())
        except HttpFault as fault:
            raise errors.unreachable(fault, url=self._base) from fault
        except ConfigError as error:
            raise ProviderError(str(error)) from error

    async def list_models(self) -> tuple[str, ...]:
        """The ids of the models that the service lists.

        Raises:
            ProviderError: it cannot be asked or does not list them.
        """
        headers = {"anthropic-version": _VERSION, "user-agent": f"bridle/{__version__}"}
        limits = Limits(idle=_LISTING, total=_LISTING, body=_LARGEST_LISTING)
        try:
            opened = (headers | await self._opening()).items()
            asked = Request("GET", f"{_checked(self._base)}/v1/models?limit=1000", tuple(opened))
            async with self._client.send(asked, limits) as response:
                body = await response.read()
        except HttpFault as fault:
            raise errors.unreachable(fault, url=self._base) from fault
        except ConfigError as error:
            raise ProviderError(str(error)) from error
        if response.status != 200:
            raise errors.refusal(response.status, response.headers, body, model="", url=self._base)
        try:
            return tuple(each.id for each in from_json(body, type=_Listing).data)
        except (DecodeError, UnicodeDecodeError) as error:
            raise ProviderError(f"{self._base} did not list its models: {error}.") from error

    async def close(self) -> None:
        await self._client.close()

    @property
    def _is_plain(self) -> bool:
        return is_on(self._env, "CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS")

    def _refers(self, request: ModelRequest) -> bool:
        """Whether tools that were loaded are sent as references: at home, or where the user says so."""
        return self._knows_references and not self._is_plain and takes_references(request)

    def _served(self, request: ModelRequest) -> dict[str, Any] | None:
        """The name without its vendor, where the vendor is at home; gateways may want it with."""
        if (name := self._names.get(request.model)) is not None:
            return {"model": name, "stream": request.stream}
        if self._base != _HOME or not request.model.startswith(_OWN_PREFIX):
            return None
        return {"model": request.model.removeprefix(_OWN_PREFIX), "stream": request.stream}

    async def _post(self, path: str, request: ModelRequest, body: bytes) -> Request:
        headers = {
            "content-type": "application/json",
            "anthropic-version": _VERSION,
            "user-agent": f"bridle/{__version__}",
            "accept": "text/event-stream" if request.stream else "application/json",
        }
        if request.session_id is not None:
            headers["x-claude-code-session-id"] = request.session_id
        if wanted := self._betas(request):
            headers["anthropic-beta"] = ",".join(wanted)
        headers |= await self._opening()
        if not headers.keys() & _OPENING:
            raise ProviderError(errors.NO_CREDENTIAL, kind="authentication_failed")
        return Request("POST", _checked(self._base) + path, tuple(headers.items()), body)

    async def _opening(self) -> dict[str, str]:
        """The headers that open the door: from variables, else from the user's helper, else from a login."""
        headers = _credentials(self._env)
        if headers.keys() & _OPENING:
            return headers
        if key := await self._keys.helped():
            return {**headers, "x-api-key": key, "authorization": f"Bearer {key}"}
        if key := await self._keys.kept("anthropic", self._base):
            return {**headers, "x-api-key": key}
        return headers

    def _betas(self, request: ModelRequest) -> list[str]:
        wanted = list(request.betas) if self._is_plain else betas(request)
        if self._refers(request):
            wanted.append(BETA)
        wanted += (name.strip() for name in self._env.get("ANTHROPIC_BETAS", "").split(","))
        if is_on(self._env, "CLAUDE_CODE_ENABLE_FINE_GRAINED_TOOL_STREAMING") and request.tools:
            wanted.append("fine-grained-tool-streaming-2025-05-14")
        if is_on(self._env, "DISABLE_INTERLEAVED_THINKING"):
            wanted = [name for name in wanted if not name.startswith("interleaved-thinking-")]
        return [name for name in dict.fromkeys(wanted) if name]

    async def _check(self, response: Response, request: ModelRequest) -> None:
        if response.status == 200 and not response.headers.get("content-type", "").startswith("text/html"):
            return
        body = await response.beginning(_LARGEST_ERROR)
        if response.status == 200:
            raise ProviderError(
                f"{self._base} is no model service: it sent a web page; check ANTHROPIC_BASE_URL."
            )
        if response.status == 401:
            self._keys.refused()
        raise errors.refusal(response.status, response.headers, body, model=request.model, url=self._base)

    def _fault(self, fault: HttpFault, response: Response | None) -> ProviderError:
        if response is None:
            return errors.unreachable(fault, url=self._base)
        return errors.broken(fault, request_id=errors.request_id(response.headers))


_OPENING = frozenset({"x-api-key", "authorization"})


async def _frames(response: Response) -> AsyncGenerator[bytes, None]:
    """The data of each event, also of an answer that came whole."""
    if response.headers.get("content-type", "").startswith("application/json"):
        for data in stream_of(_whole(await response.read())):
            yield data
        return
    reader = EventReader()
    async for chunk in response:
        for _, data in reader.feed(chunk):
            yield data
    for _, data in reader.finish():
        yield data


def _whole(body: bytes) -> dict[str, Any]:
    try:
        message: Any = from_json(body)
    except (DecodeError, UnicodeDecodeError) as error:
        raise StreamBroken(
            f"The service sent an answer that is not JSON: {error}.", retryable=True
        ) from error
    if not isinstance(message, dict) or not isinstance(message.get("content"), list):
        raise StreamBroken("The service sent something that is not an answer; check ANTHROPIC_BASE_URL.")
    return message


def _token_count(body: bytes) -> int:
    try:
        return from_json(body, type=_Count).input_tokens
    except (DecodeError, UnicodeDecodeError) as error:
        raise ProviderError(f"The service did not count the tokens: {error}.") from error


class _Count(Struct):
    input_tokens: int


class _Listed(Struct):
    id: str


class _Listing(Struct):
    data: list[_Listed]


def _credentials(env: Mapping[str, str]) -> dict[str, str]:
    headers: dict[str, str] = {}
    if key := env.get("ANTHROPIC_API_KEY", "").strip():
        headers["x-api-key"] = key
    if token := env.get("ANTHROPIC_AUTH_TOKEN", "").strip():
        headers["authorization"] = f"Bearer {token}"
    return headers | dict(custom_headers(env))


def _is_home(base: str) -> bool:
    """Whether an address is one of Anthropic's own."""
    if base == _HOME:
        return True
    host = base.partition("://")[2].partition("/")[0].partition(":")[0].lower()
    return f".{host}".endswith(_OWN_HOSTS)


def _checked(base: str) -> str:
    """The address of the service.

    Raises:
        ConfigError: the variable names none.
    """
    if base == _HOME:
        return base
    from bridle.providers import url_parts  # Only those with a gateway need it.

    return url_parts.base(base, name="ANTHROPIC_BASE_URL")
