"""Offline mode: which services stay reachable, and the moment when all others are left behind."""

from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from bridle.config.load import Config
from bridle.host.air_gap.gap import AIR_GAP, read_service
from bridle.host.air_gap.service import Service
from bridle.providers import catalog
from bridle.providers.routes import place_of, vendor_of
from bridle.types.errors import ConfigError


def go_offline(config: Config, env: Mapping[str, str], model: str) -> None:
    """Leave the network for good, but for the service of the model and those that settings name.

    Raises:
        ConfigError: a name cannot be read, or the kernel offers no way to do it.
    """
    AIR_GAP.close(tuple(_services(config, env, model)))


def _services(config: Config, env: Mapping[str, str], model: str) -> Iterator[Service]:
    own = config.raw.get("bridleModels") or {}
    found = catalog.find(model, catalog.with_declared(own, env))
    if found.dialect != "offline":
        base = place_of(vendor_of(found, found.vendor, env), env).base
        if not urlsplit(base).hostname:
            raise ConfigError(f"Offline mode: {model} has no known address. Name it in network.allow.")
        yield read_service(base)
    network = config.settings.network
    for text in (network and network.allow) or ():
        yield read_service(text)
