"""Where an HTTP hook is asked: its address, and the patterns that allow it."""

import re
from urllib.parse import unquote

from bridle.host.web_address import PORTS, AddressFault, Flaw, WebAddress, read_address
from bridle.types.errors import ConfigError

_PATTERN = re.compile(
    r"(?P<scheme>https?|\*)://(?P<host>\[[0-9a-f:.]+\]|[^/?#:@\[\]\s]+)(?::(?P<port>\d{1,5}|\*))?(?P<path>/.*)?",
    re.IGNORECASE,
)


_FLAWS: dict[Flaw, str] = {
    "blanks": "contains spaces or control characters; percent-encode them",
    "unreadable": "is not valid; write https://host/path",
    "scheme": "is incomplete; write https://host/path",
    "host": "is incomplete; write https://host/path",
    "user": "contains a user name or password; use a header instead",
}


def read_endpoint(url: str) -> WebAddress:
    """Take the address of a hook apart.

    Raises:
        ConfigError: it is not an address that a hook can be asked at.
    """
    try:
        return read_address(url)[0]
    except AddressFault as fault:
        raise ConfigError(f"the URL of the hook {_FLAWS[fault.flaw]}") from fault


def is_allowed(endpoint: WebAddress, patterns: tuple[str, ...] | None) -> bool:
    """Whether a list of patterns lets a hook be asked here; without a list every address is allowed."""
    return patterns is None or any(covers(pattern, endpoint) for pattern in patterns)


def covers(pattern: str, endpoint: WebAddress) -> bool:
    """Whether `https://*.example.com/hooks/*` means this address.

    A star in the path stands for anything, `*.` at the front of the host for any names below it, and
    any other star in the host for a part of one name. So no star reaches from the host into the path.
    """
    if pattern == "*":
        return True
    parts = _PATTERN.fullmatch(pattern)
    if parts is None or _climbs(endpoint.path):
        return False
    return (
        parts["scheme"].lower() in ("*", endpoint.scheme)
        and _host_fits(parts["host"].strip("[]").lower().removesuffix("."), endpoint.host)
        and _port_fits(parts["port"], parts["host"], endpoint)
        and _path_fits(parts["path"], open_end=pattern.endswith("*"), path=endpoint.path)
    )


def _climbs(path: str) -> bool:
    """Whether a server may read the path as another one than it looks like."""
    segments = unquote(path.partition("?")[0]).replace("\\", "/").split("/")
    return "." in segments or ".." in segments


def _host_fits(pattern: str, host: str) -> bool:
    if pattern == "*":
        return True
    below = pattern.startswith("*.")
    regex = _starred(pattern[2:] if below else pattern, star="[^.]*")
    return re.fullmatch(rf"(?:[^.]+\.)+{regex}" if below else regex, host) is not None


def _port_fits(pattern: str | None, host_pattern: str, endpoint: WebAddress) -> bool:
    if pattern is None:
        # `http://*` means every address, and so every port.
        return host_pattern == "*" or endpoint.port == PORTS[endpoint.scheme]
    return pattern == "*" or int(pattern) == endpoint.port


def _path_fits(pattern: str | None, *, open_end: bool, path: str) -> bool:
    if pattern is None:
        return open_end or path == "/"
    return re.fullmatch(_starred(pattern, star=".*"), path, re.DOTALL) is not None


def _starred(pattern: str, *, star: str) -> str:
    return star.join(re.escape(part) for part in pattern.split("*"))
