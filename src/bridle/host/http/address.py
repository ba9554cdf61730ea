"""Where a request goes: its URL taken apart, and the proxy that the environment puts before it."""

import re
from binascii import b2a_base64
from collections.abc import Mapping

from msgspec import Struct

from bridle.types.errors import ConfigError

_URL = re.compile(
    r"(?P<scheme>https?)://(?:(?P<user>[^/?#@]*)@)?(?P<host>\[[0-9a-f:.%]+\]|[^/?#:@\[\]\s]+)"
    r"(?::(?P<port>\d{1,5}))?(?P<target>[/?][^#]*)?(?:#.*)?",
    re.IGNORECASE | re.DOTALL,
)


class Origin(Struct, frozen=True):
    """A host that connections can be kept for."""

    scheme: str
    host: str
    port: int

    @property
    def authority(self) -> str:
        """Host and port as a Host header has them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        usual = 443 if self.scheme == "https" else 80
        return host if self.port == usual else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.authority}"


class Proxy(Struct, frozen=True):
    origin: Origin
    authorization: str | None = None
    url: str = ""
    """The address as it was given, with user and password."""


def split_url(url: str) -> tuple[Origin, str]:
    """The origin of `url` and what to ask it for.

    Raises:
        ConfigError: this is not an http or https URL.
    """
    match = _URL.fullmatch(url)
    if match is None or match["user"] is not None:
        raise ConfigError(f"{url[:200]!r} is not a valid URL: use http(s)://host/path.")
    target = match["target"] or "/"
    if not target.isascii() or " " in target:
        from urllib.parse import quote  # Addresses of services have neither.

        target = quote(target, safe="/?&=%:@!$'()*+,;~-._[]")
    return _origin(match), target if target.startswith("/") else f"/{target}"


def proxy_for(origin: Origin, env: Mapping[str, str]) -> Proxy | None:
    """The proxy that requests to `origin` go through.

    Raises:
        ConfigError: the variable does not name an http or https proxy.
    """
    name = f"{origin.scheme}_proxy"
    given = (env.get(name) or env.get(name.upper()) or "").strip()
    if not given or _skips_proxy(origin, env.get("no_proxy") or env.get("NO_PROXY") or ""):
        return None
    given = given if "://" in given else f"http://{given}"
    match = _URL.fullmatch(given)
    if match is None:
        raise ConfigError(f"{name.upper()} must be an http or https URL such as http://proxy.example:3128.")
    user = match["user"]
    return Proxy(_origin(match), None if user is None else _basic(user), given)


def _origin(match: re.Match[str]) -> Origin:
    scheme = match["scheme"].lower()
    port = int(match["port"]) if match["port"] else (443 if scheme == "https" else 80)
    host = match["host"].strip("[]").lower()
    try:
        name = host if host.isascii() else host.encode("idna").decode("ascii")
    except UnicodeError as error:
        raise ConfigError(f"{host[:200]!r} is not a host name.") from error
    return Origin(scheme, name, port)


def _basic(user: str) -> str:
    from urllib.parse import unquote  # Only proxies with a password need it.

    return "Basic " + b2a_base64(unquote(user).encode(), newline=False).decode()


def _skips_proxy(origin: Origin, exceptions: str) -> bool:
    return any(_covers(entry.lower(), origin) for entry in re.split(r"[,\s]+", exceptions) if entry)


def _covers(entry: str, origin: Origin) -> bool:
    if entry == "*":
        return True
    if "/" in entry:
        return _in_network(origin.host, entry)
    name, _, port = entry.rpartition(":") if re.fullmatch(r"[^:]+:\d+|\[.*\]:\d+", entry) else (entry, "", "")
    if port and int(port) != origin.port:
        return False
    name = name.strip("[]").removeprefix("*").removeprefix(".")
    return origin.host == name or origin.host.endswith(f".{name}")


def _in_network(host: str, network: str) -> bool:
    from ipaddress import ip_address, ip_network  # Only entries such as 10.0.0.0/8 need it.

    try:
        return ip_address(host) in ip_network(network, strict=False)
    except ValueError:
        return False
