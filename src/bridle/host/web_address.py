"""Addresses on the web: taken apart in a form that can be compared, and what their hosts turn out to be."""

import asyncio
import errno
import ipaddress
import re
import socket
from typing import Literal
from urllib.parse import quote, urlsplit

from msgspec import Struct

from bridle.host.air_gap.gap import AIR_GAP, GapRefusal

PORTS = {"http": 80, "https": 443}
_SAFE = "/%:@!$&'()*+,;=~?[]"
_HOST = re.compile(r"[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?|[0-9a-f:.]+")
_FORBIDDEN = re.compile(r"[\x00-\x20\x7f]")
# These answer for the machine that a cloud runs us on, although their numbers look like any other.
_METADATA = frozenset(map(ipaddress.ip_address, ("168.63.129.16", "fd00:ec2::254")))
# Not every version of Python knows that these are no part of the internet.
_RESERVED = tuple(map(ipaddress.ip_network, ("192.0.0.0/24", "192.88.99.0/24", "3fff::/20")))
_NAT64 = ipaddress.ip_network("64:ff9b::/96")

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Flaw = Literal["blanks", "unreadable", "scheme", "user", "host"]


class AddressFault(ValueError):
    """A text is no address that can be asked; the caller reports it in its own words."""

    def __init__(self, flaw: Flaw, detail: str = "") -> None:
        super().__init__(detail or flaw)
        self.flaw: Flaw = flaw


class WebAddress(Struct, frozen=True):
    """An address taken apart."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.authority}{self.path}"


def read_address(text: str) -> tuple[WebAddress, bool]:
    """Take an address apart; whether it names its port.

    Raises:
        AddressFault: it is no complete address of the web, or holds a user name.
    """
    if _FORBIDDEN.search(text):
        raise AddressFault("blanks")
    try:
        parts = urlsplit(text)
        host, port = _plain_host(parts.hostname or ""), parts.port
    except ValueError as error:
        raise AddressFault("unreadable", str(error)) from error
    if parts.scheme not in PORTS:
        raise AddressFault("scheme")
    if "@" in parts.netloc:
        raise AddressFault("user")
    if not _HOST.fullmatch(host):
        raise AddressFault("host")
    path = quote(parts.path or "/", safe=_SAFE)
    if parts.query:
        path += f"?{quote(parts.query, safe=_SAFE)}"
    usual = PORTS[parts.scheme]
    return WebAddress(parts.scheme, host, usual if port is None else port, path), port is not None


async def look_up(host: str, port: int) -> tuple[str, ...]:
    """All addresses of a host, each once.

    Raises:
        OSError: it is unknown.
        UnicodeError: it is not the name of a host.
    """
    if AIR_GAP.active:
        try:
            if AIR_GAP.way(host, port) is not None:
                return ("127.0.0.1",)
        except GapRefusal as error:
            raise OSError(errno.ENETUNREACH, str(error)) from error
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in found))


def is_public(address: str, *, allow_loopback: bool = False) -> bool:
    """Whether an address belongs to the open internet and not to this machine or a network around it."""
    if (meant := _meant(address)) is None:
        return False
    if meant.is_loopback:
        return allow_loopback
    if meant.is_multicast or meant.is_reserved or meant in _METADATA:
        return False
    if any(meant in network for network in _RESERVED):
        return False
    # Site-local addresses are private networks under an old name that no longer counts as private.
    return meant.is_global and not (isinstance(meant, ipaddress.IPv6Address) and meant.is_site_local)


def is_link_local(address: str) -> bool:
    """Whether an address is one of those at which clouds hand out credentials to any client."""
    meant = _meant(address)
    return meant is not None and (meant.is_link_local or meant in _METADATA)


def literal(host: str) -> Address | None:
    """The address that a host is written as, None for a name."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        pass
    try:
        # The system reads 127.1 and 2130706433 as addresses too.
        return ipaddress.IPv4Address(socket.inet_aton(host))
    except OSError:
        return None


def _meant(text: str) -> Address | None:
    """The address, or the IPv4 address that some IPv6 addresses stand for; None for a name."""
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or address


def _plain_host(host: str) -> str:
    host = host.lower().removesuffix(".")
    return host if host.isascii() else host.encode("idna").decode("ascii")
