"""Requests to token endpoints: codes, refreshes, exchanges, revocation."""

from base64 import b64encode
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import msgspec
from msgspec import Struct

from bridle.mcp.auth.errors import LoginFailed, OAuthRefused
from bridle.mcp.auth.http import AuthHttp
from bridle.mcp.auth.metadata import ServerMetadata

if TYPE_CHECKING:
    from bridle.mcp.auth.dpop import Prover

JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"
TOKEN_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"


class ClientIdentity(Struct, frozen=True, kw_only=True):
    """Who bridle is to an authorization server."""

    client_id: str
    client_secret: str | None = None
    method: str | None = None
    """How it proves that, when that was agreed on."""


class Tokens(Struct, frozen=True, kw_only=True):
    access_token: str
    refresh_token: str | None = None
    expires_in: float | None = None
    scope: str | None = None
    id_token: str | None = None
    token_type: str = "Bearer"


async def ask_for_tokens(
    wire: AuthHttp,
    server: ServerMetadata,
    client: ClientIdentity,
    fields: Mapping[str, str],
    *,
    prover: "Prover | None" = None,
) -> Tokens:
    """Tokens for a grant; with `prover` they are bound to its key, where the server does that.

    Raises:
        OAuthRefused: the server refuses the grant.
        LoginFailed: the server cannot be asked, or answers with something else.
    """
    if not server.token_endpoint:
        raise LoginFailed(f"{server.issuer} has no token endpoint.")
    extra, headers = proof(client, server.token_endpoint_auth_methods_supported)
    body = await wire.post_form(server.token_endpoint, {**fields, **extra}, headers, prover=prover)
    return read_tokens(body, server.token_endpoint, bound=prover is not None)


async def revoke(
    wire: AuthHttp, server: ServerMetadata, client: ClientIdentity, *, refresh: str | None, access: str | None
) -> None:
    """Make tokens void: the refresh token first, because the others hang on it.

    Raises:
        LoginFailed: the server refuses or cannot be asked.
    """
    if server.revocation_endpoint is None:
        return
    methods = (
        server.revocation_endpoint_auth_methods_supported or server.token_endpoint_auth_methods_supported
    )
    extra, headers = proof(client, methods)
    for token, hint in ((refresh, "refresh_token"), (access, "access_token")):
        if not token:
            continue
        fields = {"token": token, "token_type_hint": hint}
        try:
            await wire.post_form(server.revocation_endpoint, {**fields, **extra}, headers)
        except OAuthRefused as refusal:
            if refusal.status != 401 or not access:
                raise
            # Some servers want to see the token itself instead of the client.
            await wire.post_form(server.revocation_endpoint, fields, {"Authorization": f"Bearer {access}"})


def proof(client: ClientIdentity, methods: tuple[str, ...] | None) -> tuple[dict[str, str], dict[str, str]]:
    """The fields and headers by which a client says who it is."""
    if not client.client_secret:
        return {"client_id": client.client_id}, {}
    method = client.method if client.method in ("client_secret_basic", "client_secret_post") else None
    if method is None:
        known = methods or ("client_secret_basic",)
        post_only = "client_secret_post" in known and "client_secret_basic" not in known
        method = "client_secret_post" if post_only else "client_secret_basic"
    if method == "client_secret_post":
        return {"client_id": client.client_id, "client_secret": client.client_secret}, {}
    pair = f"{quote(client.client_id, safe='')}:{quote(client.client_secret, safe='')}"
    # Servers that look the client up before they read the header want its name in the form too.
    return {"client_id": client.client_id}, {"Authorization": f"Basic {b64encode(pair.encode()).decode()}"}


def read_tokens(body: Mapping[str, Any], place: str, *, bound: bool = False) -> Tokens:
    """The tokens in an answer; those that are `bound` to a key are taken where a proof was sent.

    Raises:
        LoginFailed: there are none.
    """
    known = {key: value for key, value in body.items() if value is not None}
    try:
        # Numbers are sometimes written as texts.
        tokens = msgspec.convert(known, Tokens, strict=False)
    except msgspec.ValidationError as error:
        raise LoginFailed(f"{place} returned no usable token: {error}.") from error
    known_types = ("bearer", "n_a", "dpop") if bound else ("bearer", "n_a")
    if not tokens.access_token or tokens.token_type.lower() not in known_types:
        raise LoginFailed(f"{place} returned an unsupported token type: {tokens.token_type[:50]!r}.")
    return tokens
