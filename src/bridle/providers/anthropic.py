"""The dialect of the Anthropic Messages API, spoken over HTTP."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, suppress
from typing import Any

from msgspec import DecodeError, Struct
from msgspec.json import decode as from_json

from bridle.host.http.client import HttpClient, HttpFault, Limits, Request, Response
from bridle.providers import anthropic_errors as errors
from bridle.providers.anthropic_request import CacheLife, betas, encode, encode_for_counting
from bridle.providers.anthropic_stream import Decoder, stream_of
from bridle.providers.keys import Keys
from bridle.providers.limits import limit_of
from bridle.providers.sse import EventReader
from bridle.types.errors import ConfigError, ProviderError, StreamBroken
from bridle.types.model import Completed, LimitTold, ModelEvent, ModelRequest
from bridle.version import __version__

__all__ = ["AnthropicProvider", "Decoder", "encode"]

_HOME = "https://api.anthropic.com"
_OWN_PREFIX = "anthropic/"
_IDLE_MS = 90_000
_WHOLE_ANSWER_MS = 600_000
_LARGEST_ANSWER = 64 * 1024 * 1024
_LARGEST_ERROR = 64 * 1024
_REST = 0.25
"""Seconds that the end of a response may lag behind the end of the answer in it."""
_ON = ("1", "true")


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
        self._base = (env.get("ANTHROPIC_BASE_URL") or _HOME).rstrip("/")
        self._client = client or HttpClient(env)

    async def warm_up(self, model: str) -> None:
        """Connect to the service ahead of the first request; without credentials there will be none."""
        del model
        if _credentials(self._env):
            await self._client.warm_up(self._base)

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        body = encode(
            request,
            cache=self._cache_life(request.model),
            experimental=not self._is_plain,
            served=self._served(request),
        )
        completed: Completed | None = None
        response: Response | None = None
        try:
            sent = await self._post("/v1/messages?beta=true", request, body)
            async with self._client.send(sent, self._limits(request)) as response:
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

    async def count_tokens(self, request: ModelRequest) -> int:
        """How many tokens the service counts in the prompt of `request`.

        Raises:
            ProviderError: the service cannot be asked or does not count.
        """
        limits = Limits(idle=_IDLE_MS / 1000, total=_IDLE_MS / 1000, body=_LARGEST_ERROR)
        try:
            body = encode_for_counting(request)
            sent = await self._post("/v1/messages/count_tokens?beta=true", request, body)
            async with self._client.send(sent, limits) as response:
                await self._check(response, request)
                return _token_count(await response.read())
        except HttpFault as fault:
            raise errors.unreachable(fault, url=self._base) from fault
        except ConfigError as error:
            raise ProviderError(str(error)) from error

    async def close(self) -> None:
        await self._client.close()

    @property
    def _is_plain(self) -> bool:
        return self._env.get("CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS") in _ON

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
            "anthropic-version": "2023-06-01",
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
        return Request("POST", self._base + path, tuple(headers.items()), body)

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
        wanted += (name.strip() for name in self._env.get("ANTHROPIC_BETAS", "").split(","))
        if self._env.get("DISABLE_INTERLEAVED_THINKING") in _ON:
            wanted = [name for name in wanted if not name.startswith("interleaved-thinking-")]
        return [name for name in dict.fromkeys(wanted) if name]

    def _cache_life(self, model: str) -> CacheLife | None:
        off = ["DISABLE_PROMPT_CACHING"]
        off += (f"DISABLE_PROMPT_CACHING_{name.upper()}" for name in _FAMILIES if name in model)
        if any(self._env.get(name) in _ON for name in off):
            return None
        long = self._env.get("ENABLE_PROMPT_CACHING_1H") in _ON
        return "1h" if long and self._env.get("FORCE_PROMPT_CACHING_5M") not in _ON else "5m"

    def _limits(self, request: ModelRequest) -> Limits:
        whole = _seconds(self._env, "API_TIMEOUT_MS", _WHOLE_ANSWER_MS)
        if not request.stream:
            return Limits(idle=whole, total=whole, body=_LARGEST_ANSWER)
        return Limits(idle=min(_seconds(self._env, "CLAUDE_STREAM_IDLE_TIMEOUT_MS", _IDLE_MS), whole))

    async def _check(self, response: Response, request: ModelRequest) -> None:
        if response.status == 200 and not response.headers.get("content-type", "").startswith("text/html"):
            return
        body = await _start_of(response)
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
_FAMILIES = ("sonnet", "opus", "haiku", "fable")


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


def _token_count(body: bytes) -> int:
    try:
        return from_json(body, type=_Count).input_tokens
    except (DecodeError, UnicodeDecodeError) as error:
        raise ProviderError(f"The service did not count the tokens: {error}.") from error


class _Count(Struct):
    input_tokens: int


def _credentials(env: Mapping[str, str]) -> dict[str, str]:
    headers: dict[str, str] = {}
    if key := env.get("ANTHROPIC_API_KEY", "").strip():
        headers["x-api-key"] = key
    if token := env.get("ANTHROPIC_AUTH_TOKEN", "").strip():
        headers["authorization"] = f"Bearer {token}"
    for line in env.get("ANTHROPIC_CUSTOM_HEADERS", "").splitlines():
        name, colon, value = line.partition(":")
        if colon and name.strip():
            headers[name.strip().lower()] = value.strip()
    return headers


def _seconds(env: Mapping[str, str], name: str, otherwise: int) -> float:
    given = env.get(name, "")
    return (int(given) if given.isdecimal() and int(given) > 0 else otherwise) / 1000
