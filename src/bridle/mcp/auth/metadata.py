"""Finds out who logs people in to a server, and how: RFC 9728, RFC 8414 and OpenID Connect discovery."""

from typing import Any
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from bridle.mcp.auth.challenge import Challenge
from bridle.mcp.auth.errors import LoginFailed
from bridle.mcp.auth.http import AuthHttp, require_private

_RESOURCE = "/.well-known/oauth-protected-resource"
_SERVER = "/.well-known/oauth-authorization-server"
_OPENID = "/.well-known/openid-configuration"


class ResourceMetadata(Struct, frozen=True, kw_only=True):
    """What a server says about whom it trusts."""

    resource: str
    authorization_servers: tuple[str, ...] = ()
    scopes_supported: tuple[str, ...] | None = None


class ServerMetadata(Struct, frozen=True, kw_only=True):
    """What an authorization server says about itself."""

    issuer: str
    authorization_endpoint: str = ""
    token_endpoint: str = ""
    registration_endpoint: str | None = None
    revocation_endpoint: str | None = None
    scopes_supported: tuple[str, ...] | None = None
    grant_types_supported: tuple[str, ...] | None = None
    code_challenge_methods_supported: tuple[str, ...] | None = None
    token_endpoint_auth_methods_supported: tuple[str, ...] | None = None
    revocation_endpoint_auth_methods_supported: tuple[str, ...] | None = None
    client_id_metadata_document_supported: bool = False
    dpop_signing_alg_values_supported: tuple[str, ...] | None = None
    authorization_response_iss_parameter_supported: bool = False


class LoginMetadata(Struct, frozen=True, kw_only=True):
    """All that must be known before a login can begin."""

    server: ServerMetadata
    resource: ResourceMetadata | None = None

    @property
    def audience(self) -> str | None:
        """The resource that tokens are asked for, where the server names itself."""
        return None if self.resource is None else self.resource.resource


async def discover(
    wire: AuthHttp, url: str, *, challenge: Challenge | None = None, metadata_url: str | None = None
) -> LoginMetadata:
    """Who logs people in to the server at `url`.

    Raises:
        LoginFailed: no one can be found, or what is found does not fit together.
    """
    if metadata_url is not None:
        if not metadata_url.startswith("https://") and not _is_local(metadata_url):
            raise LoginFailed("authServerMetadataUrl must use https://.")
        document = await wire.document(metadata_url)
        if document is None:
            raise LoginFailed(f"authServerMetadataUrl: no metadata at {metadata_url}.")
        return LoginMetadata(server=_server(document, metadata_url))
    resource = await find_resource(wire, url, challenge)
    if resource is None:
        return LoginMetadata(server=await _without_resource(wire, url))
    if not resource.authorization_servers:
        return LoginMetadata(server=await _without_resource(wire, url), resource=resource)
    issuer = resource.authorization_servers[0]
    server = await find_server(wire, issuer)
    if server is None:
        raise LoginFailed(f"The login server {issuer} publishes no metadata.")
    return LoginMetadata(server=server, resource=resource)


async def find_resource(wire: AuthHttp, url: str, challenge: Challenge | None) -> ResourceMetadata | None:
    """What the server says about its logins; None where it says nothing.

    Raises:
        LoginFailed: the metadata belongs to another server, or cannot be asked for.
    """
    parts = urlsplit(url)
    root = f"{parts.scheme}://{parts.netloc}"
    path = parts.path.rstrip("/")
    named = challenge.resource_metadata if challenge is not None else ""
    places = dict.fromkeys((named, f"{root}{_RESOURCE}{path}", f"{root}{_RESOURCE}"))
    for place in places:
        if place and (document := await wire.document(place)) is not None:
            return _resource(document, place, url)
    return None


async def find_server(wire: AuthHttp, issuer: str) -> ServerMetadata | None:
    """The metadata of an authorization server; None where it publishes none.

    Raises:
        LoginFailed: the metadata belongs to another issuer, or cannot be asked for.
    """
    parts = urlsplit(issuer)
    root, path = f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")
    places = dict.fromkeys((f"{root}{_SERVER}{path}", f"{root}{_OPENID}{path}", f"{root}{path}{_OPENID}"))
    for place in places:
        if (document := await wire.document(place)) is not None:
            server = _server(document, place)
            if not same_issuer(server.issuer, issuer):
                raise LoginFailed(
                    f"Refused to log in: {place} is for the issuer {server.issuer[:200]}, not {issuer[:200]}."
                )
            return server
    return None


def same_issuer(one: str, other: str) -> bool:
    """Issuers are compared letter by letter; only the slash of an empty path may be missing."""
    return one == other or (_is_root(one) and _is_root(other) and one.rstrip("/") == other.rstrip("/"))


async def _without_resource(wire: AuthHttp, url: str) -> ServerMetadata:
    """The authorization server of a server from before RFC 9728: the server itself."""
    parts = urlsplit(url)
    root, path = f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")
    for place in dict.fromkeys((f"{root}{_SERVER}{path}", f"{root}{_SERVER}", f"{root}{_OPENID}")):
        if (document := await wire.document(place)) is not None:
            return _server(document, place)
    return ServerMetadata(
        issuer=root,
        authorization_endpoint=f"{root}/authorize",
        token_endpoint=f"{root}/token",
        registration_endpoint=f"{root}/register",
    )


def _resource(document: dict[str, Any], place: str, url: str) -> ResourceMetadata:
    try:
        found = msgspec.convert(document, ResourceMetadata)
    except msgspec.ValidationError as error:
        raise LoginFailed(f"{place} is not valid protected resource metadata: {error}.") from error
    if not _covers(found.resource, url):
        raise LoginFailed(f"{place} is for {found.resource[:200]}, not {url[:200]}.")
    return found


def _server(document: dict[str, Any], place: str) -> ServerMetadata:
    try:
        found = msgspec.convert(document, ServerMetadata)
    except msgspec.ValidationError as error:
        raise LoginFailed(f"{place} is not valid authorization server metadata: {error}.") from error
    for endpoint in (found.authorization_endpoint, found.token_endpoint):
        if endpoint:
            require_private(endpoint)
    return found


def _covers(resource: str, url: str) -> bool:
    """Whether a resource is the server at `url` or a folder above it."""
    one, other = urlsplit(resource), urlsplit(url)
    if (one.scheme.lower(), one.netloc.lower()) != (other.scheme.lower(), other.netloc.lower()):
        return False
    return f"{other.path.rstrip('/')}/".startswith(f"{one.path.rstrip('/')}/")


def _is_root(url: str) -> bool:
    return urlsplit(url).path in ("", "/")


def _is_local(url: str) -> bool:
    return urlsplit(url).hostname in ("127.0.0.1", "localhost", "::1")
