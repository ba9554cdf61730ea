"""Takes a key from a user: checks that it may be kept, tries it, and keeps it."""

import asyncio
import time
from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from bridle.config.schema import Settings
from bridle.host.secrets import SECRETS
from bridle.providers.credentials.store import Credentials, Where
from bridle.providers.http_provider import ServiceEndpoint
from bridle.providers.service_check import organization, verify
from bridle.providers.vendor import Vendor
from bridle.types.errors import UsageError


class SavedLogin(Struct, frozen=True):
    """Where a key went, and whether the service took it."""

    where: Where
    file: str
    verified: bool


def checked_key(text: str) -> str:
    """The key in what a user typed or pasted.

    Raises:
        UsageError: there is none.
    """
    key = text.strip()
    if not key or not key.isascii() or not key.isprintable() or " " in key:
        raise UsageError("not a key: a key is one word without spaces")
    return key


async def keep_key(
    place: ServiceEndpoint,
    key: str,
    *,
    settings: Settings,
    tries: bool = True,
    way: Literal["key", "oauth"] = "key",
) -> SavedLogin:
    """Try a key and keep it.

    Raises:
        UsageError: the settings do not allow it.
        ProviderError: the service does not take it, or cannot be reached.
        ConfigError: it cannot be written.
    """
    vendor, env = place.vendor, place.env
    SECRETS.learn(key)
    pinned = pinned_organizations(vendor.name, settings)
    if pinned:
        await _check_organization(place, key, pinned)
    verified = bool(pinned) or (tries and way == "key" and await verify(place, key))
    credentials = Credentials(env)
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    where = await asyncio.to_thread(credentials.save, vendor.name, key, address=place.base, now=now, way=way)
    return SavedLogin(where, credentials.path, verified)


async def check_key(place: ServiceEndpoint, key: str, *, settings: Settings) -> None:
    """Try a key that is not kept.

    Raises:
        UsageError: the settings do not allow it.
        ProviderError: the service does not take it, or cannot be reached.
    """
    SECRETS.learn(key)
    if pinned := pinned_organizations(place.vendor.name, settings):
        await _check_organization(place, key, pinned)
    else:
        await verify(place, key)


def check_policy(vendor: str, settings: Settings, env: Mapping[str, str]) -> None:
    """Make sure that the settings allow to log in with a key; what they say is about Anthropic alone.

    Raises:
        UsageError: they want another way.
    """
    if vendor != "anthropic":
        return
    match settings.force_login_method:
        case "claudeai":
            raise UsageError(
                "forceLoginMethod allows only a subscription, which is for Anthropic's own programs: "
                "ask for API keys, or use another vendor"
            )
        case "gateway":
            url = (settings.force_login_gateway_url or "").rstrip("/")
            if url and env.get("ANTHROPIC_BASE_URL", "").rstrip("/") != url:
                raise UsageError(f"forceLoginMethod requires the gateway: set ANTHROPIC_BASE_URL to {url}")
        case _:
            pass


def pinned_organizations(vendor: str, settings: Settings) -> frozenset[str]:
    """The organizations at Anthropic whose keys may be kept, none where the settings name none."""
    named = settings.force_login_org_uuid if vendor == "anthropic" else None
    return frozenset((named,) if isinstance(named, str) else named or ())


async def _check_organization(place: ServiceEndpoint, key: str, pinned: frozenset[str]) -> None:
    found = await organization(place, key)
    if found not in pinned:
        whose = f"belongs to the organization {found}" if found else "does not name its organization"
        raise UsageError(f"the key {whose}, but forceLoginOrgUUID requires {' or '.join(sorted(pinned))}")


def shadowing_variable(vendor: Vendor, env: Mapping[str, str]) -> str | None:
    """A variable with a key that counts before one that is kept."""
    return next((name for name in vendor.key_env if env.get(name, "").strip()), None)
