"""Where requests to Google Cloud get their token: a variable first, then the chain that google-auth walks."""

import asyncio
import time
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from bridle.providers.credentials.user_command import output_of
from bridle.providers.vendor import CloudCommands
from bridle.types.errors import ProviderError

_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
_VARIABLES = ("GOOGLE_OAUTH_ACCESS_TOKEN", "CLOUDSDK_AUTH_ACCESS_TOKEN")
_EARLY = 120.0
"""Seconds before its end that a token is asked for again."""
_PATIENCE = 60.0
_REFRESH_PATIENCE = 180.0
"""A login in the browser takes its time."""
_NO_CHAIN = (
    "No credential for Google Cloud: set CLOUDSDK_AUTH_ACCESS_TOKEN (from `gcloud auth print-access-token`), "
    "or install bridle[google] for application default credentials."
)
_NOTHING_FOUND = "No credential for Google Cloud: run `gcloud auth application-default login`."


class TokenChain:
    """Finds an access token and keeps it until it is about to end."""

    def __init__(self) -> None:
        self._credentials: Any = None
        self._token = ""
        self._until = 0.0

    async def find(self, env: Mapping[str, str]) -> str:
        """A token that is valid now.

        Raises:
            ProviderError: there is none.
        """
        given = next((token for name in _VARIABLES if (token := env.get(name, "").strip())), "")
        if given:
            return given
        if not self._token or time.time() >= self._until:
            try:
                async with asyncio.timeout(_PATIENCE):
                    await asyncio.to_thread(self._ask_chain)
            except TimeoutError as error:
                text = f"No token from Google after {_PATIENCE:g} s: check your network."
                raise ProviderError(text, kind="authentication_failed") from error
        return self._token

    async def renewed(self, env: Mapping[str, str], commands: CloudCommands) -> bool:
        """Whether there may be a new token now that the old one is refused or missing.

        Raises:
            ProviderError: the user's command, which should see to that, fails.
        """
        self._credentials, self._token = None, ""
        if not commands.gcp_refresh:
            return False
        await output_of(
            commands.gcp_refresh,
            env,
            setting="gcpAuthRefresh",
            remedy="set CLOUDSDK_AUTH_ACCESS_TOKEN",
            patience=_REFRESH_PATIENCE,
        )
        return True

    def _ask_chain(self) -> None:
        try:
            auth = import_module("google.auth")
            faults = import_module("google.auth.exceptions")
        except ImportError as error:
            raise ProviderError(_NO_CHAIN, kind="authentication_failed") from error
        try:
            if self._credentials is None:
                self._credentials, _ = auth.default(scopes=[_SCOPE])
            self._credentials.refresh(_Transport())
        except faults.GoogleAuthError as error:
            text = f"{_NOTHING_FOUND} ({error})"
            raise ProviderError(text, kind="authentication_failed") from error
        self._token = self._credentials.token
        expiry: Any = self._credentials.expiry
        # Their times are UTC without saying so.
        left = 3600.0 if expiry is None else (expiry - type(expiry).utcfromtimestamp(0)).total_seconds()
        self._until = (time.time() + left if expiry is None else left) - _EARLY


class _Transport:
    """What google-auth sends its own requests with, so that it needs no other package."""

    def __call__(
        self,
        url: str,
        method: str = "GET",
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
        **_: Any,
    ) -> "_Answer":
        from urllib.error import HTTPError, URLError
        from urllib.request import Request, urlopen

        request = Request(url, data=body, headers=dict(headers or {}), method=method)
        try:
            with urlopen(request, timeout=timeout or 30) as response:
                return _Answer(response.status, dict(response.headers), response.read())
        except HTTPError as error:
            return _Answer(error.code, dict(error.headers), error.read())
        except (URLError, OSError) as error:
            raise import_module("google.auth.exceptions").TransportError(str(error)) from error


class _Answer:
    def __init__(self, status: int, headers: Mapping[str, str], data: bytes) -> None:
        self.status = status
        self.headers = headers
        self.data = data
