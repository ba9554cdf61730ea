"""Asks a vendor's service something that costs nothing: whether it takes a key, and which models it has."""

from collections.abc import Mapping
from typing import Any

from msgspec import DecodeError
from msgspec.json import decode as from_json

from bridle.host.http.client import HttpClient, HttpFault, Limits, Request
from bridle.providers import refusals
from bridle.providers.dialects.messages import VERSION
from bridle.providers.http_provider import ServiceEndpoint
from bridle.providers.vendor import Vendor
from bridle.types.errors import ProviderError
from bridle.version import __version__

_LIMITS = Limits(idle=20.0, total=30.0, body=8 * 1024 * 1024)
_ASKED = {"openrouter": "/key", "bedrock": "", "vertex": ""}
"""Requests to vendors whose list of models needs no key, or who have none."""


async def verify(place: ServiceEndpoint, key: str) -> bool:
    """Whether the service takes the key; False when it has nothing that could be asked for free.

    Raises:
        ProviderError: it does not take the key, or cannot be reached.
    """
    path = _ASKED.get(place.vendor.name, "/models")
    if not path or not place.base:
        return False
    await _get(place, key_header(place.vendor, key), path)
    return True


async def organization(place: ServiceEndpoint, key: str) -> str | None:
    """The id of the organization that a key of Anthropic's service belongs to, None when it does not say.

    Raises:
        ProviderError: the service does not take the key, or cannot be reached.
    """
    headers, _ = await _fetch(place, key_header(place.vendor, key), "/models")
    return headers.get("anthropic-organization-id")


async def list_models(
    place: ServiceEndpoint, opening: Mapping[str, str], *, query: str = "", limits: Limits = _LIMITS
) -> tuple[str, ...]:
    """The ids of the models that the service has, asked with headers that open it.

    Raises:
        ProviderError: it does not say.
    """
    found = await _get(place, opening, f"/models{query}", limits)
    rows: Any = found.get("data") or found.get("models") if isinstance(found, dict) else found
    if not isinstance(rows, list):
        raise ProviderError(refusals.no_service(place.vendor, place.base))
    names = (row.get("id") or row.get("name") for row in rows if isinstance(row, dict))
    return tuple(name for name in names if isinstance(name, str))


def key_header(vendor: Vendor, key: str) -> dict[str, str]:
    """The header that a vendor wants its key in."""
    if not key:
        return {}
    return {vendor.key_header: f"Bearer {key}" if vendor.key_header == "authorization" else key}


async def _get(
    place: ServiceEndpoint, opening: Mapping[str, str], path: str, limits: Limits = _LIMITS
) -> Any:
    _, body = await _fetch(place, opening, path, limits)
    try:
        return from_json(body)
    except (DecodeError, UnicodeDecodeError) as error:
        raise ProviderError(refusals.no_service(place.vendor, place.base)) from error


async def _fetch(
    place: ServiceEndpoint, opening: Mapping[str, str], path: str, limits: Limits = _LIMITS
) -> tuple[dict[str, str], bytes]:
    vendor = place.vendor
    headers = {"accept": "application/json", "user-agent": f"bridle/{__version__}", **dict(vendor.headers)}
    if vendor.dialect == "anthropic":
        path = f"/v1{path}"
        headers["anthropic-version"] = VERSION
    sent = tuple((headers | dict(opening)).items())
    client = HttpClient(place.env)
    try:
        async with client.send(Request("GET", place.base + path, sent), limits) as response:
            body = await response.read()
            if response.status != 200:
                raise refusals.refusal(
                    response.status, response.headers, body, model="", vendor=vendor, base=place.base
                )
            return response.headers, body
    except HttpFault as fault:
        raise refusals.unreachable(fault, vendor=vendor, base=place.base) from fault
    finally:
        await client.close()
