"""The settings of a running session: followed on disk, and changed by a host program."""

import asyncio
import os.path
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from bridle.config.live_config import LiveConfig
from bridle.config.load import Config, environment, reload
from bridle.engine.hooks.lazy_hooks import LazyHooks
from bridle.engine.hooks.settings_change import fire_config_change
from bridle.engine.server import Server
from bridle.providers import catalog
from bridle.session import choices, model_choices, permission_choices
from bridle.session.setup import Setup
from bridle.transcripts.session import Session
from bridle.types.errors import UsageError
from bridle.types.event import Noticed

if TYPE_CHECKING:
    from bridle.hooks.table import Table

_WRITABLE = {"localSettings": frozenset({"outputStyle"}), "userSettings": frozenset({"effortLevel"})}
"""What a host may write into which file."""


class SessionSettings:
    """What counts now. Rules, hooks, variables, model and effort follow every change."""

    def __init__(
        self,
        setup: Setup,
        session: Session,
        server: Server,
        hooks: LazyHooks,
        *,
        warn: Callable[[str], None],
        plugin_hooks: "Callable[[], Sequence[Table]]" = tuple,
    ) -> None:
        self._setup = setup
        self._session = session
        self._server = server
        self._hooks = hooks
        self._plugin_hooks = plugin_hooks
        self._warn = warn
        self._live = LiveConfig(
            setup.config,
            changed=self._follow,
            report=lambda problem: warn(str(problem)),
            agrees=lambda before, after: fire_config_change(hooks, before.layers, after.layers),
        )
        self._counting = setup.config
        hooks.follow(lambda: server.runtime)

    async def run(self) -> None:
        """Follow the files until cancelled."""
        await self._live.run()

    def config(self) -> Config:
        """The settings as they stand."""
        return self._live.current

    def refresh(self) -> None:
        """Let what was just written to a settings file count now."""
        self._take_over(self._live.refresh())

    def effective(self) -> Mapping[str, Any]:
        return self._live.current.raw

    def sources(self) -> list[Mapping[str, Any]]:
        return [
            {"source": layer.source, "path": layer.path, "settings": layer.values}
            for layer in self._live.current.layers
        ]

    def problems(self) -> list[Mapping[str, Any]]:
        return [
            {"file": problem.file, "path": problem.key or "", "message": problem.message}
            for problem in self._live.current.problems
        ]

    def hooks(self) -> Mapping[str, Any]:
        from bridle.commands.queries.hook_listing import listing

        plugins = self._plugin_hooks()
        return listing(self._live.current.layers, trusted=self._setup.trusted, plugins=plugins)

    def moved(self, transcript: str) -> None:
        """The conversation is kept in another file, which hooks name from now on."""
        self._hooks.move(transcript)

    async def apply(self, changes: Mapping[str, Any]) -> None:
        current = self._live.current
        own = next((layer.values for layer in current.layers if layer.source == "flagSettings"), {})
        flag = msgspec.json.encode(_merged(own, changes)).decode()
        inputs = msgspec.structs.replace(current.inputs, flag=flag)
        changed = reload(msgspec.structs.replace(current, inputs=inputs))
        known = set(map(str, current.problems))
        if wrong := [problem for problem in changed.problems if str(problem) not in known]:
            raise UsageError(f"Invalid settings: {wrong[0]}.")
        self._live.current = changed
        self._take_over(changed)

    async def write(self, source: str, changes: Mapping[str, Any]) -> None:
        from bridle.config.edit import update

        allowed = _WRITABLE.get(source)
        if allowed is None:
            raise UsageError(f"A host may write {' and '.join(_WRITABLE)}, not {source}.")
        if foreign := sorted(set(changes) - allowed):
            raise UsageError(f"A host may not write {foreign[0]} to {source}.")
        inputs = self._live.current.inputs
        folder = inputs.home if source == "userSettings" else os.path.join(inputs.cwd, ".claude")
        name = "settings.json" if source == "userSettings" else "settings.local.json"
        path = os.path.join(folder, name)
        await asyncio.to_thread(update, path, lambda values: _merged(values, changes), env=self._setup.env)
        self._take_over(self._live.refresh())

    def _follow(self, config: Config) -> None:
        if self._take_over(config):
            self._server.runtime.channel.emit(Noticed("Settings have changed and were reloaded."))

    def _take_over(self, config: Config) -> bool:
        """Let new settings count: rules from the next decision on, the rest from the next request."""
        setup, options = self._setup, self._setup.options
        try:
            rules, _ = permission_choices.refresh_rules(
                options, config, self._session.state.rules, trusted=setup.trusted
            )
        except UsageError as error:
            self._warn(str(error))
            return False
        self._session.swap(rules=rules)
        if not choices.is_closed(options, setup.env):
            self._hooks.reload(config.layers)
        self._take_variables(config)
        counted, self._counting = self._counting, config
        before = counted.settings
        for feature in self._server.runtime.features.at("reconfigure"):
            feature.reconfigure(counted, config)
        if config.settings.model != before.model:
            own = config.raw.get("bridleModels")
            model = catalog.resolve(config.settings.model or setup.model, setup.env, own=own)
            self._session.swap(model=model)
        if config.settings.effort_level != before.effort_level:
            asking = self._server.runtime.asking
            effort = model_choices.choose_asking(
                options, config, setup.env, model=self._session.state.model
            ).effort
            self._server.change(asking=asking.at_effort(effort))
        return True

    def _take_variables(self, config: Config) -> None:
        """Set what the settings set, and unset what they set before, unless it was changed since."""
        setup = self._setup
        before = environment(self._counting, {}, trusted=setup.trusted)
        now = environment(config, {}, trusted=setup.trusted)
        for name, value in before.items():
            if name in now or setup.env.get(name) != value:
                continue
            if name in setup.inherited:
                setup.env[name] = setup.inherited[name]
            else:
                del setup.env[name]
        setup.env.update(now)


def _merged(values: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Values with changes over them, object by object; None takes a key away."""
    merged = dict(values)
    for key, change in changes.items():
        before = merged.get(key)
        if change is None:
            merged.pop(key, None)
        elif isinstance(change, dict) and isinstance(before, dict):
            merged[key] = _merged(before, change)
        else:
            merged[key] = change
    return merged
