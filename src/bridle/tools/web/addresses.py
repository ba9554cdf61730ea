"""Which web addresses may be fetched, and through which proxy."""

import ipaddress
import socket
from collections.abc import Mapping
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from bridle.host.web_address import (
    PORTS,
    Address,
    AddressFault,
    Flaw,
    WebAddress,
    is_link_local,
    is_public,
    literal,
    look_up,
    read_address,
)
from bridle.types.errors import ToolError
from bridle.types.variables import is_on

AGREED_HOST = "the agreed host"
"""Stands in the environment of a fetch, under a name that no variable has, for a host that is not public."""
_LONGEST_URL = 2_000
_FLAWS: dict[Flaw, str] = {
    "blanks": "The URL contains spaces or control characters; percent-encode them.",
    "unreadable": "Invalid URL; give a complete URL such as https://host/path.",
    "scheme": "Only http and https URLs can be fetched; give one that starts with https://.",
    "user": "The URL contains a user name or password; remove them.",
    "host": "The URL has no valid host; give a complete URL such as https://host/path.",
}


class Proxy(Struct, frozen=True):
    host: str
    port: int
    tls: bool
    user: str = ""
    password: str = ""

    @property
    def url(self) -> str:
        """As a variable of the environment would name it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        who = f"{self.user}:{self.password}@" if self.user else ""
        return f"{'https' if self.tls else 'http'}://{who}{host}:{self.port}"


def read_url(text: str) -> WebAddress:
    """Take an address apart; plain http becomes https unless the host is an address, local, or names a port.

    Raises:
        ToolError: it is not an address that may be fetched.
    """
    if len(text) > _LONGEST_URL:
        raise ToolError(f"The URL is longer than {_LONGEST_URL} characters; use a shorter one.")
    try:
        address, names_port = read_address(text.strip())
    except AddressFault as fault:
        raise ToolError(_FLAWS[fault.flaw]) from fault
    host = address.host
    if address.scheme == "http" and not names_port and not _is_local_name(host) and literal(host) is None:
        return replace(address, scheme="https", port=PORTS["https"])
    return address


def subject(url: str) -> str:
    """What permission rules see of an address."""
    try:
        return f"domain:{read_url(url).host}"
    except ToolError:
        return f"input:{url}"


def same_site(before: WebAddress, after: WebAddress) -> bool:
    """Whether a redirect stays where the permission was given; `www.` makes no difference."""
    if before.host.removeprefix("www.") != after.host.removeprefix("www."):
        return False
    if before.port == after.port:
        return before.scheme == after.scheme
    return (before.port, after.port) == (80, 443)


async def find_addresses(target: WebAddress, env: Mapping[str, str]) -> tuple[str, ...]:
    """The addresses of a host, all of them public ones.

    Raises:
        ToolError: the host is unknown, or any of its addresses is not public.
    """
    found = await _look_up(target)
    if not found:
        raise ToolError(f"Host {target.host} not found; check the URL.")
    _require_public(target, found, env)
    return found


async def require_public_name(target: WebAddress, env: Mapping[str, str]) -> None:
    """Check a host that a proxy will look up for us, as far as local names allow.

    Raises:
        ToolError: the host is known here by an address that is not public.
    """
    if (known := literal(target.host)) is not None:
        _require_public(target, (str(known),), env)
    elif _is_local_name(target.host):
        _require_public(target, ("127.0.0.1",), env)
    elif not is_on(env, "CLAUDE_CODE_PROXY_RESOLVES_HOSTS"):
        _require_public(target, await _look_up(target), env)


def find_proxy(target: WebAddress, env: Mapping[str, str]) -> Proxy | None:
    """The proxy that the environment names for this target.

    Raises:
        ToolError: it names one that cannot be used.
    """
    if _skips_proxy(target, _variable(env, "no_proxy")):
        return None
    named = _variable(env, f"{target.scheme}_proxy") or _variable(env, "all_proxy")
    if not named:
        return None
    try:
        parts = urlsplit(named if "://" in named else f"http://{named}")
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise ToolError(f"Invalid proxy in the environment ({error}); fix the variable.") from error
    if parts.scheme not in PORTS or not host:
        raise ToolError("The proxy in the environment must be an http or https proxy.")
    default = PORTS[parts.scheme]
    return Proxy(host, port or default, parts.scheme == "https", parts.username or "", parts.password or "")


async def _look_up(target: WebAddress) -> tuple[str, ...]:
    """All addresses of a host, none when it is unknown."""
    try:
        return await look_up(target.host, target.port)
    except (socket.gaierror, UnicodeError):
        return ()


def _require_public(target: WebAddress, addresses: tuple[str, ...], env: Mapping[str, str]) -> None:
    allow_loopback = is_on(env, "BRIDLE_WEBFETCH_ALLOW_LOCAL")
    agreed = env.get(AGREED_HOST) == target.host
    for address in addresses:
        if agreed and not is_link_local(address):
            continue
        if not is_public(address, allow_loopback=allow_loopback):
            raise ToolError(
                f"{target.host} is {address}, which is not public. "
                f"A rule that names the host allows it: WebFetch(domain:{target.host})."
            )


def _is_local_name(host: str) -> bool:
    return host == "localhost" or host.endswith(".localhost")


def _skips_proxy(target: WebAddress, listed: str) -> bool:
    known = literal(target.host)
    for entry in listed.lower().replace(",", " ").split():
        name, _, port = entry.partition(":") if entry.count(":") == 1 else (entry, "", "")
        if port and port != str(target.port):
            continue
        suffix = name.removeprefix("*").removeprefix(".")
        if name == "*" or target.host == suffix or target.host.endswith(f".{suffix}"):
            return True
        if known is not None and _in_network(known, name):
            return True
    return False


def _in_network(address: Address, text: str) -> bool:
    try:
        return address in ipaddress.ip_network(text, strict=False)
    except ValueError:
        return False


def _variable(env: Mapping[str, str], name: str) -> str:
    return env.get(name) or env.get(name.upper()) or ""
