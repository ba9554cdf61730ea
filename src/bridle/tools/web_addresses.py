"""Which web addresses may be fetched, and through which proxy."""

import asyncio
import ipaddress
import re
import socket
from collections.abc import Mapping
from urllib.parse import quote, urlsplit

from msgspec import Struct

from bridle.types.errors import ToolError

_LONGEST_URL = 2_000
_HOST = re.compile(r"[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?|[0-9a-f:.]+")
_DEFAULT_PORTS = {"http": 80, "https": 443}
_SAFE = "/%:@!$&'()*+,;=~?[]"
# These answer for the machine that a cloud runs us on, although their numbers look like any other.
_METADATA = frozenset({ipaddress.ip_address("168.63.129.16")})
_NAT64 = ipaddress.ip_network("64:ff9b::/96")

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class Target(Struct, frozen=True):
    """What an address asks for, in a form that can be compared."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.authority}{self.path}"


class Proxy(Struct, frozen=True):
    host: str
    port: int
    tls: bool
    user: str = ""
    password: str = ""


def read_url(text: str) -> Target:
    """Take an address apart; plain http becomes https unless the host is an address, local, or names a port.

    Raises:
        ToolError: it is not an address that may be fetched.
    """
    if len(text) > _LONGEST_URL:
        raise ToolError(f"The URL is longer than {_LONGEST_URL} characters; use a shorter one.")
    if re.search(r"[\x00-\x20\x7f]", text.strip()):
        raise ToolError("The URL contains blanks or control characters; percent-encode them.")
    try:
        parts = urlsplit(text.strip())
        host, port = _plain_host(parts.hostname or ""), parts.port
    except ValueError as error:
        raise ToolError(
            f"The URL cannot be read ({error}); give a complete one such as https://host/path."
        ) from error
    if parts.scheme not in _DEFAULT_PORTS:
        raise ToolError("Only http and https URLs can be fetched; give one that starts with https://.")
    if "@" in parts.netloc:
        raise ToolError("The URL contains a user name or password; leave them out.")
    if not _HOST.fullmatch(host):
        raise ToolError("The URL has no usable host; give a complete one such as https://host/path.")
    scheme = parts.scheme
    if scheme == "http" and port is None and not _is_local_name(host) and _literal(host) is None:
        scheme = "https"
    path = quote(parts.path or "/", safe=_SAFE) + (
        f"?{quote(parts.query, safe=_SAFE)}" if parts.query else ""
    )
    return Target(scheme, host, _DEFAULT_PORTS[scheme] if port is None else port, path)


def subject(url: str) -> str:
    """What permission rules see of an address."""
    try:
        return f"domain:{read_url(url).host}"
    except ToolError:
        return f"input:{url}"


def same_site(before: Target, after: Target) -> bool:
    """Whether a redirect stays where the permission was given; `www.` makes no difference."""
    if before.host.removeprefix("www.") != after.host.removeprefix("www."):
        return False
    if before.port == after.port:
        return before.scheme == after.scheme
    return (before.port, after.port) == (80, 443)


async def find_addresses(target: Target, env: Mapping[str, str]) -> tuple[str, ...]:
    """The addresses of a host, all of them public ones.

    Raises:
        ToolError: the host is unknown, or any of its addresses is not public.
    """
    found = await _look_up(target)
    if not found:
        raise ToolError(f"The host {target.host} cannot be found; check the URL.")
    _require_public(target, found, env)
    return found


async def require_public_name(target: Target, env: Mapping[str, str]) -> None:
    """Check a host that a proxy will look up for us, as far as can be told from here.

    Raises:
        ToolError: the host is known here by an address that is not public.
    """
    if (literal := _literal(target.host)) is not None:
        _require_public(target, (str(literal),), env)
    elif _is_local_name(target.host):
        _require_public(target, ("127.0.0.1",), env)
    elif not _is_on(env.get("CLAUDE_CODE_PROXY_RESOLVES_HOSTS", "")):
        _require_public(target, await _look_up(target), env)


def is_public(address: str, *, allow_loopback: bool = False) -> bool:
    """Whether an address belongs to the open internet and not to this machine or a network around it."""
    try:
        known = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    meant = _embedded(known)
    if meant.is_loopback:
        return allow_loopback
    if meant.is_multicast or meant.is_reserved or meant in _METADATA:
        return False
    # Site-local addresses are private networks under an old name that no longer counts as private.
    return meant.is_global and not (isinstance(meant, ipaddress.IPv6Address) and meant.is_site_local)


def find_proxy(target: Target, env: Mapping[str, str]) -> Proxy | None:
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
        raise ToolError(
            f"The proxy in the environment cannot be read ({error}); correct the variable."
        ) from error
    if parts.scheme not in _DEFAULT_PORTS or not host:
        raise ToolError("The proxy in the environment is not an http or https proxy; name one that is.")
    default = _DEFAULT_PORTS[parts.scheme]
    return Proxy(host, port or default, parts.scheme == "https", parts.username or "", parts.password or "")


async def _look_up(target: Target) -> tuple[str, ...]:
    """All addresses of a host, none when it is unknown."""
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
    except (socket.gaierror, UnicodeError):
        return ()
    return tuple(dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in found))


def _require_public(target: Target, addresses: tuple[str, ...], env: Mapping[str, str]) -> None:
    allow_loopback = env.get("BRIDLE_WEBFETCH_ALLOW_LOCAL") == "1"
    for address in addresses:
        if not is_public(address, allow_loopback=allow_loopback):
            raise ToolError(
                f"{target.host} is {address}, which is not public; only public pages can be fetched."
            )


def _embedded(address: Address) -> Address:
    """The IPv4 address that some IPv6 addresses stand for."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or address


def _plain_host(host: str) -> str:
    host = host.lower().removesuffix(".")
    return host if host.isascii() else host.encode("idna").decode("ascii")


def _literal(host: str) -> Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        pass
    try:
        # The system reads 127.1 and 2130706433 as addresses too.
        return ipaddress.IPv4Address(socket.inet_aton(host))
    except OSError:
        return None


def _is_local_name(host: str) -> bool:
    return host == "localhost" or host.endswith(".localhost")


def _skips_proxy(target: Target, listed: str) -> bool:
    literal = _literal(target.host)
    for entry in listed.lower().replace(",", " ").split():
        name, _, port = entry.partition(":") if entry.count(":") == 1 else (entry, "", "")
        if port and port != str(target.port):
            continue
        suffix = name.removeprefix("*").removeprefix(".")
        if name == "*" or target.host == suffix or target.host.endswith(f".{suffix}"):
            return True
        if literal is not None and _in_network(literal, name):
            return True
    return False


def _in_network(address: Address, text: str) -> bool:
    try:
        return address in ipaddress.ip_network(text, strict=False)
    except ValueError:
        return False


def _variable(env: Mapping[str, str], name: str) -> str:
    return env.get(name) or env.get(name.upper()) or ""


def _is_on(value: str) -> bool:
    return value.strip().lower() in ("1", "true", "yes", "on")
