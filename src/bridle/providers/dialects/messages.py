"""The dialect of the Messages API: Anthropic's service, gateways in its place, and others who speak it."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import DecodeError
from msgspec.json import decode as from_json
from msgspec.structs import replace

from bridle.host.http.client import Request
from bridle.providers.dialects.messages_request import betas, cache_life, encode
from bridle.providers.dialects.messages_stream import Decoder, broken, stream_of
from bridle.providers.dialects.on_demand import BETA, takes_references
from bridle.providers.dialects.sse import SseReading
from bridle.providers.facts import Model
from bridle.providers.http_provider import Reading, ServiceEndpoint, admitted_by_key
from bridle.providers.keys import Keys, custom_headers
from bridle.providers.vendor import HOME
from bridle.types.errors import ProviderError, StreamBroken
from bridle.types.model import ModelEvent, ModelRequest
from bridle.types.variables import is_on

VERSION = "2023-06-01"
_OWN_HOSTS = (".anthropic.com", ".claude.ai")
_OWN_PREFIX = "anthropic/"
_LONG = "[1m]"
_OPENING = frozenset({"x-api-key", "authorization"})
_REFERENCES = "(?i)tool.?reference|defer.?loading|advanced-tool-use|item type in content"
"""What a service that knows no references to tools names when it refuses a request."""


class MessagesDialect:
    """Speaks to any service that has `/v1/messages`; it keeps whether its service refused references."""

    def __init__(self) -> None:
        self._refused_references = False

    def request(self, asked: ModelRequest, model: Model, place: ServiceEndpoint) -> Request:
        vendor = place.vendor
        body = encode(
            asked,
            cache=cache_life(place.env, asked.model),
            experimental=_is_experimental(place),
            served={"model": _wire_name(asked, model, place), "stream": asked.stream},
            images=model.images and vendor.quirks.images,
            references=self._refers(asked, place),
        )
        headers = [("anthropic-version", VERSION)]
        if vendor.is_home and asked.session_id is not None:
            headers.append(("x-claude-code-session-id", asked.session_id))
        if wanted := self._betas(asked, place):
            headers.append(("anthropic-beta", ",".join(wanted)))
        path = "/v1/messages?beta=true" if vendor.is_home else "/v1/messages"
        return Request("POST", _checked(place) + path, tuple(headers), body)

    async def admitted(self, request: Request, place: ServiceEndpoint) -> Request:
        if not place.vendor.is_home:
            return admitted_by_key(request, place)
        headers = dict(request.headers) | await home_headers(place)
        if not headers.keys() & _OPENING:
            from bridle.providers import refusals

            raise ProviderError(refusals.no_key(place.vendor, place.env), kind="authentication_failed")
        return replace(request, headers=tuple(headers.items()))

    async def recovered(self, error: ProviderError, asked: ModelRequest, place: ServiceEndpoint) -> bool:
        """Leave references to tools out from now on, where the service does not know them after all."""
        if error.status is None or not self._refers(asked, place) or not re.search(_REFERENCES, str(error)):
            return False
        self._refused_references = True
        return True

    def reading(self, asked: ModelRequest, place: ServiceEndpoint, request_id: str | None) -> Reading:
        return SseReading(MessagesDecoder(None if place.vendor.is_home else asked.model, request_id))

    def _refers(self, asked: ModelRequest, place: ServiceEndpoint) -> bool:
        """Whether tools that were loaded are sent as references: at home, or where the user says so."""
        if not place.vendor.is_home or self._refused_references or not _is_experimental(place):
            return False
        wanted = _is_own(place.base) or bool(place.env.get("ENABLE_TOOL_SEARCH", "").strip())
        return wanted and takes_references(asked)

    def _betas(self, asked: ModelRequest, place: ServiceEndpoint) -> list[str]:
        env = place.env
        wanted = betas(asked) if _is_experimental(place) else list(asked.betas)
        if not place.vendor.is_home:
            return wanted
        if self._refers(asked, place):
            wanted.append(BETA)
        wanted += (name.strip() for name in env.get("ANTHROPIC_BETAS", "").split(","))
        if is_on(env, "CLAUDE_CODE_ENABLE_FINE_GRAINED_TOOL_STREAMING") and asked.tools:
            wanted.append("fine-grained-tool-streaming-2025-05-14")
        if is_on(env, "DISABLE_INTERLEAVED_THINKING"):
            wanted = [name for name in wanted if not name.startswith("interleaved-thinking-")]
        return [name for name in dict.fromkeys(wanted) if name]


class MessagesDecoder:
    """The events of a Messages API stream, signed with the name that we know the model by, if given."""

    __slots__ = ("_decoder",)

    def __init__(self, model: str | None, request_id: str | None) -> None:
        self._decoder = Decoder(request_id, model=model)

    def feed(self, data: bytes) -> Sequence[ModelEvent]:
        event = self._decoder.feed(data)
        return () if event is None else (event,)

    def finish(self) -> Sequence[ModelEvent]:
        return ()

    def whole(self, body: bytes) -> Sequence[ModelEvent]:
        try:
            message: Any = from_json(body)
        except (DecodeError, UnicodeDecodeError) as error:
            raise broken(f"The service sent an answer that is not JSON: {error}.") from error
        if not isinstance(message, dict) or not isinstance(message.get("content"), list):
            raise StreamBroken("The service sent an invalid response. Check its address.")
        return [event for data in stream_of(message) for event in self.feed(data)]


def home_place(env: Mapping[str, str], keys: Keys) -> ServiceEndpoint:
    """Anthropic's service, or the gateway that a variable names in its place."""
    base = (env.get("ANTHROPIC_BASE_URL", "").strip() or HOME.url).rstrip("/")
    vendor = HOME if base == HOME.url else replace(HOME, label="the service")
    return ServiceEndpoint(vendor, env, base, keys=keys)


async def home_headers(place: ServiceEndpoint) -> dict[str, str]:
    """What opens Anthropic's service: variables, else the user's helper, else a login.

    Raises:
        ProviderError: the helper gives no key.
        ConfigError: what was saved cannot be read.
    """
    env, keys = place.env, place.keys
    headers: dict[str, str] = {}
    if key := env.get("ANTHROPIC_API_KEY", "").strip():
        headers["x-api-key"] = key
    if token := env.get("ANTHROPIC_AUTH_TOKEN", "").strip():
        headers["authorization"] = f"Bearer {token}"
    headers |= dict(custom_headers(env))
    if headers.keys() & _OPENING or keys is None:
        return headers
    if key := await keys.helped():
        return {**headers, "x-api-key": key, "authorization": f"Bearer {key}"}
    if key := await keys.kept("anthropic", place.base):
        return {**headers, "x-api-key": key}
    return headers


def _is_experimental(place: ServiceEndpoint) -> bool:
    off = place.vendor.is_home and is_on(place.env, "CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS")
    return place.vendor.quirks.experimental and not off


def _wire_name(asked: ModelRequest, model: Model, place: ServiceEndpoint) -> str:
    """The name without its vendor, where the vendor is at home; gateways may want it with."""
    given = asked.model.removesuffix(_LONG)
    behind_gateway = place.vendor.is_home and place.base != HOME.url
    return given if behind_gateway and model.wire_name == given.removeprefix(_OWN_PREFIX) else model.wire_name


def _is_own(base: str) -> bool:
    """Whether an address is one of Anthropic's own."""
    host = base.partition("://")[2].partition("/")[0].partition(":")[0].lower()
    return f".{host}".endswith(_OWN_HOSTS)


def _checked(place: ServiceEndpoint) -> str:
    """The address of the service.

    Raises:
        ConfigError: the variable names none.
    """
    if not place.vendor.is_home or place.base == HOME.url:
        return place.base
    from bridle.providers import url_parts  # Only those with a gateway need it.

    return url_parts.base(place.base, name="ANTHROPIC_BASE_URL")
