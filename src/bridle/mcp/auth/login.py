"""Logging in to a server, and out again."""

import asyncio
import time
from collections.abc import Callable, Mapping

import msgspec
from msgspec import Struct

from bridle.mcp.auth.browser_login import BrowserLogin, fetch_code
from bridle.mcp.auth.callback import Callback, HostCallback
from bridle.mcp.auth.challenge import Challenge
from bridle.mcp.auth.dpop import Prover, wants_proofs
from bridle.mcp.auth.errors import LoginFailed, OAuthRefused
from bridle.mcp.auth.http import AuthHttp
from bridle.mcp.auth.metadata import LoginMetadata, discover
from bridle.mcp.auth.registration import ClientRegistration, identify
from bridle.mcp.auth.saved_logins import Login, SavedLogins, login_key, made_login
from bridle.mcp.auth.signing import SigningKey
from bridle.mcp.auth.token_requests import ask_for_tokens, revoke
from bridle.types.errors import McpError
from bridle.types.services.mcp import HttpServer, OAuthSettings, Server, SseServer, WebSocketServer


class Account(Struct, frozen=True, kw_only=True):
    """A server as something to log in to."""

    name: str
    url: str
    key: str
    settings: OAuthSettings
    env: Mapping[str, str]
    logins: SavedLogins
    own: bool = True
    """Defined by the user, and not by a project or a plugin."""
    clock: Callable[[], float] = time.time

    @classmethod
    def of(cls, server: Server, logins: SavedLogins, env: Mapping[str, str]) -> "Account":
        """The account at a configured server.

        Raises:
            McpError: no one logs in to servers of this kind.
        """
        config = server.config
        if not isinstance(config, HttpServer | SseServer | WebSocketServer):
            raise McpError(f"{server.name} is a local server and needs no login.")
        url = config.url.replace("ws", "http", 1) if isinstance(config, WebSocketServer) else config.url
        return cls(
            name=server.name,
            url=url,
            key=login_key(server),
            settings=config.oauth or OAuthSettings(),
            env=env,
            logins=logins,
            own=server.scope not in ("project", "plugin"),
        )

    def client_secret(self) -> str | None:
        return self.env.get("MCP_CLIENT_SECRET") or self.logins.client_secret(self.key)


async def log_in(
    account: Account, visit: BrowserLogin, *, wire: AuthHttp, challenge: Challenge | None = None
) -> Login:
    """Have a person log in to a server, and keep what comes of it.

    Raises:
        LoginFailed: it did not work; an earlier login is as it was.
    """
    found = await discover(
        wire, account.url, challenge=challenge, metadata_url=account.settings.auth_server_metadata_url
    )
    saved = await asyncio.to_thread(account.logins.find, account.key)
    scope = wanted_scope(account.settings, found, challenge, saved)
    secret = await asyncio.to_thread(account.client_secret)
    async with _callback(account, saved, visit) as callback:
        applicant = ClientRegistration(
            name=account.name,
            settings=account.settings,
            secret=secret,
            env=account.env,
            redirect_uri=callback.redirect_uri,
            scope=scope,
        )
        client = await identify(wire, found.server, applicant, saved)
        code = await fetch_code(
            visit, found.server, callback, client_id=client.client_id, scope=scope, audience=found.audience
        )
        fields = {
            "grant_type": "authorization_code",
            "code": code.value,
            "redirect_uri": callback.redirect_uri,
            "code_verifier": code.verifier,
            **({"resource": found.audience} if found.audience else {}),
        }
        chosen = account.settings.dpop
        prover = Prover(SigningKey.new()) if wants_proofs(found.server, chosen=chosen) else None
        tokens = await ask_for_tokens(wire, found.server, client, fields, prover=prover)
        if tokens.scope is None and scope:
            tokens = msgspec.structs.replace(tokens, scope=scope)
        login = made_login(
            saved if saved is not None and saved.issuer == found.server.issuer else None,
            tokens,
            now=account.clock(),
            name=account.name,
            url=account.url,
            client=client,
            found=found,
            redirect_uri=callback.redirect_uri,
            prover=prover,
        )
    await asyncio.to_thread(_replace, account, login)
    return login


async def log_out(account: Account, *, wire: AuthHttp) -> str | None:
    """Make the tokens void and forget them; a sentence when the server could not be reached.

    Raises:
        LoginFailed: what is kept cannot be changed.
    """
    saved = await asyncio.to_thread(account.logins.find, account.key)
    problem: str | None = None
    if saved is not None and saved.client is not None:
        try:
            found = saved.discovered or await discover(wire, account.url)
            await revoke(
                wire,
                found.server,
                saved.client,
                refresh=saved.refresh_token,
                access=saved.access_token,
            )
        except LoginFailed as fault:
            problem = f"Could not revoke the tokens: {fault}"
    await asyncio.to_thread(account.logins.forget, account.key)
    return problem


async def refresh(account: Account, saved: Login, *, wire: AuthHttp) -> Login | None:
    """A login with a fresh token; None when it is over and a person has to log in again.

    Raises:
        LoginFailed: the server cannot be asked just now.
    """
    client = saved.client
    if not saved.refresh_token or client is None:
        return None
    found = saved.discovered or await discover(wire, account.url)
    fields = {
        "grant_type": "refresh_token",
        "refresh_token": saved.refresh_token,
        **({"resource": found.audience} if found.audience else {}),
    }
    prover = None if saved.dpop_key is None else Prover(SigningKey.read(saved.dpop_key))
    try:
        tokens = await ask_for_tokens(wire, found.server, client, fields, prover=prover)
    except OAuthRefused as refusal:
        if not refusal.is_final:
            raise
        over = msgspec.structs.replace(saved, access_token="", refresh_token=None, expires_at=None)
        if refusal.error == "invalid_client":
            over = msgspec.structs.replace(over, client_id=None, client_secret=None, client_method=None)
        await asyncio.to_thread(_replace, account, over)
        return None
    login = made_login(
        saved,
        tokens,
        now=account.clock(),
        name=account.name,
        url=account.url,
        client=client,
        found=found,
        prover=prover,
    )
    await asyncio.to_thread(account.logins.save, account.key, login)
    return login


def wanted_scope(
    settings: OAuthSettings, found: LoginMetadata, challenge: Challenge | None, saved: Login | None
) -> str | None:
    """The rights to ask for: what the user fixed, or the server wants, or knows; None for what is usual."""
    if settings.scopes is not None:
        fixed = settings.scopes if isinstance(settings.scopes, str) else " ".join(settings.scopes)
        return " ".join(fixed.replace(",", " ").split()) or None
    asked = challenge.scope if challenge is not None else ""
    resource = found.resource
    if not asked and resource is not None and resource.scopes_supported:
        asked = " ".join(resource.scopes_supported)
    held = saved if saved is not None and saved.issuer == found.server.issuer else None
    stepping = held is not None and (held.step_up_scope or (challenge is not None and challenge.wants_more))
    more = (held.scope or "", held.step_up_scope or "") if stepping and held is not None else ()
    words = list(dict.fromkeys(" ".join((*more, asked)).split()))
    if words and "offline_access" in (found.server.scopes_supported or ()) and "offline_access" not in words:
        words.append("offline_access")
    return " ".join(words) or None


def _replace(account: Account, login: Login) -> None:
    """Keep a login without anything that an earlier one had and it has not."""
    account.logins.forget(account.key)
    account.logins.save(account.key, login)


def _callback(account: Account, saved: Login | None, visit: BrowserLogin) -> Callback | HostCallback:
    if visit.redirect_uri is not None:
        return HostCallback(visit.redirect_uri)
    fixed = account.settings.callback_port
    given = account.env.get("MCP_OAUTH_CALLBACK_PORT", "")
    if fixed is None and given.isdecimal() and 0 < int(given) < 65536:
        fixed = int(given)
    if fixed is not None:
        return Callback(fixed, fixed=True)
    # A client that has registered itself is known by its port.
    before = saved.redirect_uri if saved is not None else None
    port = before.rpartition(":")[2].partition("/")[0] if before else ""
    return Callback(int(port) if port.isdecimal() else None)
