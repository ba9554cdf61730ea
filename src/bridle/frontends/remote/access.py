"""Access control of shared sessions, checked before a request is read."""

import hmac
import re
import secrets
from collections.abc import Mapping
from hashlib import sha256

from bridle.types.errors import UsageError

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
_TOKEN_LENGTH = 43
"""Characters of 62 kinds: 256 bits."""
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::[0-9]{1,5})?")
_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
EVERYWHERE = ("0.0.0.0", "::", "[::]")


def new_token() -> str:
    """A random key of letters and digits."""
    return "".join(secrets.choice(_LETTERS) for _ in range(_TOKEN_LENGTH))


def letter_token(token: str) -> str:
    """The key that only lets messages in, made from the one that lets everything in."""
    return hmac.new(token.encode(), b"bridle letters", sha256).hexdigest()


def has_token(headers: Mapping[str, str], *tokens: str) -> bool:
    """Whether a request carries one of these keys; how long this takes tells nothing about them."""
    scheme, _, given = headers.get("authorization", "").partition(" ")
    found = False
    for token in tokens:
        found |= hmac.compare_digest(given.strip().encode(), token.encode())
    return found and scheme.lower() == "bearer"


def known_names(listen: str, also: str) -> tuple[str, ...]:
    """The names under which a browser may reach us: loopback, where we listen, and what the user adds."""
    own = f"[{listen}]" if ":" in listen and not listen.startswith("[") else listen
    added = [name.strip().lower() for name in also.split(",")]
    return tuple(dict.fromkeys(name for name in (*_LOOPBACK, own.lower(), *added) if name))


def is_known_host(host: str, names: tuple[str, ...]) -> bool:
    """Whether a Host header names this server; foreign names that resolve here are refused.

    The port may be another, because tunnels have their own. Where we listen on every address, plain addresses
    count: DNS cannot redirect them.
    """
    named = _HOST.fullmatch(host.lower())
    name = "" if named is None else named[1]
    if name in names:
        return True
    return any(each in EVERYWHERE for each in names) and _is_address(name)


def is_near(host: str) -> bool:
    """Whether a name means this machine."""
    return host.strip("[]") in ("localhost", "127.0.0.1", "::1")


def is_same_origin(headers: Mapping[str, str]) -> bool:
    """Whether a request of a browser comes from our own page; programs send no origin."""
    origin = headers.get("origin")
    if origin is not None:
        scheme, _, authority = origin.partition("://")
        if scheme not in ("http", "https") or authority.lower() != headers.get("host", "").lower():
            return False
    return headers.get("sec-fetch-site", "none") in ("same-origin", "none")


def _is_address(name: str) -> bool:
    from ipaddress import ip_address

    try:
        ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


def listen_address(env: Mapping[str, str]) -> tuple[str, int]:
    """Where to listen: this machine alone and any free port, unless the user's environment says otherwise.

    Raises:
        UsageError: what it says is no address.
    """
    said = env.get("BRIDLE_REMOTE_LISTEN", "").strip()
    host, colon, port = said.rpartition(":")
    if not said:
        return "127.0.0.1", 0
    if not colon or not port.isdecimal() or int(port) > 65_535 or not host:
        raise UsageError("BRIDLE_REMOTE_LISTEN must be host:port, such as 127.0.0.1:8765.")
    return host.strip("[]"), int(port)
