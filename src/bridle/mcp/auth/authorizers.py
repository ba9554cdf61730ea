"""Authorizers for the servers of a session, made when a server needs one."""

import sys
from collections.abc import Mapping

from bridle.mcp.auth.browser_login import BrowserLogin
from bridle.mcp.auth.challenge import Challenge
from bridle.mcp.auth.http import AuthHttp
from bridle.mcp.auth.login import Account
from bridle.mcp.auth.machine_login import machine_login
from bridle.mcp.auth.oauth import OAuthAuthorizer
from bridle.mcp.auth.saved_logins import Login, SavedLogins
from bridle.mcp.auth.token_store import open_vault
from bridle.mcp.auth.xaa import Provider, enterprise_login
from bridle.mcp.authorizer import Authorizer
from bridle.types.services.mcp import HttpServer, Server, SseServer, WebSocketServer


class Authorizers:
    """Called with a server; knows none for those that are let in by other means."""

    def __init__(
        self,
        env: Mapping[str, str],
        *,
        logins: SavedLogins | None = None,
        visit: BrowserLogin | None = None,
        provider: Provider | None = None,
    ) -> None:
        self._env = env
        self.logins = logins or SavedLogins(open_vault(env, sys.platform))
        self._visit = visit
        self._provider = provider
        self._made: dict[str, OAuthAuthorizer] = {}

    def __call__(self, server: Server) -> Authorizer | None:
        config = server.config
        if not isinstance(config, HttpServer | SseServer | WebSocketServer) or config.headers_helper:
            return None
        if any(name.lower() == "authorization" for name in config.headers):
            return None
        account = Account.of(server, self.logins, self._env)
        if account.key not in self._made:
            self._made[account.key] = self._make(account)
        return self._made[account.key]

    async def refresh(self, server: Server) -> None:
        """Someone has logged in to a server, or out of it."""
        if isinstance(made := self(server), OAuthAuthorizer):
            await made.forget()

    def challenge(self, server: Server) -> Challenge | None:
        """What a server has said about the login that it wants."""
        made = self(server)
        return made.challenge if isinstance(made, OAuthAuthorizer) else None

    def _make(self, account: Account) -> OAuthAuthorizer:
        if account.settings.grant_type is not None:
            return OAuthAuthorizer(account, visit=self._visit, silent=machine_login)
        provider, visit = self._provider, self._visit
        if not account.settings.xaa or provider is None:
            return OAuthAuthorizer(account, visit=visit)

        async def silent(known: Account, wire: AuthHttp, said: Challenge) -> Login | None:
            return await enterprise_login(known, provider, wire=wire, challenge=said, visit=visit)

        return OAuthAuthorizer(account, silent=silent)
