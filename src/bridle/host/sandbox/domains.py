"""Which hosts commands may reach: rules for names and addresses, and what the rest needs."""

import ipaddress
import re
import socket
from collections.abc import Iterable, Iterator
from typing import Literal

from msgspec import Struct

from bridle.host.sandbox.policy import Network
from bridle.host.web_address import is_public

Verdict = Literal["allow", "deny", "ask"]
Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_LAST_IS_NUMBER = re.compile(r"(?:^|\.)(?:0x[0-9a-f]*|\d+)$")
_TRANSLATED = ipaddress.ip_network("64:ff9b::/96")


class Rule(Struct, frozen=True):
    """`example.org`, `*.example.org`, an address, each with a port or for all."""

    host: str
    port: int | None = None

    def covers(self, host: str, port: int) -> bool:
        """Whether the rule names this host, given as `plain_host` spells it."""
        if self.port is not None and self.port != port:
            return False
        if self.host == "*":
            return literal_address(host) is None
        if "*" not in self.host:
            return host == self.host
        # A star at the start stands for any number of labels, elsewhere for a part of one.
        head, rest = (r"(?:[^.]+\.)+", self.host[2:]) if self.host.startswith("*.") else ("", self.host)
        pattern = head + r"[^.]*".join(re.escape(part) for part in rest.split("*"))
        return literal_address(host) is None and re.fullmatch(pattern, host) is not None


class Rules(Struct, frozen=True, kw_only=True):
    allowed: tuple[Rule, ...]
    denied: tuple[Rule, ...]
    strict: bool

    def judge(self, host: str, port: int) -> Verdict:
        """Denied beats allowed; an address that is not listed is never asked about."""
        if any(rule.covers(host, port) for rule in self.denied):
            return "deny"
        if any(rule.covers(host, port) for rule in self.allowed):
            return "allow"
        return "deny" if self.strict or literal_address(host) is not None else "ask"

    def may_connect(self, host: str, address: Address, port: int) -> bool:
        """Whether a name that may be reached may lead to this address.

        Names listed in full may lead into private networks; addresses of the link, where machines find
        their credentials, must be listed themselves.
        """
        address = _plain(address)
        written = str(address)
        if any(rule.covers(written, port) for rule in self.denied):
            return False
        if any(rule.covers(written, port) for rule in self.allowed):
            return True
        if address.is_link_local or address.is_multicast or address.is_unspecified:
            return False
        if is_public(written):
            return True
        return any("*" not in rule.host and rule.covers(host, port) for rule in self.allowed)


def read_rules(network: Network) -> Rules:
    """The rules as settings write them."""
    return Rules(
        allowed=tuple(parse_rules(network.allowed)),
        denied=tuple(parse_rules(network.denied)),
        strict=network.strict,
    )


def parse_rules(texts: Iterable[str]) -> Iterator[Rule]:
    """Each text as a rule; an address may be written with or without brackets."""
    for text in texts:
        host, port = text.strip(), None
        if found := re.fullmatch(r"(?:https?://)?(\[[^\]]+\]|[^:/]+)(?::(\d{1,5}))?/?", host):
            host, port = found[1], int(found[2]) if found[2] else None
        if host:
            yield Rule(plain_host(host), port)


def plain_host(host: str) -> str:
    """One spelling for each host: lower case, no dot at the end, addresses in their usual form."""
    text = host.strip().lower().rstrip(".").removeprefix("[").removesuffix("]")
    try:
        text = text.encode("idna").decode() if not text.isascii() else text
    except UnicodeError:
        return text
    address = literal_address(text)
    return text if address is None else str(address)


def literal_address(host: str) -> Address | None:
    """The address that a host is, in any notation that resolvers take for one."""
    try:
        return _plain(ipaddress.ip_address(host.partition("%")[0]))
    except ValueError:
        pass  # Not in the usual notation; others may remain.
    if not _LAST_IS_NUMBER.search(host):
        return None
    try:
        return ipaddress.IPv4Address(socket.inet_aton(host))
    except OSError:
        # No name ends in a number, so no resolver should be asked.
        return ipaddress.IPv4Address(0)


def _plain(address: Address) -> Address:
    """The IPv4 address inside an IPv6 one that only wraps it."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF) if address in _TRANSLATED else address
