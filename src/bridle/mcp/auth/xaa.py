"""Enterprise login (cross-app access): one login at the identity provider opens every server behind it."""

import asyncio
import binascii
from base64 import urlsafe_b64decode
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from bridle.mcp.auth.browser_login import BrowserLogin, fetch_code
from bridle.mcp.auth.callback import Callback
from bridle.mcp.auth.challenge import Challenge
from bridle.mcp.auth.errors import LoginFailed, OAuthRefused
from bridle.mcp.auth.http import AuthHttp, require_private
from bridle.mcp.auth.login import Account
from bridle.mcp.auth.metadata import LoginMetadata, ServerMetadata, find_resource, find_server
from bridle.mcp.auth.saved_logins import Login, SavedLogins, made_login
from bridle.mcp.auth.token_requests import (
    JWT_BEARER,
    TOKEN_EXCHANGE,
    ClientIdentity,
    Tokens,
    ask_for_tokens,
    proof,
)

_ID_TOKEN = "urn:ietf:params:oauth:token-type:id_token"
_ID_JAG = "urn:ietf:params:oauth:token-type:id-jag"


class Provider(Struct, frozen=True, kw_only=True, rename="camel"):
    """The identity provider of an organization: the setting `xaaIdp`."""

    issuer: str
    client_id: str
    client_secret: str | None = None
    callback_port: int | None = None
    token_endpoint: str | None = None
    """Saves the look at the provider's metadata."""


def read_provider(value: Any) -> Provider | None:
    """The setting, when it can be used."""
    try:
        return msgspec.convert(value, Provider)
    except msgspec.ValidationError:
        return None


async def enterprise_login(
    account: Account,
    provider: Provider,
    *,
    wire: AuthHttp,
    challenge: Challenge | None,
    visit: BrowserLogin | None,
) -> Login | None:
    """A login by the word of the identity provider; None when a person has to log in there first.

    Raises:
        LoginFailed: the chain breaks; the message says where.
    """
    secret = await asyncio.to_thread(account.client_secret)
    if account.settings.client_id is None or secret is None:
        raise LoginFailed(f"XAA: {account.name} needs --client-id and --client-secret.")
    token = await _id_token(account.logins, provider, wire=wire, visit=visit, now=account.clock())
    if token is None:
        return None
    found = await _chosen_server(wire, account, challenge)
    client = ClientIdentity(client_id=account.settings.client_id, client_secret=secret)
    scope = _scope(account, challenge)
    try:
        grant = await _exchange(wire, provider, token, found, scope=scope)
    except OAuthRefused as refusal:
        # A provider that is out of order says nothing about the proof; one that refuses does.
        if 400 <= refusal.status < 500:
            await asyncio.to_thread(account.logins.forget_id_token, provider.issuer)
        raise
    tokens = await _redeem(wire, found.server, client, grant, scope=scope, audience=found.audience)
    login = made_login(
        None, tokens, now=account.clock(), name=account.name, url=account.url, client=client, found=found
    )
    await asyncio.to_thread(account.logins.save, account.key, login)
    return login


async def log_in_to_provider(
    logins: SavedLogins, provider: Provider, *, wire: AuthHttp, visit: BrowserLogin, now: float
) -> str:
    """Have the person log in at the identity provider (OpenID Connect); the proof is kept.

    Raises:
        LoginFailed: it did not work.
    """
    server = await _provider_metadata(wire, provider)
    client = ClientIdentity(client_id=provider.client_id, client_secret=provider.client_secret)
    port = provider.callback_port
    async with Callback(port, fixed=port is not None) as callback:
        code = await fetch_code(
            visit, server, callback, client_id=client.client_id, scope="openid", audience=None
        )
        fields = {
            "grant_type": "authorization_code",
            "code": code.value,
            "redirect_uri": callback.redirect_uri,
            "code_verifier": code.verifier,
        }
        tokens = await ask_for_tokens(wire, server, client, fields)
    if not tokens.id_token:
        raise LoginFailed(f"XAA: {provider.issuer} returned no id_token.")
    until = _expiry(tokens.id_token) or now + (tokens.expires_in or 3600)
    await asyncio.to_thread(logins.save_id_token, provider.issuer, tokens.id_token, until)
    return tokens.id_token


async def _id_token(
    logins: SavedLogins, provider: Provider, *, wire: AuthHttp, visit: BrowserLogin | None, now: float
) -> str | None:
    if (known := await asyncio.to_thread(logins.id_token, provider.issuer, now)) is not None:
        return known
    if visit is None:
        return None
    return await log_in_to_provider(logins, provider, wire=wire, visit=visit, now=now)


async def _chosen_server(wire: AuthHttp, account: Account, challenge: Challenge | None) -> LoginMetadata:
    resource = await find_resource(wire, account.url, challenge)
    if resource is None:
        raise LoginFailed(f"XAA: {account.name} publishes no protected resource metadata.")
    if _normal(resource.resource) != _normal(account.url):
        raise LoginFailed(
            f"XAA: PRM resource mismatch: {resource.resource[:200]} is not {account.url[:200]}."
        )
    for issuer in resource.authorization_servers:
        server = await find_server(wire, issuer)
        if server is None:
            continue
        if _normal(server.issuer) != _normal(issuer):
            raise LoginFailed(f"XAA: issuer mismatch: {server.issuer[:200]} is not {issuer[:200]}.")
        grants = server.grant_types_supported
        if grants is None or JWT_BEARER in grants:
            require_private(server.token_endpoint)
            return LoginMetadata(server=server, resource=resource)
    raise LoginFailed("XAA: no authorization server supports jwt-bearer.")


async def _exchange(
    wire: AuthHttp, provider: Provider, id_token: str, found: LoginMetadata, *, scope: str | None
) -> str:
    """RFC 8693: the proof of who the user is for a grant that one authorization server takes."""
    endpoint = provider.token_endpoint or (await _provider_metadata(wire, provider)).token_endpoint
    fields = {
        "grant_type": TOKEN_EXCHANGE,
        "requested_token_type": _ID_JAG,
        "audience": found.server.issuer,
        "resource": found.audience or "",
        "subject_token": id_token,
        "subject_token_type": _ID_TOKEN,
        "client_id": provider.client_id,
        **({"scope": scope} if scope else {}),
    }
    client = ClientIdentity(client_id=provider.client_id, client_secret=provider.client_secret)
    extra, headers = proof(client, None) if provider.client_secret else ({}, {})
    body = await wire.post_form(endpoint, {**fields, **extra}, headers)
    grant, kind = body.get("access_token"), body.get("issued_token_type")
    if not isinstance(grant, str) or not grant or kind not in (None, _ID_JAG):
        raise OAuthRefused(f"XAA: {provider.issuer} returned no ID-JAG.", error="invalid_grant", status=400)
    return grant


async def _redeem(
    wire: AuthHttp,
    server: ServerMetadata,
    client: ClientIdentity,
    grant: str,
    *,
    scope: str | None,
    audience: str | None,
) -> Tokens:
    """RFC 7523: the grant for a token of the server."""
    fields: Mapping[str, str] = {
        "grant_type": JWT_BEARER,
        "assertion": grant,
        **({"scope": scope} if scope else {}),
        **({"resource": audience} if audience else {}),
    }
    return await ask_for_tokens(wire, server, client, fields)


async def _provider_metadata(wire: AuthHttp, provider: Provider) -> ServerMetadata:
    server = await find_server(wire, provider.issuer)
    if server is None:
        raise LoginFailed(f"XAA: {provider.issuer} publishes no OpenID configuration.")
    return server


def _scope(account: Account, challenge: Challenge | None) -> str | None:
    fixed = account.settings.scopes
    if fixed is not None:
        return fixed if isinstance(fixed, str) else " ".join(fixed)
    return challenge.scope or None if challenge is not None else None


def _expiry(token: str) -> float | None:
    """When a JWT says that it ends; no one checks its signature but those whom it is shown to."""
    try:
        part = token.split(".")[1]
        claims = msgspec.json.decode(urlsafe_b64decode(part + "=" * (-len(part) % 4)), type=dict[str, Any])
    except (IndexError, ValueError, binascii.Error, msgspec.DecodeError):
        return None
    until = claims.get("exp")
    return float(until) if isinstance(until, int | float) else None


def _normal(url: str) -> str:
    return url.rstrip("/").lower() if "://" in url else url
