"""The part of a login that a person does in a browser: from the page to the code."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import urlencode

from msgspec import Struct

from bridle.host.first_answer import first_answer
from bridle.mcp.auth.callback import Callback, HostCallback, read_parameters
from bridle.mcp.auth.errors import LoginFailed
from bridle.mcp.auth.metadata import ServerMetadata
from bridle.mcp.auth.pkce import challenge_of, new_secret, require_s256

_PATIENCE = 300.0


class BrowserLogin(Struct, frozen=True, kw_only=True):
    """How a person is brought to a page, and back."""

    open_page: Callable[[str], Awaitable[None]]
    """Opens the page, or tells the person where it is."""
    pasted: Callable[[], Awaitable[str]] | None = None
    """Waits until the person hands over the address that the browser ended at."""
    patience: float = _PATIENCE
    redirect_uri: str | None = None
    """Where the browser ends, when a host waits for it there and hands the address over."""


class AuthorizationCode(Struct, frozen=True):
    """What the visit was for."""

    value: str
    verifier: str


async def fetch_code(
    visit: BrowserLogin,
    server: ServerMetadata,
    callback: Callback | HostCallback,
    *,
    client_id: str,
    scope: str | None,
    audience: str | None,
    extra: Mapping[str, str] | None = None,
) -> AuthorizationCode:
    """Send the person to the authorization server and take the code that it sends back.

    Raises:
        LoginFailed: the person refused or did not come back, or the answer is not to our question.
    """
    if not server.authorization_endpoint:
        raise LoginFailed(f"{server.issuer} has no login page.")
    require_s256(server)
    verifier, state = new_secret(), new_secret()
    fields = {
        "response_type": "code",
        "client_id": client_id,
        "redirect_uri": callback.redirect_uri,
        "state": state,
        "code_challenge": challenge_of(verifier),
        "code_challenge_method": "S256",
        **({"scope": scope} if scope else {}),
        **({"resource": audience} if audience else {}),
        **(extra or {}),
    }
    if scope and "offline_access" in scope.split():
        fields["prompt"] = "consent"
    joint = "&" if "?" in server.authorization_endpoint else "?"
    await visit.open_page(f"{server.authorization_endpoint}{joint}{urlencode(fields)}")
    found = await _come_back(visit, callback)
    return AuthorizationCode(_code(found, state, server), verifier)


async def _come_back(visit: BrowserLogin, callback: Callback | HostCallback) -> Mapping[str, str]:
    """Whichever comes first: the browser at our page, or the address in the person's own hand."""
    ways = [callback.visited(), *([] if visit.pasted is None else [_read(visit.pasted)])]
    try:
        async with asyncio.timeout(visit.patience):
            return await first_answer(*ways)
    except TimeoutError:
        raise LoginFailed(f"The login timed out after {visit.patience:g} s. Try again.") from None


async def _read(pasted: Callable[[], Awaitable[str]]) -> Mapping[str, str]:
    found = read_parameters(await pasted())
    if "code" not in found and "error" not in found:
        raise LoginFailed("Not the final URL of the login: it must contain a code.")
    return found


def _code(found: Mapping[str, str], state: str, server: ServerMetadata) -> str:
    import hmac

    if not hmac.compare_digest(found.get("state", "").encode(), state.encode()):
        raise LoginFailed("The response belongs to another login (wrong state). Try again.")
    _check_issuer(found, server)
    if (error := found.get("error")) is not None:
        why = found.get("error_description", "")[:300]
        said = "the login was denied" if error == "access_denied" else f"the login failed with {error[:100]}"
        raise LoginFailed(f"{server.issuer}: {said}{': ' + why if why else ''}.")
    if not (code := found.get("code")):
        raise LoginFailed(f"{server.issuer} redirected the browser without a code.")
    return code


def _check_issuer(found: Mapping[str, str], server: ServerMetadata) -> None:
    """RFC 9207: the answer must come from whom we asked."""
    given = found.get("iss")
    if given is None:
        if server.authorization_response_iss_parameter_supported:
            raise LoginFailed(f"Ignored a response without the issuer {server.issuer}.")
    elif given != server.issuer:
        raise LoginFailed(f"Ignored a response from {given[:200]} instead of {server.issuer}.")
