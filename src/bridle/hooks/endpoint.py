"""Where an HTTP hook is asked: its address, the patterns that allow it, and the proxy before it."""

import ipaddress
import re
from collections.abc import Mapping
from urllib.parse import quote, unquote, urlsplit

from msgspec import Struct

from bridle.types.errors import ConfigError

_PORTS = {"http": 80, "https": 443}
_SAFE = "/%:@!$&'()*+,;=~?[]"
_HOST = re.compile(r"[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?|[0-9a-f:.]+")
_PATTERN = re.compile(
    r"(?P<scheme>https?|\*)://(?P<host>\[[0-9a-f:.]+\]|[^/?#:@\[\]\s]+)(?::(?P<port>\d{1,5}|\*))?(?P<path>/.*)?",
    re.IGNORECASE,
)


class Endpoint(Struct, frozen=True):
    """An address taken apart, in a form that can be compared."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.authority}{self.path}"


class Proxy(Struct, frozen=True):
    host: str
    port: int
    tls: bool
    user: str = ""
    password: str = ""


def read_endpoint(url: str) -> Endpoint:
    """Take the address of a hook apart.

    Raises:
        ConfigError: it is not an address that a hook can be asked at.
    """
    if re.search(r"[\x00-\x20\x7f]", url):
        raise ConfigError("the URL of the hook contains blanks or control characters; percent-encode them")
    try:
        parts = urlsplit(url)
        host, port = _plain_host(parts.hostname or ""), parts.port
    except ValueError as error:
        raise ConfigError(f"the URL of the hook cannot be read ({error}); write https://host/path") from error
    if parts.scheme not in _PORTS or not _HOST.fullmatch(host):
        raise ConfigError("the URL of the hook is not complete; write one such as https://host/path")
    if "@" in parts.netloc:
        raise ConfigError("the URL of the hook contains a user name or password; use a header instead")
    path = quote(parts.path or "/", safe=_SAFE)
    if parts.query:
        path += f"?{quote(parts.query, safe=_SAFE)}"
    return Endpoint(parts.scheme, host, _PORTS[parts.scheme] if port is None else port, path)


def is_allowed(endpoint: Endpoint, patterns: tuple[str, ...] | None) -> bool:
    """Whether a list of patterns lets a hook be asked here; without a list every address is allowed."""
    return patterns is None or any(covers(pattern, endpoint) for pattern in patterns)


def covers(pattern: str, endpoint: Endpoint) -> bool:
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


def proxy_for(endpoint: Endpoint, env: Mapping[str, str]) -> Proxy | None:
    """The proxy that the environment names for this address.

    Raises:
        ConfigError: it names one that cannot be used.
    """
    name = f"{endpoint.scheme}_proxy"
    given = _variable(env, name) or _variable(env, "all_proxy")
    if not given or _goes_direct(endpoint, _variable(env, "no_proxy")):
        return None
    try:
        parts = urlsplit(given if "://" in given else f"http://{given}")
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise ConfigError(f"{name.upper()} cannot be read ({error}); correct the variable") from error
    if parts.scheme not in _PORTS or not host:
        raise ConfigError(f"{name.upper()} is not an http or https proxy; write http://proxy.example:3128")
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    return Proxy(host, port or _PORTS[parts.scheme], parts.scheme == "https", user, password)


def _plain_host(host: str) -> str:
    host = host.lower().removesuffix(".")
    return host if host.isascii() else host.encode("idna").decode("ascii")


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


def _port_fits(pattern: str | None, host_pattern: str, endpoint: Endpoint) -> bool:
    if pattern is None:
        # `http://*` means every address, and so every port.
        return host_pattern == "*" or endpoint.port == _PORTS[endpoint.scheme]
    return pattern == "*" or int(pattern) == endpoint.port


def _path_fits(pattern: str | None, *, open_end: bool, path: str) -> bool:
    if pattern is None:
        return open_end or path == "/"
    return re.fullmatch(_starred(pattern, star=".*"), path, re.DOTALL) is not None


def _starred(pattern: str, *, star: str) -> str:
    return star.join(re.escape(part) for part in pattern.split("*"))


def _goes_direct(endpoint: Endpoint, exceptions: str) -> bool:
    return any(_excepts(entry, endpoint) for entry in re.split(r"[,\s]+", exceptions.lower()) if entry)


def _excepts(entry: str, endpoint: Endpoint) -> bool:
    name, _, port = entry.partition(":") if entry.count(":") == 1 else (entry, "", "")
    if port and port != str(endpoint.port):
        return False
    suffix = name.strip("[]").removeprefix("*").removeprefix(".")
    if name == "*" or endpoint.host == suffix or endpoint.host.endswith(f".{suffix}"):
        return True
    try:
        return ipaddress.ip_address(endpoint.host) in ipaddress.ip_network(name, strict=False)
    except ValueError:
        return False


def _variable(env: Mapping[str, str], name: str) -> str:
    return env.get(name) or env.get(name.upper()) or ""
