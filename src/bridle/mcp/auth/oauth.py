"""Lets requests to one server in: tokens from the vault, refreshed in time, or by a login."""

import asyncio
import os
import os.path
from collections.abc import Awaitable, Callable, Mapping

import msgspec

from bridle.host.files import make_folders
from bridle.host.lock import FileLock, Locked
from bridle.host.paths import bridle_dir
from bridle.mcp.auth.browser_login import BrowserLogin
from bridle.mcp.auth.challenge import Challenge, read_challenge
from bridle.mcp.auth.dpop import SCHEME, Prover
from bridle.mcp.auth.errors import LoginFailed
from bridle.mcp.auth.http import AuthHttp
from bridle.mcp.auth.login import Account, log_in, log_out, refresh
from bridle.mcp.auth.saved_logins import Login
from bridle.mcp.auth.signing import SigningKey

_LOCK_PATIENCE = 45.0
_MOST_STEPS = 3

Silent = Callable[[Account, AuthHttp, Challenge], Awaitable[Login | None]]
"""Gets a login without a person; None when that cannot be done."""


class OAuthAuthorizer:
    """One for each server and session; two requests at once share one refresh."""

    def __init__(
        self, account: Account, *, visit: BrowserLogin | None = None, silent: Silent | None = None
    ) -> None:
        self._account = account
        self._visit = visit
        self._silent = silent
        self._login: Login | None = None
        self._loaded = False
        self._busy = asyncio.Lock()
        self._prover: tuple[str, Prover] | None = None
        self._sent = ""
        """The token of the newest request."""
        self._steps: list[str] = []
        """Rights that were asked for beyond the first login."""
        self.challenge = Challenge()
        """What the server said last about the login that it wants."""

    async def headers(self, method: str, url: str) -> Mapping[str, str]:
        login = await self._current()
        if login is not None and not login.is_good(self._account.clock()) and login.refresh_token:
            async with self._busy:
                login = await self._renewed(login)
        if login is None or not login.access_token:
            self._sent = ""
            return {}
        self._sent = login.access_token
        if (prover := self._prover_of(login)) is None:
            return {"Authorization": f"Bearer {login.access_token}"}
        proof = prover.proof(method, url, login.access_token)
        return {"Authorization": f"{SCHEME} {login.access_token}", "DPoP": proof}

    def note_nonce(self, url: str, nonce: str) -> None:
        if self._prover is not None:
            self._prover[1].note_nonce(url, nonce)

    def _prover_of(self, login: Login) -> Prover | None:
        """Who signs for a token that is bound to a key; the nonces of the server are kept with it."""
        if login.dpop_key is None:
            return None
        if self._prover is None or self._prover[0] != login.dpop_key:
            self._prover = (login.dpop_key, Prover(SigningKey.read(login.dpop_key)))
        return self._prover[1]

    async def challenged(self, status: int, challenge: str) -> bool:
        said = read_challenge(challenge)
        sent = self._sent
        if status == 403 and not said.wants_more:
            return False
        if said.error == "use_dpop_nonce":
            return self._prover is not None
        async with self._busy:
            known = self._login
            if known is not None and known.access_token and known.access_token != sent:
                return True  # Another request has fixed it meanwhile.
            self.challenge = said
            try:
                return await (self._step_up(said) if status == 403 else self._enter(said, sent))
            except LoginFailed:
                # A person can log in later; no one can for a machine.
                if self._visit is not None or self._account.settings.grant_type is not None:
                    raise
                return False

    async def log_in(self, visit: BrowserLogin) -> None:
        """Log in with a person at a browser, whatever login there is.

        Raises:
            LoginFailed: it did not work; an earlier login is as it was.
        """
        wire = AuthHttp(self._account.env)
        try:
            self._login = await log_in(self._account, visit, wire=wire, challenge=self.challenge)
        finally:
            await wire.close()
        self._loaded = True

    async def log_out(self) -> None:
        """Make the tokens void and forget them.

        Raises:
            LoginFailed: what is kept cannot be changed.
        """
        wire = AuthHttp(self._account.env)
        try:
            await log_out(self._account, wire=wire)
        finally:
            await wire.close()
        self._login, self._loaded = None, True

    async def forget(self) -> None:
        """Look into the vault again: someone has logged in or out."""
        self._loaded = False

    async def _enter(self, said: Challenge, sent: str) -> bool:
        """The token is missing, or not taken any more."""
        self._loaded = False
        login = await self._current()
        if login is not None and login.access_token and login.access_token != sent:
            return True  # Another process has it fresher.
        if login is not None and login.refresh_token and await self._renewed(login, force=True) is not None:
            return True
        if self._silent is not None and await self._locked_silent(self._silent, said):
            return True
        return await self._log_in(said)

    async def _step_up(self, said: Challenge) -> bool:
        """The token is good, and more is needed; the same is never asked for twice."""
        if said.scope in self._steps or len(self._steps) >= _MOST_STEPS:
            return False
        self._steps.append(said.scope)
        if self._login is not None:
            kept = msgspec.structs.replace(self._login, step_up_scope=said.scope or None)
            await asyncio.to_thread(self._account.logins.save, self._account.key, kept)
            self._login = kept
        return await self._log_in(said)

    async def _log_in(self, said: Challenge) -> bool:
        if self._visit is None:
            return False
        wire = AuthHttp(self._account.env)
        try:
            self._login, self._loaded = (
                await log_in(self._account, self._visit, wire=wire, challenge=said),
                True,
            )
        finally:
            await wire.close()
        return True

    async def _locked_silent(self, silent: Silent, said: Challenge) -> bool:
        wire = AuthHttp(self._account.env)
        try:
            login = await silent(self._account, wire, said)
        finally:
            await wire.close()
        if login is not None:
            self._login, self._loaded = login, True
        return login is not None

    async def _current(self) -> Login | None:
        if not self._loaded:
            self._login = await asyncio.to_thread(self._account.logins.find, self._account.key)
            self._loaded = True
        return self._login

    async def _renewed(self, old: Login, *, force: bool = False) -> Login | None:
        """A fresh token: from another process that was quicker, or from the server."""
        account = self._account
        if not force and self._login is not None and self._login.is_good(account.clock()):
            return self._login
        wire = AuthHttp(account.env)
        try:
            async with FileLock(await asyncio.to_thread(self._lock_path), seconds=_LOCK_PATIENCE):
                stored = await asyncio.to_thread(account.logins.find, account.key)
                if stored is not None and stored.access_token not in ("", old.access_token):
                    self._login = stored
                elif stored is None or not stored.refresh_token:
                    self._login = stored
                    return None
                else:
                    self._login = await refresh(account, stored, wire=wire)
        except (Locked, OSError):
            # The process that holds the lock is about to write what we need.
            self._login = await asyncio.to_thread(account.logins.find, account.key)
        except LoginFailed:
            # An authorization server that is out of order does not make a token void.
            return None if force else old
        finally:
            await wire.close()
        return self._login

    def _lock_path(self) -> str:
        folder = os.path.join(bridle_dir(self._account.env), "locks")
        make_folders(folder, private=True)
        safe = self._account.key.rpartition("|")[2]
        return os.path.join(folder, f"mcp-login-{safe}.lock")
