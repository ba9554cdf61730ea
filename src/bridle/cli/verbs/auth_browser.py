"""Gets a key from OpenRouter by way of the browser, in the flow that it has for any program."""

import asyncio
import hmac
from collections.abc import Callable, Mapping
from urllib.parse import urlencode

from msgspec import DecodeError, Struct
from msgspec.json import decode as from_json
from msgspec.json import encode as to_json

from bridle.host.browser import open_page
from bridle.host.http.client import HttpClient, HttpFault, Limits, Request
from bridle.mcp.auth.callback import Callback
from bridle.mcp.auth.pkce import challenge_of, new_secret
from bridle.providers import refusals
from bridle.providers.http_provider import ServiceEndpoint
from bridle.types.errors import ProviderError
from bridle.types.variables import is_on

_PATIENCE = 300.0
_LIMITS = Limits(idle=20.0, total=30.0, body=64 * 1024)
_API = "/api/v1"


class _Granted(Struct):
    key: str


async def fetch_key(
    place: ServiceEndpoint, tell: Callable[[str], object], *, patience: float = _PATIENCE
) -> str:
    """Send the user to the page of the service, and exchange what comes back for a key.

    Raises:
        ProviderError: the login took too long, belongs to another request, or was refused.
    """
    verifier, state = new_secret(), new_secret()
    async with Callback() as callback:
        back = f"{callback.redirect_uri}?{urlencode({'state': state})}"
        asked = {
            "callback_url": back,
            "code_challenge": challenge_of(verifier),
            "code_challenge_method": "S256",
        }
        page = f"{place.base.removesuffix(_API)}/auth?{urlencode(asked)}"
        tell(f"Log in on this page:\n  {page}\n")
        await asyncio.to_thread(_open, page, place.env)
        try:
            async with asyncio.timeout(patience):
                found = await callback.visited()
        except TimeoutError as error:
            raise ProviderError(f"No login within {patience:g} s; try again.") from error
    return await _exchange(place, _code(found, state), verifier)


def _code(found: Mapping[str, str], state: str) -> str:
    # The service may drop what it does not know; the verifier ties the code to us all the same.
    if not hmac.compare_digest(found.get("state", state).encode(), state.encode()):
        raise ProviderError("The answer is for a different login; try again.")
    if not (code := found.get("code", "")):
        raise ProviderError("The login was refused; try again, or use an API key.")
    return code


async def _exchange(place: ServiceEndpoint, code: str, verifier: str) -> str:
    body = to_json({"code": code, "code_verifier": verifier, "code_challenge_method": "S256"})
    request = Request("POST", f"{place.base}/auth/keys", (("content-type", "application/json"),), body)
    client = HttpClient(place.env)
    try:
        async with client.send(request, _LIMITS) as response:
            answer = await response.read()
            if response.status != 200:
                raise refusals.refusal(
                    response.status, response.headers, answer, model="", vendor=place.vendor, base=place.base
                )
    except HttpFault as fault:
        raise refusals.unreachable(fault, vendor=place.vendor, base=place.base) from fault
    finally:
        await client.close()
    try:
        return from_json(answer, type=_Granted).key
    except (DecodeError, UnicodeDecodeError) as error:
        raise ProviderError(f"{place.vendor.label} returned no key: {error}.") from error


def _open(page: str, env: Mapping[str, str]) -> None:
    """Open the page where there is a browser; who has none follows the printed address."""
    if is_on(env, "BRIDLE_NO_BROWSER"):
        return
    open_page(page, env)
