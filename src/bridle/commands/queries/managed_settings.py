"""What administrators have set, from where, and what is wrong with it; values of variables are not shown."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from bridle.commands.queries.doctor import Check
from bridle.config.load import Config
from bridle.config.sources import Layer
from bridle.host.secrets import SECRETS
from bridle.version import COMPATIBLE_WITH

_LONGEST = 200
_SECRET = ("env", "apiKeyHelper", "otelHeadersHelper")
"""Keys whose values may hold secrets."""


def managed_checks(config: Config) -> tuple[Check, ...]:
    """A group for each source, then the faults."""
    layers = [layer for layer in config.layers if layer.source == "policySettings"]
    files = () if config.policy is None else config.policy.files
    checks = [*_sources(layers, config), *_left_out(files, layers)]
    managed = {*config.inputs.device, *(layer.path for layer in (*layers, *files))}
    checks += (
        Check(group="Problems", health="fault", text=str(problem))
        for problem in config.problems
        if problem.file in managed or problem.file.startswith(config.inputs.managed_dir)
    )
    if not checks:
        text = f"no managed settings on this machine ({config.inputs.managed_dir})"
        return (Check(group="Managed settings", health="ok", text=text),)
    return tuple(checks)


def _sources(layers: Sequence[Layer], config: Config) -> Iterator[Check]:
    for layer in layers:
        if not layer.values:
            yield Check(group=layer.path, health="ok", text="sets nothing")
        for key, value in _flat(layer.values):
            yield Check(group=layer.path, health="ok", text=f"{key} = {_shown(key, value)}")
    settings = config.settings
    for key, limit in (
        ("requiredMinimumVersion", settings.required_minimum_version),
        ("requiredMaximumVersion", settings.required_maximum_version),
    ):
        if limit is not None:
            text = f"{key} {limit} holds: this bridle is compatible with {COMPATIBLE_WITH}"
            yield Check(group="Versions", health="ok", text=text)


def _left_out(files: Sequence[Layer], layers: Sequence[Layer]) -> Iterator[Check]:
    """Files whose place the policy helper takes."""
    counting = {layer.path for layer in layers}
    for layer in files:
        if layer.path not in counting:
            text = "ignored: policyHelper replaces the files"
            yield Check(group=layer.path, health="warning", text=text)


def _flat(values: dict[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        name = f"{above}{key}"
        if isinstance(value, dict) and value and key not in ("hooks", *_SECRET):
            yield from _flat(value, f"{name}.")
        else:
            yield name, value


def _shown(key: str, value: Any) -> str:
    if key.partition(".")[0] in _SECRET:
        return ", ".join(value) + " (values hidden)" if isinstance(value, dict) else "(hidden)"
    text = SECRETS.hide(msgspec.json.encode(value).decode())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
