"""What each source of settings says about the sandbox, before it is merged."""

from typing import Any

from bridle.config.load import Config
from bridle.config.sources import Layer


def collect(
    config: Config, keys: tuple[str, ...], *, managed_only: bool = False
) -> tuple[tuple[str, Any], ...]:
    """The entries of a list in all layers, each with its source."""
    return tuple(
        (layer.source, entry)
        for layer in config.layers
        if layer.source == "policySettings" or not managed_only
        for entry in _listed(layer, keys)
    )


def scope_of(layer: Layer) -> Any:
    values = layer.values.get("sandbox")
    return values.get("scope") if isinstance(values, dict) else None


def _listed(layer: Layer, keys: tuple[str, ...]) -> tuple[Any, ...]:
    values: Any = layer.values.get("sandbox")
    for key in keys:
        values = values.get(key) if isinstance(values, dict) else None
    return tuple(values) if isinstance(values, list | tuple) else ()
