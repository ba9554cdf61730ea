"""A server behind a login: the authorization server of the official package beside an MCP endpoint."""

import asyncio
import base64
import json
import os
import secrets
import socket
import time
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit

import uvicorn
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    IdentityAssertionParams,
    RefreshToken,
    TokenError,
    construct_redirect_uri,
)
from mcp.server.auth.routes import build_metadata, create_auth_routes
from mcp.server.auth.settings import ClientRegistrationOptions, RevocationOptions
from mcp.shared.auth import JWT_BEARER_GRANT_TYPE, OAuthClientInformationFull, OAuthToken
from pydantic import AnyHttpUrl, AnyUrl
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bridle.host.http.client import HttpClient
from bridle.host.http.client import Request as Asked
from tests.fakes.processes import eventually

_SCOPES = ["read", "write"]


class FakeHouse:
    """Everything on one port; the attributes are knobs that a test turns, and lists of what happened."""

    well_known = "oauth-authorization-server"

    def __init__(self) -> None:
        self.codes: dict[str, AuthorizationCode] = {}
        self.access: dict[str, AccessToken] = {}
        self.refreshes: dict[str, RefreshToken] = {}
        self.clients: dict[str, OAuthClientInformationFull] = {}
        self.asked: list[tuple[str, dict[str, str]]] = []
        """Every form and every page, with the path first."""
        self.called: list[str] = []
        self.denies = False
        self.breaks_state = False
        self.iss: str | None = None
        self.codes_last = 60.0
        self.tokens_last = 3600
        self.needs: tuple[str, ...] = ()
        """Rights that calls need."""
        self.resource: str | None = None
        self.publishes = True
        self.publishes_resource = True
        self.metadata: dict[str, Any] = {}
        """What replaces parts of the metadata; None removes one."""
        self.odd_tokens: list[Response] = []
        """Answers of the token endpoint before it works again."""
        self.port = 0

    @property
    def issuer(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.issuer}/mcp"

    def know(
        self, client_id: str, secret: str | None, redirect_uri: str, *, scope: str = "read write"
    ) -> None:
        """Register a client by hand; one without a secret is known by its name alone."""
        self.clients[client_id] = OAuthClientInformationFull(
            client_id=client_id,
            client_secret=secret,
            redirect_uris=[AnyUrl(redirect_uri)],
            token_endpoint_auth_method="client_secret_basic" if secret else "none",
            grant_types=["authorization_code", "refresh_token", JWT_BEARER_GRANT_TYPE],
            scope=scope,
        )

    def grants(self) -> list[str]:
        """The grants that tokens were asked for with."""
        return [fields["grant_type"] for path, fields in self.asked if path == "/token"]

    async def __aenter__(self) -> Self:
        listening = socket.socket()
        listening.bind(("127.0.0.1", 0))
        self.port = listening.getsockname()[1]
        config = uvicorn.Config(self._app(), lifespan="off", log_level="critical", access_log=False)
        self._server = uvicorn.Server(config)
        self._running = asyncio.create_task(self._server.serve(sockets=[listening]))
        await eventually(lambda: self._server.started)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.should_exit = True
        await self._running

    def _app(self) -> Starlette:
        issuer = AnyHttpUrl(self.issuer)
        registering, revoking = (
            ClientRegistrationOptions(enabled=True, valid_scopes=_SCOPES),
            RevocationOptions(enabled=True),
        )
        routes = create_auth_routes(
            self,
            issuer,
            client_registration_options=registering,
            revocation_options=revoking,
            identity_assertion_enabled=True,
        )
        built = build_metadata(issuer, None, registering, revoking, supports_identity_assertion=True)
        self._usual = {**json.loads(built.model_dump_json(exclude_none=True)), "issuer": self.issuer}
        own = [
            Route(f"/.well-known/{self.well_known}", self._tell_metadata),
            Route("/.well-known/oauth-protected-resource/mcp", self._tell_resource),
            Route("/mcp", self._serve, methods=["GET", "POST", "DELETE"]),
        ]
        return Starlette(routes=[*own, *(self._watched(route) for route in routes)])

    def _watched(self, route: Route) -> Route:
        inner = route.app

        async def app(scope: Any, receive: Any, send: Any) -> None:
            body = b""
            if scope["method"] == "POST":
                message = await receive()
                body = message.get("body", b"")
                while message.get("more_body"):
                    message = await receive()
                    body += message.get("body", b"")
            text = scope["query_string"].decode() if scope["method"] == "GET" else body.decode()
            fields = dict(parse_qsl(text)) if not text.startswith("{") else json.loads(text)
            self.asked.append((scope["path"], fields))
            if scope["path"] == "/token" and self.odd_tokens:
                await self.odd_tokens.pop(0)(scope, receive, send)
                return
            given = iter([{"type": "http.request", "body": body, "more_body": False}])

            async def again() -> Any:
                return next(given, None) or await receive()

            await self._pass_on(inner, fields, (scope, again, send))

        watched = Route(route.path, self._serve, methods=list(route.methods or ()))
        watched.app = app
        return watched

    async def _pass_on(self, inner: Any, fields: dict[str, str], exchange: tuple[Any, Any, Any]) -> None:
        """Let the package answer a request."""
        del fields
        await inner(*exchange)

    async def _tell_metadata(self, request: Request) -> Response:
        if not self.publishes:
            return Response(status_code=404)
        told = {**self._usual, **self.metadata}
        return JSONResponse({key: value for key, value in told.items() if value is not None})

    async def _tell_resource(self, request: Request) -> Response:
        if not self.publishes_resource:
            return Response(status_code=404)
        told = {"resource": self.resource or self.url, "authorization_servers": [self.issuer]}
        return JSONResponse({**told, "scopes_supported": ["read"]})

    async def _serve(self, request: Request) -> Response:
        where = f'resource_metadata="{self.issuer}/.well-known/oauth-protected-resource/mcp"'
        token = self.access.get(request.headers.get("authorization", "").removeprefix("Bearer "))
        if token is None or (token.expires_at or 0) < time.time():
            hint = where if self.publishes_resource else 'realm="mcp"'
            return Response(status_code=401, headers={"WWW-Authenticate": f"Bearer {hint}"})
        if request.method != "POST":
            return Response(status_code=405)
        message = await request.json()
        if message["method"] == "tools/call" and not set(self.needs) <= set(token.scopes):
            wants = f'Bearer error="insufficient_scope", scope="{" ".join(self.needs)}", {where}'
            return Response(status_code=403, headers={"WWW-Authenticate": wants})
        return self._answer(message)

    def _answer(self, message: dict[str, Any]) -> Response:
        results: dict[str, Any] = {
            "initialize": {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "house", "version": "1"},
            },
            "tools/list": {"tools": [{"name": "knock", "inputSchema": {"type": "object"}}]},
            "tools/call": {"content": [{"type": "text", "text": "come in"}]},
        }
        if "id" not in message:
            return Response(status_code=202)
        self.called.append(message["method"])
        if (result := results.get(message["method"])) is None:
            fault = {"code": -32601, "message": "unknown"}
            return JSONResponse({"jsonrpc": "2.0", "id": message["id"], "error": fault})
        return JSONResponse({"jsonrpc": "2.0", "id": message["id"], "result": result})

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        assert client_info.client_id is not None
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        state = "another" if self.breaks_state else params.state
        back = str(params.redirect_uri)
        if self.denies:
            return construct_redirect_uri(back, error="access_denied", state=state)
        code = secrets.token_hex(20)
        self.codes[code] = AuthorizationCode(
            code=code,
            client_id=client.client_id or "",
            scopes=params.scopes or ["read"],
            expires_at=time.time() + self.codes_last,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=True,
            resource=params.resource,
        )
        return construct_redirect_uri(back, code=code, state=state, iss=self.iss)

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        del self.codes[authorization_code.code]
        return self.issue(client.client_id or "", authorization_code.scopes)

    async def load_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: str
    ) -> RefreshToken | None:
        return self.refreshes.get(refresh_token)

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        # A refresh token works once: whoever comes second with the same one has lost the login.
        if self.refreshes.pop(refresh_token.token, None) is None:
            raise TokenError("invalid_grant")
        return self.issue(client.client_id or "", scopes)

    async def load_access_token(self, token: str) -> AccessToken | None:
        return self.access.get(token)

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        self.access.pop(token.token, None)
        self.refreshes.pop(token.token, None)

    async def exchange_identity_assertion(
        self, client: OAuthClientInformationFull, params: IdentityAssertionParams
    ) -> OAuthToken:
        if params.assertion != "the-grant":
            raise TokenError("invalid_grant")
        return self.issue(client.client_id or "", params.scopes or ["read"])

    def issue(self, client_id: str, scopes: list[str]) -> OAuthToken:
        """Tokens that count from now on."""
        token, again = f"access-{secrets.token_hex(8)}", f"refresh-{secrets.token_hex(8)}"
        until = int(time.time()) + self.tokens_last
        self.access[token] = AccessToken(token=token, client_id=client_id, scopes=scopes, expires_at=until)
        self.refreshes[again] = RefreshToken(token=again, client_id=client_id, scopes=scopes)
        return OAuthToken(
            access_token=token, refresh_token=again, expires_in=self.tokens_last, scope=" ".join(scopes)
        )


class FakeIdentityProvider(FakeHouse):
    """The same as the identity provider of an organization: it says who a user is, and exchanges that."""

    well_known = "openid-configuration"

    def __init__(self) -> None:
        super().__init__()
        self.proofs: list[str] = []
        """What was said of people, and counts."""
        self.lasts = 3600.0

    async def _pass_on(self, inner: Any, fields: dict[str, str], exchange: tuple[Any, Any, Any]) -> None:
        match fields.get("grant_type"):
            case "urn:ietf:params:oauth:grant-type:token-exchange":
                await self._exchanged(fields)(*exchange)
            case "authorization_code":
                await self._with_proof(inner, exchange)
            case _:
                await inner(*exchange)

    def _exchanged(self, fields: dict[str, str]) -> Response:
        """The grant for one server behind the provider, for a proof that it gave itself."""
        if fields.get("subject_token") not in self.proofs or fields.get("client_id") not in self.clients:
            return JSONResponse({"error": "invalid_grant"}, status_code=400)
        kind = "urn:ietf:params:oauth:token-type:id-jag"
        return JSONResponse({"access_token": "the-grant", "issued_token_type": kind, "token_type": "N_A"})

    async def _with_proof(self, inner: Any, exchange: tuple[Any, Any, Any]) -> None:
        scope, receive, send = exchange
        sent: list[Any] = []

        async def keep(message: Any) -> None:
            sent.append(message)

        await inner(scope, receive, keep)
        body = json.loads(b"".join(each.get("body", b"") for each in sent))
        if sent[0]["status"] == 200:
            self.proofs.append(jwt(sub="me", exp=time.time() + self.lasts))
            body["id_token"] = self.proofs[-1]
        await JSONResponse(body, status_code=sent[0]["status"])(scope, receive, send)


def jwt(**claims: Any) -> str:
    """A token that says something, signed by nobody."""
    part = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    return f"e30.{part}.x"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class FakeBrowser:
    """Goes to a page and to where it leads, like a browser in which the person is logged in."""

    def __init__(self) -> None:
        self.pages: list[dict[str, str]] = []
        self.ended_at = ""

    async def __call__(self, url: str) -> None:
        self.pages.append(dict(parse_qsl(urlsplit(url).query)))
        self.ended_at = await self.follow(url)
        if self.ended_at:
            await self.follow(self.ended_at)

    async def follow(self, url: str) -> str:
        client = HttpClient(os.environ)
        try:
            async with client.send(Asked("GET", url)) as response:
                await response.read()
                return response.headers.get("location", "")
        finally:
            await client.close()


def oddly(status: int, **body: Any) -> Response:
    """An answer of the token endpoint that no specification foresees."""
    return JSONResponse(body, status_code=status)
