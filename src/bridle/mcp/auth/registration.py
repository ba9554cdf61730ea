"""Who bridle is to an authorization server: registered by hand, by a published document, or on the spot."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from bridle.mcp.auth.errors import LoginFailed
from bridle.mcp.auth.http import AuthHttp
from bridle.mcp.auth.metadata import ServerMetadata
from bridle.mcp.auth.saved_logins import Login
from bridle.mcp.auth.token_requests import ClientIdentity
from bridle.types.services.mcp import OAuthSettings

_CIMD = "MCP_OAUTH_CLIENT_METADATA_URL"


class ClientRegistration(Struct, frozen=True, kw_only=True):
    """What bridle brings to a registration."""

    name: str
    """The server that it is for."""
    settings: OAuthSettings
    secret: str | None
    env: Mapping[str, str]
    redirect_uri: str
    scope: str | None


async def identify(
    wire: AuthHttp, server: ServerMetadata, applicant: ClientRegistration, saved: Login | None
) -> ClientIdentity:
    """The identity to log in with: given, published, known from before, or registered now.

    Raises:
        LoginFailed: the server takes none of them.
    """
    if (client_id := applicant.settings.client_id) is not None:
        return ClientIdentity(client_id=client_id, client_secret=applicant.secret)
    published = applicant.env.get(_CIMD, "")
    if published and server.client_id_metadata_document_supported:
        if not published.startswith("https://"):
            raise LoginFailed(f"{_CIMD} must be an https URL.")
        return ClientIdentity(client_id=published)
    if saved is not None and saved.issuer == server.issuer and saved.redirect_uri == applicant.redirect_uri:
        known = saved.client
        if known is not None:
            return known
    if server.registration_endpoint is None:
        raise LoginFailed(
            f"{server.issuer} does not support dynamic registration: register a client there, then add "
            "the server again with --client-id."
        )
    return await _register(wire, server, server.registration_endpoint, applicant)


async def _register(
    wire: AuthHttp, server: ServerMetadata, endpoint: str, applicant: ClientRegistration
) -> ClientIdentity:
    body = await wire.post_json(endpoint, _application(server, applicant))
    client_id, secret = body.get("client_id"), body.get("client_secret")
    method = body.get("token_endpoint_auth_method")
    if not isinstance(client_id, str) or not client_id:
        raise LoginFailed(f"{endpoint} registered bridle without a client_id.")
    return ClientIdentity(
        client_id=client_id,
        client_secret=secret if isinstance(secret, str) and secret else None,
        method=method if isinstance(method, str) else None,
    )


def _application(server: ServerMetadata, applicant: ClientRegistration) -> dict[str, Any]:
    methods = server.token_endpoint_auth_methods_supported
    usual = ("none", "client_secret_post", "client_secret_basic")
    chosen = next((each for each in usual if methods is None or each in methods), "none")
    application: dict[str, Any] = {
        "client_name": f"bridle ({applicant.name})"[:200],
        "redirect_uris": [applicant.redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": chosen,
        "application_type": "native",
    }
    # A client that registers for all scopes need not do so again when a server asks for more.
    scope = " ".join(server.scopes_supported or ()) or applicant.scope
    return {**application, "scope": scope} if scope else application
