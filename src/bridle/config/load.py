"""Reads all settings into one frozen value."""

import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from bridle.config.merge import merge
from bridle.config.model_names import NAMING, OwnModels, own_models
from bridle.config.problems import Problem
from bridle.config.schema import Settings, settings_of
from bridle.config.sources import SHARED, Inputs, Layer, SettingsFile, places, read
from bridle.host import paths
from bridle.types.errors import ConfigError

if TYPE_CHECKING:
    from bridle.config.content_approvals import ContentApprovals
    from bridle.config.policy_helper import HelperPolicy


class LazyContentApprovals:
    """What of a trusted folder the user has approved; looked up by the first that needs it."""

    def __init__(self, env: Mapping[str, str], cwd: str) -> None:
        self._env = env
        self._cwd = cwd
        self._settled = False
        self._made: ContentApprovals | None = None

    def open(self) -> "ContentApprovals":
        if self._made is None:
            # Few folders bring anything that needs it, and what it stands on is slow to import.
            from bridle.config.content_approvals import ContentApprovals

            self._made = ContentApprovals(self._env, self._cwd)
        if self._settled:
            self._made.settle()
        return self._made

    def covers_file(self, path: str) -> bool:
        """Whether a file that brings hooks, servers, a mode or allowed tools is as it was approved."""
        return self.open().covers_file(path)

    def settle(self) -> None:
        """The settings have been read once: what comes from now on is new."""
        self._settled = True


class Config(Struct, frozen=True, kw_only=True):
    """Every setting that counts, and where it comes from."""

    settings: Settings
    raw: dict[str, Any]
    """All settings as plain values, with keys that only newer releases know."""
    layers: tuple[Layer, ...]
    """Lowest first."""
    problems: tuple[Problem, ...]
    inputs: Inputs
    trusted: Callable[[], bool]
    """Whether the user trusts the folder; asked only when it brings something that depends on it."""
    approved_content: "LazyContentApprovals | None" = None
    """What of a trusted folder the user has approved as it is; None where all of it counts."""
    policy: "HelperPolicy | None" = None
    """What the administrator's helper printed, where there is one."""


def load(
    *,
    cwd: str,
    env: Mapping[str, str],
    flag: str | None,
    setting_sources: tuple[str, ...] | None,
    managed_dir: str | None = None,
    trusted: bool | None = None,
    parent: str | None = None,
    device: tuple[str, ...] | None = None,
    registry: Any = None,
) -> Config:
    """Read, check and merge all settings; what is wrong is left out and reported in `problems`.

    From a folder that is not trusted nothing counts that executes or widens rights. None: what the user has
    said about the folder is looked up.

    Raises:
        ConfigError: `flag` (the value of --settings) or `parent` (that of --managed-settings) cannot be
            read, a source has an unknown name, or the administrator's policy helper fails.
    """
    inputs = Inputs(
        home=paths.config_home(env),
        cwd=cwd,
        flag=flag,
        setting_sources=setting_sources,
        managed_dir=paths.managed_dir(sys.platform) if managed_dir is None else managed_dir,
        models=tuple(env[name] for name in NAMING if env.get(name)),
        parent=parent,
        env=env,
        device=paths.device_policies(sys.platform, env) if device is None else device,
        registry=registry,
    )
    if trusted is None:
        return _load(
            inputs, trusted=_trust(env, cwd), approved_content=LazyContentApprovals(env, cwd), before=None
        )
    return _load(inputs, trusted=lambda: trusted, approved_content=None, before=None)


def reload(config: Config) -> Config:
    """Read everything again; a file that is broken now continues saying what it said before.

    What the policy helper printed still counts, unless another one is named now.
    """
    return _load(
        config.inputs, trusted=config.trusted, approved_content=config.approved_content, before=config
    )


def users_models(config: Config, *more: str | None) -> OwnModels:
    """The models that the user named, in settings, variables or flags (`more`), and no folder."""
    values: dict[str, Any] = {}
    for layer in config.layers:
        if layer.source not in SHARED:
            values |= layer.values
    return own_models(values, (*config.inputs.models, *filter(None, more)))


def environment(config: Config, base_env: Mapping[str, str], *, trusted: bool) -> dict[str, str]:
    """The process environment with the `env` blocks of all layers over it.

    An untrusted folder sets no variable that decides which code runs.
    """
    if not config.layers:
        return dict(base_env)
    from bridle.config.variables import only_when_trusted

    added: dict[str, str] = {}
    for layer in config.layers:
        wary = layer.source in SHARED and not trusted
        for name, value in (layer.values.get("env") or {}).items():
            if value is None:
                if layer.source == "flagSettings":
                    added.pop(name, None)
            elif not (wary and only_when_trusted(name, value)):
                added[name] = str(value).lower() if isinstance(value, bool) else str(value)
    return {**base_env, **added}


def _trust(env: Mapping[str, str], cwd: str) -> Callable[[], bool]:
    def look_up() -> bool:
        # Few folders bring anything that needs it, and what it stands on is slow to import.
        from bridle.config.state import is_trusted

        return is_trusted(env, cwd)

    return look_up


def _load(
    inputs: Inputs,
    *,
    trusted: Callable[[], bool],
    approved_content: "LazyContentApprovals | None",
    before: Config | None,
) -> Config:
    layers: list[Layer] = []
    problems: list[Problem] = []
    previous = None if before is None else {layer.path: layer for layer in _known_layers(before)}
    for place in places(inputs):
        layer, found = _read_layer(place, previous)
        problems += found
        if layer is not None and layer.source in SHARED:
            from bridle.config.layer_check import trusted_part

            layer, found = trusted_part(
                layer, layers, inputs, trusted=trusted, approved_content=approved_content
            )
            problems += found
        if layer is not None:
            layers.append(layer)
    if approved_content is not None:
        approved_content.settle()
    policy = None
    if any("policyHelper" in layer.values for layer in layers if layer.source == "policySettings"):
        policy, layers, found = _computed(inputs, layers, before)
        problems += found
    if any("bridleRemotePolicy" in layer.values for layer in layers if layer.source == "policySettings"):
        layers, found = _with_remote(inputs, layers)
        problems += found
    raw = merge([(layer.source, layer.values) for layer in layers])
    return Config(
        settings=settings_of(raw),
        raw=raw,
        layers=tuple(layers),
        problems=tuple(problems),
        inputs=inputs,
        trusted=trusted,
        approved_content=approved_content,
        policy=policy,
    )


def _known_layers(config: Config) -> tuple[Layer, ...]:
    return config.layers if config.policy is None else (*config.layers, *config.policy.files)


def _computed(
    inputs: Inputs, layers: list[Layer], before: Config | None
) -> "tuple[HelperPolicy | None, list[Layer], tuple[Problem, ...]]":
    """The layers with what the policy helper prints in the place of all other managed settings.

    Raises:
        ConfigError: it fails, and there is nothing that it printed before.
    """
    # Few machines have one.
    from bridle.config.parent_policy import PARENT
    from bridle.config.policy_helper import helper_of, run_helper

    known = None if before is None else before.policy
    managed = [layer for layer in layers if layer.source == "policySettings" and layer.path != PARENT]
    problems: tuple[Problem, ...] = ()
    try:
        helper = helper_of(managed)
        if helper is None:
            return None, layers, ()
        if known is None or known.helper != helper:
            known = run_helper(helper, inputs.env)
    except ConfigError as error:
        if known is None:
            raise
        problems = (Problem(file=known.helper.path, message=str(error), broken=True),)
    known = msgspec.structs.replace(known, files=tuple(managed))
    if known.values is None:
        return known, layers, problems
    place = SettingsFile("policySettings", known.helper.path, msgspec.json.encode(known.values).decode())
    computed, found = _read_layer(place, None)
    others = [layer for layer in layers if layer.source != "policySettings"]
    return known, [*others, *([] if computed is None else [computed])], (*problems, *found)


def _with_remote(inputs: Inputs, layers: list[Layer]) -> tuple[list[Layer], tuple[Problem, ...]]:
    """The layers with the managed settings of the administrator's address over all others.

    Raises:
        ConfigError: they must be fetched, and cannot be.
    """
    # Few machines have one.
    from bridle.config.managed.remote_policy import remote_settings

    managed = settings_of(
        merge([(each.source, each.values) for each in layers if each.source == "policySettings"])
    )
    policy = managed.bridle_remote_policy
    if policy is None:
        return layers, ()
    forced = managed.force_remote_settings_refresh is True
    values, fault = remote_settings(policy, inputs.env, inputs.home, forced=forced)
    place = SettingsFile("policySettings", policy.url, msgspec.json.encode(values).decode())
    layer, found = _read_layer(place, None)
    problems = (*found, *((Problem(file=policy.url, message=fault, broken=True),) if fault else ()))
    return [*layers, *([] if layer is None else [layer])], problems


def _read_layer(
    place: SettingsFile, previous: Mapping[str, Layer] | None
) -> tuple[Layer | None, tuple[Problem, ...]]:
    layer, problem = read(place)
    if place.source == "flagSettings" and previous is None:
        _require(place, layer, problem)
    if problem is not None:
        return (previous or {}).get(place.path), (problem,)
    if layer is None:
        return None, ()
    # Many runs have no settings, and what checks them is large.
    from bridle.config.layer_check import checked

    return checked(layer, place)


def _require(place: SettingsFile, layer: Layer | None, problem: Problem | None) -> None:
    if problem is not None:
        raise ConfigError(f"Invalid --settings: {problem}.")
    if layer is None:
        raise ConfigError(f"The --settings file does not exist: {place.path}.")
