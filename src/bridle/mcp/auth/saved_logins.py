"""The logins that are kept, by server: tokens, the client they belong to, and where they came from."""

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from bridle.mcp.auth.metadata import LoginMetadata
from bridle.mcp.auth.token_requests import ClientIdentity, Tokens
from bridle.mcp.auth.token_store import TokenStore
from bridle.types.services.mcp import HttpServer, Server, SseServer, WebSocketServer

if TYPE_CHECKING:
    from bridle.mcp.auth.dpop import Prover

_LOGINS = "mcpOAuth"
_CLIENTS = "mcpOAuthClientConfig"
_PROVIDERS = "mcpXaaIdp"


class Login(Struct, frozen=True, kw_only=True, rename="camel"):
    """What is kept for one server."""

    server_name: str = ""
    server_url: str = ""
    access_token: str = ""
    refresh_token: str | None = None
    expires_at: float | None = None
    """Milliseconds since the epoch."""
    scope: str | None = None
    client_id: str | None = None
    client_secret: str | None = None
    client_method: str | None = None
    redirect_uri: str | None = None
    step_up_scope: str | None = None
    """Rights that a server asked for in vain; the next login asks for them."""
    discovery_state: dict[str, Any] | None = None
    dpop_key: str | None = None
    """The private key that the token is bound to."""

    def is_good(self, now: float, *, margin: float = 60.0) -> bool:
        """Whether the access token will still be taken in a moment."""
        return bool(self.access_token) and (self.expires_at is None or self.expires_at / 1000 - margin > now)

    @property
    def client(self) -> ClientIdentity | None:
        if self.client_id is None:
            return None
        return ClientIdentity(
            client_id=self.client_id, client_secret=self.client_secret, method=self.client_method
        )

    @property
    def discovered(self) -> LoginMetadata | None:
        """Who gave the tokens; None when an older program did not write that down."""
        try:
            return msgspec.convert((self.discovery_state or {}).get("bridle"), LoginMetadata)
        except msgspec.ValidationError:
            return None

    @property
    def issuer(self) -> str | None:
        found = (self.discovery_state or {}).get("authorizationServerUrl")
        return found if isinstance(found, str) else None


class SavedLogins:
    """Reads and changes logins in a vault. Calls block."""

    def __init__(self, vault: TokenStore) -> None:
        self._vault = vault

    def find(self, key: str) -> Login | None:
        raw = _object(self._vault.read().get(_LOGINS)).get(key)
        try:
            return msgspec.convert(raw, Login)
        except msgspec.ValidationError:
            return None

    def save(self, key: str, login: Login) -> None:
        """Keep a login in place of an earlier one.

        Raises:
            LoginFailed: it cannot be written.
        """
        fields: dict[str, Any] = msgspec.to_builtins(login)

        def change(values: dict[str, Any]) -> dict[str, Any]:
            logins = _object(values.get(_LOGINS))
            merged = {**_object(logins.get(key)), **fields}
            known = {name: value for name, value in merged.items() if value is not None}
            return {**values, _LOGINS: {**logins, key: known}}

        self._vault.change(change)

    def forget(self, key: str) -> None:
        """Remove a login; harmless when there is none.

        Raises:
            LoginFailed: it cannot be written.
        """
        if key in _object(self._vault.read().get(_LOGINS)):
            self._vault.change(lambda values: _without(values, _LOGINS, key))

    def client_secret(self, key: str) -> str | None:
        """The secret of a client that was registered by hand."""
        secret = _object(_object(self._vault.read().get(_CLIENTS)).get(key)).get("clientSecret")
        return secret if isinstance(secret, str) else None

    def save_client_secret(self, key: str, secret: str | None) -> None:
        """Keep the secret of a client; None removes it.

        Raises:
            LoginFailed: it cannot be written.
        """
        if secret is None:
            if key in _object(self._vault.read().get(_CLIENTS)):
                self._vault.change(lambda values: _without(values, _CLIENTS, key))
            return
        entry = {"clientSecret": secret}
        self._vault.change(lambda values: {**values, _CLIENTS: {**_object(values.get(_CLIENTS)), key: entry}})

    def id_token(self, issuer: str, now: float) -> str | None:
        """The proof of who the user is that an identity provider gave, while it is good."""
        entry = _object(_object(self._vault.read().get(_PROVIDERS)).get(issuer))
        token, until = entry.get("idToken"), entry.get("expiresAt")
        good = isinstance(until, int | float) and until / 1000 - 60 > now
        return token if isinstance(token, str) and good else None

    def save_id_token(self, issuer: str, token: str, expires_at: float) -> None:
        """Keep a proof until then (seconds since the epoch).

        Raises:
            LoginFailed: it cannot be written.
        """
        entry = {"idToken": token, "expiresAt": round(expires_at * 1000)}
        self._vault.change(
            lambda values: {**values, _PROVIDERS: {**_object(values.get(_PROVIDERS)), issuer: entry}}
        )

    def forget_id_token(self, issuer: str) -> None:
        """Raises LoginFailed when it cannot be written."""
        self._vault.change(lambda values: _without(values, _PROVIDERS, issuer))


def login_key(server: Server) -> str:
    """The name of a server's login: another address or other headers are another login."""
    config = server.config
    assert isinstance(config, HttpServer | SseServer | WebSocketServer)
    kind = {HttpServer: "http", SseServer: "sse", WebSocketServer: "ws"}[type(config)]
    shape = msgspec.json.encode({"type": kind, "url": config.url, "headers": config.headers})
    return f"{server.name}|{hashlib.sha256(shape).hexdigest()[:16]}"


def made_login(
    base: Login | None,
    tokens: Tokens,
    *,
    now: float,
    name: str,
    url: str,
    client: ClientIdentity,
    found: LoginMetadata,
    redirect_uri: str | None = None,
    prover: "Prover | None" = None,
) -> Login:
    """A login from fresh tokens, with what an earlier one knows and they do not say."""
    same = base is not None and base.issuer == found.server.issuer
    refresh = tokens.refresh_token or (base.refresh_token if same and base is not None else None)
    scope = tokens.scope if tokens.scope is not None else base.scope if same and base is not None else None
    return Login(
        server_name=name,
        server_url=url,
        access_token=tokens.access_token,
        refresh_token=refresh,
        expires_at=None if tokens.expires_in is None else round((now + tokens.expires_in) * 1000),
        scope=scope,
        client_id=client.client_id,
        client_secret=client.client_secret,
        client_method=client.method,
        redirect_uri=redirect_uri or (base.redirect_uri if base is not None else None),
        dpop_key=None if prover is None or tokens.token_type.lower() != "dpop" else prover.key.pem(),
        discovery_state={
            "authorizationServerUrl": found.server.issuer,
            "bridle": msgspec.to_builtins(found),
        },
    )


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _without(values: dict[str, Any], field: str, key: str) -> dict[str, Any]:
    kept = {name: value for name, value in _object(values.get(field)).items() if name != key}
    return {**values, field: kept}
