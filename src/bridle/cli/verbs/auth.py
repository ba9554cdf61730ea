"""`bridle auth`: keep keys for model services, see which there are, forget them."""

import asyncio
import os
import sys
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from bridle.cli.say import say, tell
from bridle.cli.subcommands.parser import ParsedArguments
from bridle.config.load import Config, environment, load
from bridle.config.schema import Settings
from bridle.config.state import is_trusted
from bridle.host.stdio import ask_secret
from bridle.providers import vendors
from bridle.providers.credentials.store import Credentials
from bridle.providers.http_provider import ServiceEndpoint
from bridle.providers.keys import source_of
from bridle.providers.routes import place_of
from bridle.providers.service_check import organisation, verify
from bridle.providers.vendor import Vendor
from bridle.types.errors import UsageError
from bridle.types.nearest import did_you_mean

_LONGEST = 16 * 1024


def login(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Store a key.

    Raises:
        UsageError: there is no such vendor, or not interactive.
        ConfigError: the key cannot be stored.
        ProviderError: the service does not take the key.
    """
    foreign = next((name for name in ("sso", "email", "claudeai") if given.has(name)), None)
    if foreign is not None:
        raise UsageError(f"--{foreign} belongs to a login of Anthropic's own programs: use an API key")
    name = _name(given)
    config, env = _surroundings(env)
    check_policy(name, config.settings, env)
    return _login(given, name, env, pinned_organisations(name, config.settings))


def logout(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Forget stored keys.

    Raises:
        ConfigError: a key cannot be forgotten.
    """
    _, env = _surroundings(env)
    credentials = Credentials(env)
    names = list(credentials.vendors()) if given.on("all") else [_name(given)]
    forgotten = [name for name in names if credentials.forget(name)]
    if not forgotten:
        return say("No stored key to remove.\n")
    return say(f"Removed the key of {', '.join(forgotten)}. Keys in variables are not changed.\n")


def status(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Say where keys come from; the exit code is 1 if there is none for the model."""
    config, env = _surroundings(env)
    return _status(config, env, as_text=given.on("text"))


def _name(given: ParsedArguments) -> str:
    return (given.text("vendor") or "anthropic").lower()


def _login(given: ParsedArguments, name: str, env: Mapping[str, str], pinned: frozenset[str]) -> int:
    vendor = _vendor(name)
    place = place_of(vendor, env)
    if not place.base:
        raise UsageError(f"nothing says where {vendor.label} is: set {vendor.url_env[0]} first")
    way: Literal["key", "oauth"] = "key"
    if given.on("browser"):
        from bridle.cli.verbs.auth_browser import fetch_key

        if vendor.name != "openrouter":
            raise UsageError(f"{vendor.label} has no login for other programs: use an API key")
        key, way = asyncio.run(fetch_key(place, say)), "oauth"
    else:
        key = _asked(vendor, from_stdin=given.on("key-stdin"))
    if pinned:
        asyncio.run(_check_organisation(place, key, pinned))
    tries = way == "key" and not given.on("no-verify")
    verified = bool(pinned) or (tries and asyncio.run(verify(place, key)))
    where = Credentials(env).save(vendor.name, key, address=place.base, now=_now(), way=way)
    kept = "the keyring" if where == "keyring" else Credentials(env).path
    tried = " and works" if verified else ""
    shadow = next((name for name in vendor.key_env if env.get(name, "").strip()), None)
    note = f"\nNote: {shadow} is set and counts first." if shadow else ""
    return say(f"The key for {vendor.label} is kept in {kept}{tried}.{note}\n")


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
                raise UsageError(f"forceLoginMethod wants the gateway: set ANTHROPIC_BASE_URL to {url}")
        case _:
            pass


def pinned_organisations(vendor: str, settings: Settings) -> frozenset[str]:
    """The organisations at Anthropic whose keys may be kept, none where the settings name none."""
    named = settings.force_login_org_uuid if vendor == "anthropic" else None
    return frozenset((named,) if isinstance(named, str) else named or ())


async def _check_organisation(place: ServiceEndpoint, key: str, pinned: frozenset[str]) -> None:
    found = await organisation(place, key)
    if found not in pinned:
        whose = f"belongs to the organisation {found}" if found else "does not name its organisation"
        raise UsageError(f"the key {whose}, and forceLoginOrgUUID wants {' or '.join(sorted(pinned))}")


def _status(config: Config, env: Mapping[str, str], *, as_text: bool) -> int:
    from bridle.config.options import SessionOptions
    from bridle.providers import catalog
    from bridle.providers.model_listing import Choice, offer
    from bridle.session.model_choices import choose_model

    model = choose_model(SessionOptions(), config, env)
    own = config.raw.get("bridleModels") or {}
    line = offer(model, Choice(settings=config.settings, own=own, env=env))
    found = {row.name: source for row in vendors.VENDORS if (source := _source(row, config, env)) is not None}
    logged_in = line.key != "missing"
    output: dict[str, Any] = {
        "loggedIn": logged_in,
        "authMethod": line.key_source or "none",
        "apiProvider": "firstParty" if line.vendor == "anthropic" else line.vendor,
        "model": catalog.resolve(model, env, own=own),
        "vendors": found,
    }
    if as_text:
        lines = [f"{output['model']}: {line.key_source or 'no key'}"]
        lines += [f"{name:<20}{source}" for name, source in found.items()]
        code = tell(*lines)
    else:
        code = say(msgspec.json.format(msgspec.json.encode(output), indent=2).decode() + "\n")
    return code or (0 if logged_in else 1)


def _source(row: Vendor, config: Config, env: Mapping[str, str]) -> str | None:
    return source_of(row.name, (*row.token_env, *row.key_env), env, helper=config.settings.api_key_helper)


def _asked(vendor: Vendor, *, from_stdin: bool) -> str:
    if from_stdin:
        key = sys.stdin.read(_LONGEST).strip()
    elif sys.stdin.isatty():
        key = ask_secret(f"Key for {vendor.label} (it is not shown): ").strip()
    else:
        raise UsageError("not interactive: pipe the key in and add --key-stdin")
    if not key or not key.isascii() or not key.isprintable() or " " in key:
        raise UsageError("that is no key: it must be one word of plain characters")
    return key


def _vendor(name: str) -> Vendor:
    from bridle.providers.model_listing import CLOUD_LOGINS

    if name in CLOUD_LOGINS:
        raise UsageError(f"{name} has no key to keep: {CLOUD_LOGINS[name]}")
    vendor = vendors.find(name)
    if vendor is None or not vendor.key_env:
        known = [row.name for row in vendors.VENDORS if row.key_env and row.name not in CLOUD_LOGINS]
        hint = did_you_mean(name, known) or f": use one of {', '.join(known)}"
        raise UsageError(f"unknown vendor {name!r}{hint}")
    return vendor


def _surroundings(env: Mapping[str, str]) -> tuple[Config, dict[str, str]]:
    cwd = os.getcwd()
    config = load(cwd=cwd, env=env, flag=None, setting_sources=None)
    return config, environment(config, env, trusted=is_trusted(env, cwd))


def _now() -> str:
    import time

    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
