"""Lets hooks refuse settings that were changed on disk."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from bridle.config.sources import Layer
from bridle.types.hooks.outcome import Hooks

if TYPE_CHECKING:
    from bridle.types.hooks.base import ConfigSource

_SOURCES: "Mapping[str, ConfigSource]" = {
    "userSettings": "user_settings",
    "projectSettings": "project_settings",
    "localSettings": "local_settings",
    "policySettings": "policy_settings",
}


async def fire_config_change(hooks: Hooks, before: Sequence[Layer], after: Sequence[Layer]) -> bool:
    """Whether the new settings may count; hooks are notified of managed settings and cannot refuse them."""
    if not hooks.listens_to("ConfigChange"):
        return True
    from bridle.types.hooks.environment import ConfigChange

    agreed = True
    for source, path in _changed(before, after):
        said = await hooks.fire(ConfigChange(source=source, file_path=path))
        agreed = agreed and said.block is None
    return agreed


def _changed(before: Sequence[Layer], after: Sequence[Layer]) -> "list[tuple[ConfigSource, str]]":
    old = {layer.path: layer for layer in before}
    new = {layer.path: layer for layer in after}
    return [
        (_SOURCES[layer.source], path)
        for path, layer in {**old, **new}.items()
        if layer.source in _SOURCES and _values(old.get(path)) != _values(new.get(path))
    ]


def _values(layer: Layer | None) -> object:
    return None if layer is None else layer.values
