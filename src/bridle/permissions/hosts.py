"""Which hosts a rule for fetching covers, and which are not out on the internet."""

import ipaddress
import socket
from fnmatch import fnmatchcase

from bridle.permissions import patterns

_LOCAL_NAMES = (".localhost", ".local", ".internal", ".home.arpa")


def covers(content: str, subject: str) -> bool:
    """`domain:host` is that host, `domain:*.host` its sub-domains; any other star stays in its label."""
    if not content.startswith("domain:") or not subject.startswith("domain:"):
        return False
    wanted, host = (_plain(text.removeprefix("domain:")) for text in (content, subject))
    if wanted == "*":
        return bool(host)
    labels, globs = host.split("."), wanted.split(".")
    if globs[0] == "*" and len(labels) >= len(globs):
        globs = globs[1:]
        labels = labels[len(labels) - len(globs) :]
    return len(labels) == len(globs) and all(
        fnmatchcase(label, patterns.only_stars(glob)) for label, glob in zip(labels, globs, strict=True)
    )


def is_local(subject: str) -> bool:
    """Whether a host is this machine, or means something only in a network around it."""
    host = _plain(subject.removeprefix("domain:")).strip("[]").partition("%")[0]
    if host == "localhost" or host.endswith(_LOCAL_NAMES):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        try:
            # The system reads 127.1 and 2130706433 as addresses too.
            address = ipaddress.IPv4Address(socket.inet_aton(host))
        except (OSError, ValueError):
            return False
    if isinstance(address, ipaddress.IPv6Address):
        address = address.ipv4_mapped or address.sixtofour or address
    return not address.is_global or address.is_multicast


def _plain(text: str) -> str:
    return text.strip().lower().removesuffix(".")
