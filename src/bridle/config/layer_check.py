"""Checks a layer of settings: what is wrong, closed to its source, waiting for trust or without effect."""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from bridle.config.model_names import own_models
from bridle.config.problems import Fault, Problem, located
from bridle.config.source_limits import CHANGED, counting_untrusted, permitted, without
from bridle.config.sources import Inputs, Layer, SettingsFile
from bridle.config.validate import check, misspelled
from bridle.types.errors import ConfigError

if TYPE_CHECKING:
    from bridle.config.load import LazyContentApprovals


def checked(layer: Layer, place: SettingsFile) -> tuple[Layer, tuple[Problem, ...]]:
    """A layer without what is wrong in it or closed to its source, and what was left out.

    Raises:
        ConfigError: an administrator's policy helper cannot be used.
    """
    values, wrong = check(layer.values)
    if place.source == "policySettings" and layer.values.get("policyHelper") and "policyHelper" not in values:
        # Without it, less would hold than the administrator wants.
        reason = next((reason for path, reason in wrong if path[0] == "policyHelper"), "invalid")
        raise ConfigError(f"policyHelper in {place.path}: {reason}.")
    values, refused = permitted(values, layer.source)
    faults = (*wrong, *refused, *without_effect(values), *misspelled(values))
    problems = located(faults, file=layer.path, text=layer.text)
    return Layer(layer.source, layer.path, values, layer.text), problems


def trusted_part(
    layer: Layer,
    below: list[Layer],
    inputs: Inputs,
    *,
    trusted: Callable[[], bool],
    approved_content: "LazyContentApprovals | None",
) -> tuple[Layer, tuple[Problem, ...]]:
    """What a folder says without what waits for trust, or what has changed since it was given."""
    user = next((each.values for each in below if each.source == "userSettings"), {})
    own = own_models(user, inputs.models)
    values, faults = counting_untrusted(layer.values, mode=_mode(below), own=own)
    if not faults:
        return layer, ()
    if trusted():
        if approved_content is None:
            return layer, ()
        from bridle.config.content_approvals import items_at

        paths = approved_content.open().missing(items_at(layer.values, [path for path, _ in faults]))
        values, faults = without(layer.values, paths), tuple((path, CHANGED) for path in paths)
    problems = located(faults, file=layer.path, text=layer.text)
    return Layer(layer.source, layer.path, values, layer.text), problems


def _mode(layers: list[Layer]) -> str:
    """The permission mode that the user chose before any folder has a say."""
    own = next((layer.values for layer in layers if layer.source == "userSettings"), {})
    return (own.get("permissions") or {}).get("defaultMode") or "default"


def without_effect(values: Mapping[str, Any]) -> Iterator[Fault]:
    """The keys that ask for something that does not happen."""
    if not values:
        return
    from bridle.config.settings_table import NO_EFFECT, stated

    for path, value, row in stated(values):
        if not row.no_effect or row.asks_for_less or ".".join(path[:-1]) in NO_EFFECT:
            continue
        if value not in (False, row.default):
            yield path, f"has no effect: {row.no_effect}"
