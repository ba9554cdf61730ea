"""The dialect of Amazon Bedrock: Messages API or Converse in binary frames, behind a signature or a key."""

import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

from msgspec import DecodeError, Struct, field
from msgspec.json import Decoder as JsonDecoder
from msgspec.structs import replace

from bridle.host.http.client import Request
from bridle.providers import catalog, refusals
from bridle.providers.credentials.aws import CredentialChain, region_of, signed
from bridle.providers.dialects import converse
from bridle.providers.dialects.answer_builder import unreadable
from bridle.providers.dialects.aws_event_stream import MessageReader
from bridle.providers.dialects.converse_stream import KINDS
from bridle.providers.dialects.converse_stream import Decoder as ConverseDecoder
from bridle.providers.dialects.messages import MessagesDecoder
from bridle.providers.dialects.messages_request import betas, cache_life, encode
from bridle.providers.dialects.messages_stream import Decoder
from bridle.providers.facts import Model
from bridle.providers.http_provider import Reading, ServiceEndpoint, is_stale
from bridle.providers.vendor import Vendor
from bridle.types.errors import ProviderError
from bridle.types.model import ModelEvent, ModelRequest
from bridle.types.variables import is_on

_VERSION = "bedrock-2023-05-31"
_PREFIXES = {"us": "us", "eu": "eu", "ap": "apac", "ca": "us", "sa": "us"}
_DATED: Mapping[str, str] = {
    "claude-sonnet-4-5": "claude-sonnet-4-5-20250929-v1:0",
    "claude-sonnet-4": "claude-sonnet-4-20250514-v1:0",
    "claude-haiku-4-5": "claude-haiku-4-5-20251001-v1:0",
    "claude-opus-4-6": "claude-opus-4-6-v1",
    "claude-opus-4-5": "claude-opus-4-5-20251101-v1:0",
    "claude-opus-4-1": "claude-opus-4-1-20250805-v1:0",
    "claude-opus-4": "claude-opus-4-20250514-v1:0",
    "claude-3-7-sonnet": "claude-3-7-sonnet-20250219-v1:0",
    "claude-3-5-sonnet": "claude-3-5-sonnet-20241022-v2:0",
    "claude-3-5-haiku": "claude-3-5-haiku-20241022-v1:0",
}
"""Models whose name here has a date or a version; the others have their plain name."""


class BedrockDialect:
    """Speaks to Bedrock's runtime: about Anthropic's models in their own words, about others in Converse."""

    def __init__(self) -> None:
        self._chain = CredentialChain()

    def request(self, asked: ModelRequest, model: Model, place: ServiceEndpoint) -> Request:
        env = place.env
        if _is_anthropic(model):
            name, verb = served_name(model.wire_name, env), "invoke-with-response-stream"
            body, headers = _messages_body(asked, env), _tier(env)
        else:
            name, verb = model.wire_name, "converse-stream"
            body, headers = converse.encode(asked, model, env), ()
        accepted = "application/vnd.amazon.eventstream" if asked.stream else "application/json"
        action = verb if asked.stream else verb.partition("-")[0]
        url = f"{_host(asked, place)}/model/{_quoted(name)}/{action}"
        return Request("POST", url, (("accept", accepted), *headers), body)

    async def admitted(self, request: Request, place: ServiceEndpoint) -> Request:
        if is_on(place.env, place.vendor.unguarded_env):
            return request
        if place.key:
            return replace(request, headers=(*request.headers, ("authorization", f"Bearer {place.key}")))
        credentials = await self._chain.find(place.env, place.commands)
        region = _REGION.search(request.url)
        where = region[1] if region is not None else region_of(place.env)
        return signed(request, credentials, region=where, service="bedrock")

    async def recovered(self, error: ProviderError, asked: ModelRequest, place: ServiceEndpoint) -> bool:
        del asked
        stale = is_stale(error) and not place.key
        return stale and await self._chain.renewed(place.env, place.commands)

    def reading(self, asked: ModelRequest, place: ServiceEndpoint, request_id: str | None) -> Reading:
        return EventStreamReading(asked.model, place.vendor, request_id)


_REGION = re.compile(r"^https://bedrock-runtime\.([\w-]+)\.amazonaws\.com/")


def _is_anthropic(model: Model) -> bool:
    """Whether a model is asked in Anthropic's words; an ARN alone does not tell whose it is."""
    name = f"{model.id} {model.wire_name}".lower()
    return model.vendor == "anthropic" or "claude" in name or "anthropic." in name


def _messages_body(asked: ModelRequest, env: Mapping[str, str]) -> bytes:
    served: dict[str, Any] = {"anthropic_version": _VERSION}
    if wanted := betas(asked):
        served["anthropic_beta"] = wanted
    return encode(asked, served=served, cache=cache_life(env, asked.model, bedrock=True))


def _tier(env: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    tier = env.get("ANTHROPIC_BEDROCK_SERVICE_TIER")
    return (("x-amzn-bedrock-service-tier", tier),) if tier else ()


def _host(asked: ModelRequest, place: ServiceEndpoint) -> str:
    """The address of the service; the small model may be in a region of its own."""
    env, base = place.env, place.base
    region = env.get("ANTHROPIC_SMALL_FAST_MODEL_AWS_REGION")
    if region and base == base_url(env) and asked.model == catalog.small_model(env):
        return base_url({**env, "AWS_REGION": region})
    return base


def base_url(env: Mapping[str, str]) -> str:
    """The address of the runtime in the region of the environment."""
    return f"https://bedrock-runtime.{region_of(env)}.amazonaws.com"


def served_name(name: str, env: Mapping[str, str]) -> str:
    """The inference profile of a model; a name that is Bedrock's own already stays as it is."""
    if "anthropic." in name or name.startswith("arn:"):
        return name
    usual = _PREFIXES.get(region_of(env).partition("-")[0], "global")
    prefix = env.get("ANTHROPIC_BEDROCK_REGION_PREFIX") or usual
    known = catalog.normal(name)
    return f"{prefix}.anthropic.{_DATED.get(known, known)}"


class EventStreamReading:
    """Takes the events of either stream out of their binary frames; which it is, the first of them tells."""

    __slots__ = ("_converse", "_decoder", "_model", "_reader", "_request_id", "_vendor")

    def __init__(self, model: str, vendor: Vendor, request_id: str | None) -> None:
        self._decoder = Decoder(request_id, model=model)
        self._converse = ConverseDecoder(model, request_id)
        self._reader = MessageReader()
        self._model = model
        self._vendor = vendor
        self._request_id = request_id

    def feed(self, chunk: bytes) -> Iterable[ModelEvent]:
        decode, feed = _CHUNKS.decode, self._decoder.feed
        usual: dict[str, str] | None = None
        kind = ""
        for headers, payload in self._reader.feed(chunk):
            if headers is not usual:
                usual, kind = headers, headers.get(":event-type", "")
            if kind == "chunk":
                try:
                    event = feed(decode(payload).data)
                except DecodeError as error:
                    raise unreadable(error) from error
                if event is not None:
                    yield event
            elif kind in KINDS:
                yield from self._converse.feed(kind, payload)
            else:
                self._check(headers, payload)

    def finish(self) -> Iterable[ModelEvent]:
        return self._converse.finish()

    def whole(self, body: bytes) -> Iterable[ModelEvent]:
        try:
            response: Any = _VALUES.decode(body)
        except DecodeError as error:
            raise unreadable(error) from error
        if isinstance(response, dict) and "output" in response:
            return self._converse.whole(response)
        return MessagesDecoder(self._model, self._request_id).whole(body)

    def _check(self, headers: dict[str, str], payload: bytes) -> None:
        """Raise what a message reports; those of unknown kinds are new features, not faults."""
        if headers.get(":message-type") not in ("exception", "error"):
            return
        name = headers.get(":exception-type") or headers.get(":error-code") or "error"
        try:
            said: Any = _VALUES.decode(payload)
        except DecodeError:
            said = {}
        words = said.get("message") if isinstance(said, dict) else None
        text = words or headers.get(":error-message") or name
        error = {"message": text, "type": name, "code": _STATUSES.get(name.lower(), 500)}
        raise refusals.reported(
            error,
            model=self._model,
            vendor=self._vendor,
            begun=self._decoder.begun or self._converse.begun,
            request_id=self._request_id,
        )


_STATUSES = {
    "throttlingexception": 429,
    "servicequotaexceededexception": 429,
    "validationexception": 400,
    "accessdeniedexception": 403,
    "resourcenotfoundexception": 404,
    "modelnotreadyexception": 503,
    "modeltimeoutexception": 504,
    "serviceunavailableexception": 503,
    "modelstreamerrorexception": 500,
    "internalserverexception": 500,
}


class _Chunk(Struct, gc=False):
    data: bytes = field(name="bytes")
    """A field with the name of its type cannot be resolved where annotations are read late (Python 3.14)."""


_CHUNKS = JsonDecoder(_Chunk)
_VALUES: JsonDecoder[Any] = JsonDecoder()


def _quoted(name: str) -> str:
    return quote(name, safe="-_.~")
