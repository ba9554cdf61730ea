"""The air gap of this process: which services may be reached, and the namespace that keeps all else out."""

from collections.abc import Sequence

from bridle.host.air_gap.service import Service
from bridle.types.errors import BridleError, ConfigError


class GapRefusal(BridleError):
    """A service is not among those that may be reached."""


class AirGap:
    """Open until it is closed; then there is no way back for this process and what it starts."""

    def __init__(self) -> None:
        self.active = False
        self.services: tuple[Service, ...] = ()
        self._ways: dict[Service, int] = {}

    def close(self, services: Sequence[Service]) -> None:
        """Leave the network, but for these services. Only a process without threads can do it.

        Raises:
            ConfigError: the kernel does not let this user do it.
        """
        if self.active:
            if set(services) - set(self.services):
                raise ConfigError("This process is offline already, with other services.")
            return
        from bridle.host.air_gap.namespace import leave_network

        self.services = tuple(dict.fromkeys(services))
        self._ways = leave_network(self.services)
        self.active = True

    def way(self, host: str, port: int) -> int | None:
        """The local port that leads to a service; None to connect as usual.

        Raises:
            GapRefusal: it may not be reached.
        """
        if not self.active:
            return None
        local = self._ways.get(Service(host.lower(), port))
        if local is None and not is_loopback(host):
            # What this process and its children serve to each other stays.
            raise GapRefusal(self.refusal(f"{host}:{port}"))
        return local

    def refusal(self, what: str) -> str:
        """Why something cannot be reached, in one line."""
        allowed = ", ".join(map(str, self.services)) or "nothing"
        return f"Offline: {what} is not allowed, only {allowed}. To allow it, add it to network.allow."


def read_service(text: str) -> Service:
    """A service as settings name it: a URL, `host` or `host:port`.

    Raises:
        ConfigError: it names none.
    """
    from urllib.parse import urlsplit

    given = text.strip()
    parts = urlsplit(given if "://" in given else f"//{given}")
    try:
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise ConfigError(f"network.allow: {text!r} is no service: {error}.") from error
    if not host or any(sign.isspace() or sign == "*" for sign in host):
        raise ConfigError(
            f"network.allow: {text!r} is no service. Write host, host:port or a URL, without *."
        )
    return Service(host, port or (80 if parts.scheme == "http" else 443))


def is_loopback(host: str) -> bool:
    """Whether a host is this machine, by its usual name or an address."""
    import ipaddress

    try:
        return host.lower() == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


AIR_GAP = AirGap()
"""That of this process."""
