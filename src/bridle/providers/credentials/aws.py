"""Credentials for requests to Amazon, from variables or the chain that botocore walks, and the signature."""

import asyncio
import os
import time
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from bridle.host.aws_signature import AwsCredentials, Scope, authorization
from bridle.host.http.address import split_url
from bridle.host.http.client import Request
from bridle.providers import url_parts
from bridle.providers.credentials.user_command import fault, output_of
from bridle.providers.vendor import CloudCommands
from bridle.types.errors import ProviderError
from bridle.types.variables import is_on

_KEPT_FOR = 300.0
"""Seconds; the chain refreshes what expires, so that asking it again is cheap."""
_PATIENCE_MS = 60_000
_EXPORT_PATIENCE = 60.0
_REFRESH_PATIENCE = 180.0
"""A login in the browser takes its time."""
_EARLY = 120.0
"""Seconds before their end that credentials are asked for again."""
_EXPORT_KEPT_FOR = 3600.0
_REMEDY = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
_NO_CHAIN = (
    "No credential for Amazon Bedrock: set AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and "
    "AWS_SECRET_ACCESS_KEY, or install bridle[aws] for profiles, SSO and instance roles."
)
_NOTHING_FOUND = (
    "No credential for Amazon Bedrock: run `aws sso login`, choose a profile with AWS_PROFILE, or set "
    "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY."
)


class CredentialChain:
    """Finds credentials and keeps them for a while."""

    def __init__(self) -> None:
        self._session: Any = None
        self._found: AwsCredentials | None = None
        self._until = 0.0
        self._exported: tuple[AwsCredentials, float] | None = None
        """What the user's command printed, and the time until which it is used."""

    async def find(self, env: Mapping[str, str], commands: CloudCommands | None = None) -> AwsCredentials:
        """Credentials that are valid now: what the user's command exports, else variables, else the chain.

        Raises:
            ProviderError: there are none.
        """
        if commands is not None and commands.aws_export:
            return await self._export(commands.aws_export, env)
        if (given := from_variables(env)) is not None:
            return given
        fresh = self._found is not None and time.monotonic() < self._until
        if self._found is None or not fresh or is_on(env, "CLAUDE_CODE_SKIP_AWS_CRED_CACHE"):
            self._found = await self._walk(env)
            self._until = time.monotonic() + _KEPT_FOR
        return self._found

    async def renewed(self, env: Mapping[str, str], commands: CloudCommands) -> bool:
        """Whether there may be new credentials now that the old ones are refused or missing.

        Raises:
            ProviderError: the user's command, which should see to that, fails.
        """
        self._session = self._found = self._exported = None
        if commands.aws_refresh:
            await output_of(
                commands.aws_refresh,
                env,
                setting="awsAuthRefresh",
                remedy=_REMEDY,
                patience=_REFRESH_PATIENCE,
            )
        return bool(commands.aws_refresh or commands.aws_export)

    async def _export(self, command: str, env: Mapping[str, str]) -> AwsCredentials:
        if self._exported is None or time.time() >= self._exported[1]:
            printed = await output_of(
                command, env, setting=_EXPORT, remedy=_REMEDY, patience=_EXPORT_PATIENCE
            )
            self._exported = _read(printed)
        return self._exported[0]

    async def _walk(self, env: Mapping[str, str]) -> AwsCredentials:
        given = env.get("CLAUDE_CODE_AWS_CHAIN_RESOLVE_TIMEOUT_MS", "")
        patience = (int(given) if given.isdecimal() and int(given) > 0 else _PATIENCE_MS) / 1000
        try:
            async with asyncio.timeout(patience):
                return await asyncio.to_thread(self._ask_chain, env.get("AWS_PROFILE"))
        except TimeoutError as error:
            text = f"No credential from Amazon after {patience:g} s: check your profile and network."
            raise ProviderError(text, kind="authentication_failed") from error

    def _ask_chain(self, profile: str | None) -> AwsCredentials:
        try:
            sessions = import_module("botocore.session")
            faults = import_module("botocore.exceptions")
        except ImportError as error:
            raise ProviderError(_NO_CHAIN, kind="authentication_failed") from error
        try:
            self._session = self._session or sessions.Session(profile=profile)
            found: Any = self._session.get_credentials()
            frozen: Any = None if found is None else found.get_frozen_credentials()
        except faults.BotoCoreError as error:
            text = f"{_NOTHING_FOUND} ({error})"
            raise ProviderError(text, kind="authentication_failed") from error
        if frozen is None or not frozen.access_key:
            raise ProviderError(_NOTHING_FOUND, kind="authentication_failed")
        return AwsCredentials(frozen.access_key, frozen.secret_key, frozen.token)


_EXPORT = "awsCredentialExport"


class _Export(Struct, rename="pascal"):
    access_key_id: str
    secret_access_key: str
    session_token: str | None = None
    expiration: str | None = None


def _read(printed: str) -> tuple[AwsCredentials, float]:
    """Credentials as STS or a credential process prints them, and until when they are used."""
    try:
        value: Any = msgspec.json.decode(printed)
        inner = value.get("Credentials", value) if isinstance(value, dict) else value
        found = msgspec.convert(inner, _Export)
    except msgspec.DecodeError as error:
        raise fault(_EXPORT, f"printed no credentials ({error})", _REMEDY) from error
    until = time.time() + _EXPORT_KEPT_FOR
    if found.expiration:
        from datetime import datetime  # Few exports say it.

        try:
            until = datetime.fromisoformat(found.expiration).timestamp() - _EARLY
        except ValueError as error:
            raise fault(_EXPORT, f"printed an invalid time ({error})", _REMEDY) from error
    return AwsCredentials(found.access_key_id, found.secret_access_key, found.session_token), until


def from_variables(env: Mapping[str, str]) -> AwsCredentials | None:
    key, secret = env.get("AWS_ACCESS_KEY_ID"), env.get("AWS_SECRET_ACCESS_KEY")
    return AwsCredentials(key, secret, env.get("AWS_SESSION_TOKEN") or None) if key and secret else None


def region_of(env: Mapping[str, str]) -> str:
    """The region of requests: a variable, the profile, or the one that has everything first."""
    given = env.get("AWS_REGION") or env.get("AWS_DEFAULT_REGION")
    return url_parts.region(given or _region_of_profile(env) or "us-east-1")


def _region_of_profile(env: Mapping[str, str]) -> str | None:
    from configparser import ConfigParser, Error  # Only those who set no variable need the file.

    home = env.get("HOME") or os.path.expanduser("~")
    path = env.get("AWS_CONFIG_FILE") or os.path.join(home, ".aws", "config")
    profile = env.get("AWS_PROFILE") or "default"
    parser = ConfigParser(interpolation=None)
    try:
        parser.read(path, encoding="utf-8")
    except (Error, OSError, UnicodeDecodeError):
        return None
    for section in (f"profile {profile}", profile):
        if parser.has_option(section, "region"):
            return parser.get(section, "region").strip()
    return None


def signed(request: Request, credentials: AwsCredentials, *, region: str, service: str) -> Request:
    """The request as Amazon's services want it: dated, and signed for one region and service."""
    origin, target = split_url(request.url)
    scope = Scope(time.strftime("%Y%m%dT%H%M%SZ", time.gmtime()), region, service)
    headers = [*request.headers, ("x-amz-date", scope.moment)]
    if credentials.session_token is not None:
        headers.append(("x-amz-security-token", credentials.session_token))
    signature = authorization(
        request.method,
        target,
        [("host", origin.authority), *headers],
        request.body,
        credentials=credentials,
        scope=scope,
    )
    return replace(request, headers=(*headers, ("authorization", signature)))
