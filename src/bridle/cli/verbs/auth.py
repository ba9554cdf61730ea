"""`bridle auth`: keep keys for model services, see which there are, forget them."""

import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from bridle.cli.say import say, tell
from bridle.config.load import Config, environment, load
from bridle.config.schema import Settings
from bridle.config.state import is_trusted
from bridle.host.stdio import ask_secret
from bridle.providers import vendors
from bridle.providers.credentials import Credentials
from bridle.providers.exchange import Place
from bridle.providers.keys import source_of
from bridle.providers.routes import place_of
from bridle.providers.vendors import Vendor
from bridle.providers.verifying import organisation, verify
from bridle.types.errors import UsageError

_HELP = """\
Usage: bridle auth login [vendor]      keep a key: typed without being shown, or from --key-stdin
       bridle auth login openrouter --browser    log in on the vendor's page instead
       bridle auth status [--text]     where keys come from, as JSON; exit code 1 without one for the model
       bridle auth logout [vendor]     forget a key; --all forgets every one

The vendor is anthropic unless named. The key is tried with a request that costs nothing, where the vendor has
one; --no-verify leaves that out. Keys go into the system's keyring, else into a file that only you can read
(BRIDLE_CREDENTIALS=keyring or file decides). Variables such as ANTHROPIC_API_KEY count before kept keys.
"""
_LONGEST = 16 * 1024


class _Wish(Struct, frozen=True):
    action: str = "help"
    vendor: str = "anthropic"
    from_stdin: bool = False
    browser: bool = False
    verifies: bool = True
    every: bool = False
    as_text: bool = False


def run_auth(argv: Sequence[str], env: Mapping[str, str]) -> int:
    """Run one subcommand.

    Raises:
        UsageError: the words are off, or nobody can be asked for a key.
        ConfigError: the key cannot be kept or forgotten.
        ProviderError: the service does not take the key.
    """
    wish = _read(argv)
    config, env = _surroundings(env)
    match wish.action:
        case "login":
            check_policy(wish.vendor, config.settings, env)
            return _login(wish, env, pinned_organisations(wish.vendor, config.settings))
        case "logout":
            return _logout(wish, env)
        case "status":
            return _status(wish, config, env)
        case _:
            return say(_HELP)


def _login(wish: _Wish, env: Mapping[str, str], pinned: frozenset[str]) -> int:
    vendor = _vendor(wish.vendor)
    place = place_of(vendor, env)
    if not place.base:
        raise UsageError(f"nothing says where {vendor.label} is: set {vendor.url_env[0]} first")
    way: Literal["key", "oauth"] = "key"
    if wish.browser:
        from bridle.cli.verbs.auth_browser import fetch_key

        if vendor.name != "openrouter":
            raise UsageError(f"{vendor.label} has no login for other programs: use an API key")
        key, way = asyncio.run(fetch_key(place, say)), "oauth"
    else:
        key = _asked(vendor, from_stdin=wish.from_stdin)
    if pinned:
        asyncio.run(_check_organisation(place, key, pinned))
    verified = bool(pinned) or (wish.verifies and way == "key" and asyncio.run(verify(place, key)))
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


async def _check_organisation(place: Place, key: str, pinned: frozenset[str]) -> None:
    found = await organisation(place, key)
    if found not in pinned:
        whose = f"belongs to the organisation {found}" if found else "does not tell its organisation"
        raise UsageError(f"the key {whose}, and forceLoginOrgUUID wants {' or '.join(sorted(pinned))}")


def _logout(wish: _Wish, env: Mapping[str, str]) -> int:
    credentials = Credentials(env)
    names = list(credentials.vendors()) if wish.every else [wish.vendor]
    forgotten = [name for name in names if credentials.forget(name)]
    if not forgotten:
        return say("There was no key to forget.\n")
    return say(f"Forgot the key of {', '.join(forgotten)}. Keys in variables are not touched.\n")


def _status(wish: _Wish, config: Config, env: Mapping[str, str]) -> int:
    from bridle.providers import catalog
    from bridle.providers.offers import Choice, offer
    from bridle.session.model_choices import choose_model
    from bridle.session.options import SessionOptions

    model = choose_model(SessionOptions(), config, env)
    own = config.raw.get("bridleModels") or {}
    line = offer(model, Choice(settings=config.settings, own=own, env=env))
    found = {row.name: source for row in vendors.VENDORS if (source := _source(row, config, env)) is not None}
    logged_in = line.key != "missing"
    told: dict[str, Any] = {
        "loggedIn": logged_in,
        "authMethod": line.key_source or "none",
        "apiProvider": "firstParty" if line.vendor == "anthropic" else line.vendor,
        "model": catalog.resolve(model, env, own=own),
        "vendors": found,
    }
    if wish.as_text:
        lines = [f"{told['model']}: {line.key_source or 'no key'}"]
        lines += [f"{name:<20}{source}" for name, source in found.items()]
        code = tell(*lines)
    else:
        code = say(msgspec.json.format(msgspec.json.encode(told), indent=2).decode() + "\n")
    return code or (0 if logged_in else 1)


def _source(row: Vendor, config: Config, env: Mapping[str, str]) -> str | None:
    return source_of(row.name, (*row.token_env, *row.key_env), env, helper=config.settings.api_key_helper)


def _asked(vendor: Vendor, *, from_stdin: bool) -> str:
    if from_stdin:
        key = sys.stdin.read(_LONGEST).strip()
    elif sys.stdin.isatty():
        key = ask_secret(f"Key for {vendor.label} (it is not shown): ").strip()
    else:
        raise UsageError("nobody can be asked for the key here: pipe it in and add --key-stdin")
    if not key or not key.isascii() or not key.isprintable() or " " in key:
        raise UsageError("that is no key: it must be one word of plain characters")
    return key


def _vendor(name: str) -> Vendor:
    from bridle.providers.offers import CLOUD_LOGINS

    if name in CLOUD_LOGINS:
        raise UsageError(f"{name} has no key to keep: {CLOUD_LOGINS[name]}")
    vendor = vendors.find(name)
    if vendor is None or not vendor.key_env:
        from difflib import get_close_matches

        known = [row.name for row in vendors.VENDORS if row.key_env and row.name not in CLOUD_LOGINS]
        close = get_close_matches(name, known, n=1)
        hint = f"did you mean {close[0]}?" if close else f"one of {', '.join(known)}"
        raise UsageError(f"there is no vendor {name!r} to log in at: {hint}")
    return vendor


def _surroundings(env: Mapping[str, str]) -> tuple[Config, dict[str, str]]:
    cwd = os.getcwd()
    config = load(cwd=cwd, env=env, flag=None, setting_sources=None)
    return config, environment(config, env, trusted=is_trusted(env, cwd))


def _now() -> str:
    import time

    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _read(argv: Sequence[str]) -> _Wish:
    words: list[str] = []
    flags = _Wish()
    for word in argv:
        match word:
            case "-h" | "--help" | "help":
                return _Wish("help")
            case "--key-stdin":
                flags = replace(flags, from_stdin=True)
            case "--browser":
                flags = replace(flags, browser=True)
            case "--no-verify":
                flags = replace(flags, verifies=False)
            case "--all":
                flags = replace(flags, every=True)
            case "--text":
                flags = replace(flags, as_text=True)
            case "--json" | "--console":
                pass  # The usual way anyhow.
            case "--sso" | "--email" | "--claudeai":
                raise UsageError(f"{word} belongs to a login of Anthropic's own programs: use an API key")
            case _ if word.startswith("-"):
                raise UsageError(f"unknown option '{word}': see bridle auth help")
            case _:
                words.append(word)
    match words:
        case []:
            return _Wish("help")
        case ["login" | "logout" as action]:
            return replace(flags, action=action)
        case ["login" | "logout" as action, vendor]:
            return replace(flags, action=action, vendor=vendor.lower())
        case ["status"]:
            return replace(flags, action="status")
        case _:
            raise UsageError(f"cannot understand 'bridle auth {' '.join(words)}': see bridle auth help")
