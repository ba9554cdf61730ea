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
from bridle.extensions.pending_events import note_event
from bridle.host.stdio import ask_secret, complain
from bridle.providers import catalog, vendors
from bridle.providers.credentials.login import (
    SavedLogin,
    check_key,
    check_policy,
    checked_key,
    keep_key,
    pinned_organizations,
    shadowing_variable,
)
from bridle.providers.credentials.store import Credentials
from bridle.providers.http_provider import ServiceEndpoint
from bridle.providers.keys import HELPER, source_of
from bridle.providers.refusals import NO_SUBSCRIPTION, has_subscription
from bridle.providers.routes import place_of
from bridle.providers.vendor import Vendor
from bridle.types.errors import ProviderError, UsageError
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
        raise UsageError(f"--{foreign} is a login of Anthropic's own programs: use an API key")
    name = _name(given)
    config, env = _surroundings(env)
    check_policy(name, config.settings, env)
    return _login(given, name, env, config.settings)


def setup_token(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Print a key that works, for scripts and other machines; nothing is stored.

    Raises:
        UsageError: there is no such vendor, or not interactive.
        ProviderError: the service does not take the key.
    """
    name = _name(given)
    config, env = _surroundings(env)
    check_policy(name, config.settings, env)
    vendor = _vendor(name)
    place = place_of(vendor, env)
    if vendor.name == "openrouter" and not given.on("key-stdin"):
        from bridle.cli.verbs.auth_browser import fetch_key

        key = asyncio.run(fetch_key(place, complain))
    else:
        key = checked_key(_asked(vendor, from_stdin=given.on("key-stdin")))
    if not given.on("no-verify"):
        asyncio.run(check_key(place, key, settings=config.settings))
    complain(f"Nothing was stored. Use it with: export {vendor.key_env[0]}=<token>")
    return say(f"{key}\n")


def logout(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Forget stored keys.

    Raises:
        ConfigError: a key cannot be forgotten.
    """
    _, env = _surroundings(env)
    credentials = Credentials(env)
    names = list(credentials.vendors()) if given.on("all") else [_name(given)]
    forgotten = [name for name in names if credentials.forget(name)]
    for name in forgotten:
        note_event(env, "auth", action="logout", success=True, vendor=name)
    if not forgotten:
        return say("No stored key to remove.\n")
    return say(f"Removed the key of {', '.join(forgotten)}. Keys in variables are not changed.\n")


def status(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Say where keys come from; the exit code is 1 if there is none for the model."""
    config, env = _surroundings(env)
    return _status(config, env, as_text=given.on("text"))


def _name(given: ParsedArguments) -> str:
    return (given.text("vendor") or "anthropic").lower()


def _login(given: ParsedArguments, name: str, env: Mapping[str, str], settings: Settings) -> int:
    vendor = _vendor(name)
    place = place_of(vendor, env)
    if not place.base:
        raise UsageError(f"the URL of {vendor.label} is not set: set {vendor.url_env[0]} first")
    way: Literal["key", "oauth"] = "key"
    if given.on("browser"):
        from bridle.cli.verbs.auth_browser import fetch_key

        if vendor.name != "openrouter":
            raise UsageError(f"{vendor.label} does not offer a browser login: use an API key")
        key, way = asyncio.run(fetch_key(place, say)), "oauth"
    else:
        key = _asked(vendor, from_stdin=given.on("key-stdin"))
    saved, untested = _saved(place, key, settings, way, tries=not given.on("no-verify"))
    note_event(env, "auth", action="login", success=True, auth_method=way, vendor=vendor.name)
    where = "the keyring" if saved.where == "keyring" else saved.file
    tried = " and works" if saved.verified else ""
    shadow = shadowing_variable(vendor, env)
    note = f"\nNote: {shadow} is set and takes precedence." if shadow else ""
    return say(f"The key for {vendor.label} is saved in {where}{tried}.{untested}{note}\nNow run: bridle\n")


def _saved(
    place: ServiceEndpoint, key: str, settings: Settings, way: Literal["key", "oauth"], *, tries: bool
) -> tuple[SavedLogin, str]:
    """The key as it was saved, and why it could not be tested where the service cannot be reached."""
    try:
        return asyncio.run(keep_key(place, key, settings=settings, tries=tries, way=way)), ""
    except ProviderError as error:
        if not tries or error.status is not None or pinned_organizations(place.vendor.name, settings):
            raise
        saved = asyncio.run(keep_key(place, key, settings=settings, tries=False, way=way))
        return saved, f"\nIt could not be tested: {error} Use --no-verify to skip the test."


def _status(config: Config, env: Mapping[str, str], *, as_text: bool) -> int:
    from bridle.config.options import SessionOptions
    from bridle.providers.model_listing import Choice, offer
    from bridle.session.model_choices import choose_model

    model = choose_model(SessionOptions(), config, env)
    own = config.raw.get("bridleModels") or {}
    line = offer(model, Choice(settings=config.settings, own=own, env=env))
    found = {row.name: source for row in vendors.VENDORS if (source := _source(row, config, env)) is not None}
    logged_in = line.key != "missing"
    method = _method(line.service, line.key_source)
    output: dict[str, Any] = {
        "loggedIn": logged_in,
        "authMethod": method,
        "apiProvider": "firstParty" if line.vendor == "anthropic" else line.vendor,
        "model": catalog.resolve(model, env, own=own),
        "vendors": found,
    }
    if method in ("api_key", "api_key_helper"):
        output["apiKeySource"] = line.key_source
    refused = not logged_in and line.vendor == "anthropic" and has_subscription(env)
    if refused:
        output["note"] = NO_SUBSCRIPTION
    if as_text:
        lines = [f"{output['model']}: {line.key_source or 'no key'}"]
        lines += [f"{name:<20}{source}" for name, source in found.items()]
        lines += [NO_SUBSCRIPTION] if refused else []
        code = tell(*lines)
    else:
        code = say(msgspec.json.format(msgspec.json.encode(output), indent=2).decode() + "\n")
    return code or (0 if logged_in else 1)


def _method(vendor: str, source: str | None) -> str:
    """The way of logging in, in the words that other programs look for."""
    from bridle.providers.model_listing import CLOUD_LOGINS

    if vendor in CLOUD_LOGINS:
        return "third_party"
    if source is None:
        return "none"
    row = vendors.find(vendor)
    if source == "ANTHROPIC_AUTH_TOKEN" or (row is not None and source in row.token_env):
        return "oauth_token"
    return "api_key_helper" if source == HELPER else "api_key"


def _source(row: Vendor, config: Config, env: Mapping[str, str]) -> str | None:
    return source_of(row.name, (*row.token_env, *row.key_env), env, helper=config.settings.api_key_helper)


def _asked(vendor: Vendor, *, from_stdin: bool) -> str:
    if from_stdin:
        key = sys.stdin.read(_LONGEST).strip()
    elif sys.stdin.isatty():
        key = ask_secret(f"Key for {vendor.label} (it is not shown): ").strip()
    else:
        raise UsageError("not interactive: pipe the key in and add --key-stdin")
    return checked_key(key)


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
