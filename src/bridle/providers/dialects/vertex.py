"""The dialect of Google Vertex AI: Anthropic's and Google's models behind one address and one token."""

from collections.abc import Mapping

from msgspec.structs import replace

from bridle.host.http.client import Request
from bridle.providers import catalog, url_parts
from bridle.providers.credentials.google import TokenChain
from bridle.providers.dialects.gemini import GeminiDialect, verb
from bridle.providers.dialects.messages import MessagesDecoder
from bridle.providers.dialects.messages_request import betas, cache_life, encode
from bridle.providers.dialects.sse import SseReading
from bridle.providers.facts import Model
from bridle.providers.http_provider import Reading, ServiceEndpoint, is_stale
from bridle.types.errors import ProviderError
from bridle.types.model import ModelRequest
from bridle.types.variables import is_on

_VERSION = "vertex-2023-10-16"
_DATES: Mapping[str, str] = {
    "claude-sonnet-4-5": "20250929",
    "claude-sonnet-4": "20250514",
    "claude-haiku-4-5": "20251001",
    "claude-opus-4-5": "20251101",
    "claude-opus-4-1": "20250805",
    "claude-opus-4": "20250514",
    "claude-3-7-sonnet": "20250219",
    "claude-3-5-sonnet": "20241022",
    "claude-3-5-haiku": "20241022",
}
_PROJECTS = ("GOOGLE_CLOUD_PROJECT", "GCLOUD_PROJECT", "ANTHROPIC_VERTEX_PROJECT_ID")
_NO_PROJECT = "Vertex AI needs a project: set ANTHROPIC_VERTEX_PROJECT_ID or GOOGLE_CLOUD_PROJECT."


class VertexDialect:
    """Speaks to Vertex about models of both families."""

    def __init__(self) -> None:
        self._tokens = TokenChain()
        self._gemini = GeminiDialect()

    def request(self, asked: ModelRequest, model: Model, place: ServiceEndpoint) -> Request:
        env, name = place.env, model.wire_name
        project = next((env[key] for key in _PROJECTS if env.get(key)), None)
        if project is None:
            raise ProviderError(_NO_PROJECT, kind="authentication_failed")
        region = region_of(env, name)
        root = f"{_host(place, region)}/projects/{url_parts.project(project)}/locations/{region}/publishers"
        if "claude" not in name:
            body = self._gemini.body(asked, model)
            return Request("POST", f"{root}/google/models/{url_parts.model(name)}:{verb(asked)}", (), body)
        served = {"anthropic_version": _VERSION, "stream": asked.stream}
        headers = (("anthropic-beta", ",".join(wanted)),) if (wanted := betas(asked)) else ()
        action = "streamRawPredict" if asked.stream else "rawPredict"
        url = f"{root}/anthropic/models/{url_parts.model(served_name(name))}:{action}"
        return Request("POST", url, headers, encode(asked, served=served, cache=cache_life(env, asked.model)))

    async def admitted(self, request: Request, place: ServiceEndpoint) -> Request:
        if is_on(place.env, place.vendor.unguarded_env):
            return request
        token = await self._tokens.find(place.env)
        return replace(request, headers=(*request.headers, ("authorization", f"Bearer {token}")))

    async def recovered(self, error: ProviderError, asked: ModelRequest, place: ServiceEndpoint) -> bool:
        del asked
        return is_stale(error) and await self._tokens.renewed(place.env, place.commands)

    def reading(self, asked: ModelRequest, place: ServiceEndpoint, request_id: str | None) -> Reading:
        if "claude" in asked.model:
            return SseReading(MessagesDecoder(asked.model, request_id))
        return self._gemini.reading(asked, place, request_id)


def region_of(env: Mapping[str, str], name: str) -> str:
    """Where a model is asked: its own variable, then the one for all."""
    own = (env[variable] for variable in _variables(catalog.normal(name)) if env.get(variable))
    return url_parts.region(next(own, None) or env.get("CLOUD_ML_REGION") or "global")


def served_name(name: str) -> str:
    """The name with its date, for models that are known here by date alone."""
    known = catalog.normal(name)
    return f"{known}@{_DATES[known]}" if "@" not in name and known in _DATES else name


def base_url(env: Mapping[str, str]) -> str:
    """The address for all regions; a request goes to that of its own."""
    return _address(url_parts.region(env.get("CLOUD_ML_REGION") or "global"))


def _host(place: ServiceEndpoint, region: str) -> str:
    named = any(place.env.get(name) for name in place.vendor.url_env)
    return place.base if named else _address(region)


def _address(region: str) -> str:
    match region:
        case "global":
            return "https://aiplatform.googleapis.com/v1"
        case "us" | "eu":
            return f"https://aiplatform.{region}.rep.googleapis.com/v1"
        case _:
            return f"https://{region}-aiplatform.googleapis.com/v1"


def _variables(name: str) -> tuple[str, ...]:
    """Names of a model's own variable: in some the version comes first, and may end in a zero."""
    head, *words = name.upper().split("-")
    version = [word for word in words if word.isdigit()]
    family = [word for word in words if not word.isdigit()]
    forms = (words, [*version, *family], [*version, "0", *family])
    return tuple("_".join(("VERTEX_REGION", head, *form)) for form in forms)
