"""Managed settings from an address of the administrator, with the last good copy kept."""

import os.path
import time
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from bridle.config.schema import RemotePolicy
from bridle.host.files import make_folders, read_bytes, write_atomic
from bridle.types.errors import ConfigError
from bridle.types.text import printable

_LARGEST = 1024 * 1024
_SECONDS = 5.0
_FRESH = 3600.0
"""How old a copy may be before it is fetched again."""
_NOT_REMOTE = ("policyHelper", "bridleRemotePolicy", "forceRemoteSettingsRefresh")
"""What decides where settings come from stays on the machine."""


class _Copy(Struct, frozen=True):
    url: str
    fetched: float
    settings: dict[str, Any]


def remote_settings(
    policy: RemotePolicy, env: Mapping[str, str], home: str, *, forced: bool, now: float | None = None
) -> tuple[dict[str, Any], str]:
    """The managed settings that the address serves, and what is wrong: then the last good copy counts.

    Raises:
        ConfigError: nothing can be fetched, and nothing else may count (`forceRemoteSettingsRefresh`), or the
            address cannot be used.
    """
    now = time.time() if now is None else now
    path = os.path.join(home, "remote-settings.json")
    _check(policy.url)
    copy = _kept(path, policy.url)
    if copy is not None and not forced and 0 <= now - copy.fetched < _FRESH:
        return copy.settings, ""
    try:
        settings = _fetched(policy, env)
    except ConfigError as error:
        if forced:
            raise
        return ({} if copy is None else copy.settings), str(error)
    try:
        make_folders(home, private=True)
        write_atomic(path, msgspec.json.encode(_Copy(policy.url, now, settings)), mode=0o600)
    except OSError as error:
        return settings, f"Could not save the managed settings: {error.strerror} ({path})."
    return settings, ""


def _check(url: str) -> None:
    plain = url.startswith(("http://127.0.0.1", "http://localhost", "http://[::1]"))
    if not url.startswith("https://") and not plain:
        raise ConfigError("bridleRemotePolicy.url must begin with https://.")


def _kept(path: str, url: str) -> _Copy | None:
    try:
        copy = msgspec.json.decode(read_bytes(path, 2 * _LARGEST), type=_Copy)
    except (OSError, msgspec.MsgspecError, RecursionError):
        return None  # A copy that cannot be read is as good as none.
    return copy if copy.url == url else None


def _fetched(policy: RemotePolicy, env: Mapping[str, str]) -> dict[str, Any]:
    # Only machines with a remote policy pay for the import.
    from http.client import HTTPException
    from urllib.request import Request, urlopen

    request = Request(policy.url, headers={"accept": "application/json"})
    if policy.key_variable and (key := env.get(policy.key_variable, "").strip()):
        request.add_header("authorization", f"Bearer {key}")
    seconds = _SECONDS if policy.timeout_ms is None else policy.timeout_ms / 1000
    try:
        with urlopen(request, timeout=seconds) as response:
            data = response.read(_LARGEST + 1)
    except (OSError, HTTPException, ValueError) as error:
        why = printable(str(error))
        raise ConfigError(f"Could not fetch managed settings from {policy.url}: {why}.") from error
    try:
        envelope = msgspec.json.decode(data) if len(data) <= _LARGEST else None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        envelope = None
    values = envelope.get("managedSettings") if isinstance(envelope, dict) else None
    if not isinstance(values, dict):
        raise ConfigError(f'{policy.url} does not serve {{"managedSettings": {{…}}}}.')
    return {name: value for name, value in values.items() if name not in _NOT_REMOTE}
