"""The plugins of a session: read once, handed to the parts that they extend, and read again when asked."""

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from bridle.config.load import Config, reload
from bridle.config.options import SessionOptions
from bridle.extensions.plugins.detection import (
    among_skills,
    has_marketplaces,
    is_any_installed,
    skill_folders,
)
from bridle.extensions.roots import Kind, Root
from bridle.session import choices
from bridle.session.setup import Early, Setup
from bridle.types.errors import BridleError, ConfigError

if TYPE_CHECKING:
    from bridle.engine.hooks.lazy_hooks import LazyHooks
    from bridle.extensions.plugins.context import PluginContext
    from bridle.extensions.plugins.faults import PluginFault
    from bridle.extensions.plugins.plugin import Plugins
    from bridle.extensions.plugins.session_cache import CachedPlugins
    from bridle.hooks.table import Table
    from bridle.types.services.monitors import PluginMonitor

_MOST_TOLD = 5
_SOON = 0.5
"""Seconds until what was remembered of plugins is looked at."""


class OpenPlugins:
    """What plugins bring to one session; without any, nothing of them is imported."""

    def __init__(
        self,
        setup: Setup,
        folders: Sequence[str],
        broken: "Sequence[PluginFault]",
        *,
        without_servers: Sequence[str] = (),
    ) -> None:
        self._setup = setup
        self._folders = tuple(folders)
        self._without_servers = frozenset(_real(setup, folder) for folder in without_servers)
        """Folders of plugins whose MCP servers are not wanted."""
        self._broken = tuple(broken)
        self._path = setup.env.get("PATH", os.defpath)
        self._plugins: Plugins | None = None
        self._languages: Mapping[str, Mapping[str, Any]] | None = None
        """Put together once, because every step asks."""
        self._updating: asyncio.Task[None] | None = None
        self._confirming: asyncio.Task[None] | None = None
        self._remembered: CachedPlugins | None = None
        self._hooks: LazyHooks | None = None
        if setup.early is not None and setup.early.folders == self._folders:
            self._take(setup.early.plugins)
            self._remembered = setup.early.remembered
        else:
            self._read(setup.config)

    def follow(self, hooks: "LazyHooks") -> None:
        """Let the hooks of plugins listen, now and after every reload."""
        self._hooks = hooks
        if self.has_hooks():
            hooks.open()

    def roots(self, kind: Kind) -> tuple[Root, ...]:
        return () if self._plugins is None else self._plugins.roots(kind)

    def servers(self) -> tuple[tuple[str, Mapping[str, Any]], ...]:
        if self._plugins is None:
            return ()
        used = [
            each
            for each in self._plugins.loaded
            if not self._without_servers or _real(self._setup, each.folder) not in self._without_servers
        ]
        return tuple(server for each in used for server in each.servers())

    def shared_servers(self) -> frozenset[str]:
        """The servers of plugins that came with the project."""
        loaded = () if self._plugins is None else self._plugins.loaded
        return frozenset(name for each in loaded if each.shared for name, _ in each.servers())

    def is_channel(self, server: str) -> bool:
        """Whether a server may push messages, as far as the plugin has a say that brings it."""
        for each in () if self._plugins is None else self._plugins.loaded:
            if server.startswith(f"plugin:{each.plugin.name}:"):
                return (named := each.channels()) is None or server in named
        return True

    def language_servers(self) -> Mapping[str, Mapping[str, Any]]:
        """Language servers by their full names, with the variables of their plugins."""
        if self._languages is None:
            self._languages = {
                f"{each.plugin.name}:{name}": _with_variables(entry, each.variables())
                for each in (() if self._plugins is None else self._plugins.loaded)
                for name, entry in each.language_servers().items()
            }
        return self._languages

    def monitors(self) -> "tuple[PluginMonitor, ...]":
        """What plugins want watched."""
        if self._plugins is None:
            return ()
        from bridle.types.services.monitors import PluginMonitor

        return tuple(
            PluginMonitor(
                plugin=each.plugin.name,
                name=monitor.name,
                command=monitor.command,
                description=monitor.description,
                when=monitor.when,
                env=each.variables(),
            )
            for each in self._plugins.loaded
            for monitor in each.components.monitors
        )

    def has_hooks(self) -> bool:
        return self._plugins is not None and any(each.components.hooks for each in self._plugins.loaded)

    def hook_tables(self) -> "tuple[Table, ...]":
        if self._plugins is None:
            return ()
        from bridle.hooks.handler import Origin
        from bridle.hooks.table import from_values

        return tuple(
            from_values(
                file.values,
                Origin(
                    source="plugin",
                    file=file.file,
                    owner=each.plugin.name,
                    shared=each.shared,
                    plugin_root=each.folder,
                    plugin_data=each.data,
                    options=each.options.values,
                ),
                text=file.text,
            )
            for each in self._plugins.loaded
            for file in each.hooks()
        )

    def agent_rows(self) -> tuple[str, Mapping[str, str]] | None:
        """The command of a plugin that writes the rows of agents, and its variables."""
        return None if self._plugins is None else self._plugins.agent_rows()

    def keep_current(self, tell: Callable[[str], None]) -> None:
        """Bring what marketplaces keep up to date, in the background; done once for a session that lasts."""
        setup = self._setup
        lasts = setup.options.lasts
        if lasts and self._updating is None and has_marketplaces(setup.env):
            self._updating = asyncio.create_task(_look_around(setup, tell))

    def confirm_soon(self, tell: Callable[[str], None]) -> None:
        """See, when the first request is on its way, whether the plugins are as they were remembered."""
        if self._remembered is not None:
            self._confirming = asyncio.create_task(self._confirm(tell))

    async def _confirm(self, tell: Callable[[str], None]) -> None:
        await asyncio.sleep(_SOON)
        remembered, self._remembered = self._remembered, None
        if remembered is not None and not await asyncio.to_thread(remembered.confirm):
            tell("Plugin files have changed: run /reload-plugins, or restart.")

    async def close(self) -> None:
        for task in (self._updating, self._confirming):
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        if self._remembered is not None:
            self._remembered.confirm()  # The session was over first; the next one shall know.

    def listing(self) -> list[Mapping[str, Any]]:
        return [] if self._plugins is None else [each.frame() for each in self._plugins.loaded]

    def faults(self) -> list[Mapping[str, Any]]:
        return [fault.frame() for fault in self._faults()]

    def warnings(self) -> tuple[str, ...]:
        """What is wrong, the first few in full."""
        every = self._faults()
        rest = len(every) - _MOST_TOLD
        more = (f"{rest} more plugins have problems; see bridle plugin list",) if rest > 0 else ()
        return (*map(str, every[:_MOST_TOLD]), *more)

    async def reload(self) -> str:
        """Read settings and plugins again; MCP servers that came with them start with the next session."""
        config = await asyncio.to_thread(reload, self._setup.config)
        await asyncio.to_thread(self._read, config)
        if self._hooks is not None and (self._hooks.is_open or self.has_hooks()):
            self._hooks.open().reload(config.layers, plugins=self.hook_tables())
        self._remembered = None
        count, wrong = len(self.listing()), len(self._faults())
        return f"{count} plugins are on" + (f", and {wrong} problems found; see /plugin." if wrong else ".")

    def _faults(self) -> "tuple[PluginFault, ...]":
        return self._broken if self._plugins is None else (*self._broken, *self._plugins.faults)

    def _read(self, config: Config) -> None:
        setup = self._setup
        closed = choices.is_closed(setup.options, setup.env)
        if closed or not (self._folders or _is_any(setup, config)):
            self._take(None)
            return
        from bridle.extensions.plugins.loader import load_plugins
        from bridle.extensions.plugins.plugin import PluginRequest

        wish = PluginRequest(
            config=config, env=setup.env, cwd=setup.cwd, trusted=setup.trusted, folders=self._folders
        )
        self._take(load_plugins(wish))

    def _take(self, plugins: "Plugins | None") -> None:
        self._plugins, self._languages = plugins, None
        # Behind all else: a plugin adds programs and stands in for none.
        programs = () if plugins is None else plugins.programs()
        self._setup.env["PATH"] = os.pathsep.join((self._path, *programs))


async def open_plugins(setup: Setup, *, warn: Callable[[str], None]) -> OpenPlugins:
    """The plugins that are installed or that flags name; problems with them are reported.

    Raises:
        ConfigError: flags name some, and management does not let them.
    """
    options = setup.options
    named, addresses = options.plugin_dir, options.plugin_url
    muted = options.plugin_dir_no_mcp
    if (named or addresses or muted) and setup.config.settings.disable_sideload_flags:
        raise ConfigError("--plugin-dir and --plugin-url are turned off by the setting disableSideloadFlags.")
    whole = [await _unpacked(setup, place) for place in (*named, *addresses)]
    without_servers = [await _unpacked(setup, place) for place in muted]
    found = (*whole, *without_servers)
    plugins = OpenPlugins(
        setup,
        [each for each in found if isinstance(each, str)],
        [each.fault for each in found if isinstance(each, _Broken)],
        without_servers=[each for each in without_servers if isinstance(each, str)],
    )
    for warning in plugins.warnings():
        warn(warning)
    plugins.confirm_soon(warn)
    plugins.keep_current(warn)
    return plugins


def early_plugins(
    options: SessionOptions, config: Config, env: Mapping[str, str], *, cwd: str, trusted: bool
) -> Early:
    """The plugins before there is a session; those in archives are not unpacked for that."""
    named = () if config.settings.disable_sideload_flags else options.plugin_dir
    folders = tuple(place for place in named if os.path.isdir(os.path.join(cwd, place)))
    installed = is_any_installed(config, env) or _is_any_among(config, env, cwd=cwd, trusted=trusted)
    if choices.is_closed(options, env) or not (folders or installed):
        return Early(folders=folders)
    from bridle.extensions.plugins.plugin import PluginRequest
    from bridle.extensions.plugins.session_cache import current_plugins

    wish = PluginRequest(config=config, env=env, cwd=cwd, trusted=trusted, folders=folders)
    plugins, remembered = current_plugins(wish)
    return Early(folders=folders, plugins=plugins, remembered=remembered)


async def _look_around(setup: Setup, tell: Callable[[str], None]) -> None:
    """What marketplaces suggest for this folder, and what they have that is newer."""
    if choices.is_closed(setup.options, setup.env):
        return
    from bridle.features.plugins.suggestion_sources import around_plugins, suggesting_marketplaces

    around = around_plugins(setup.config, setup.env, cwd=setup.cwd)
    if named := suggesting_marketplaces(setup.config.settings, closed=False):
        await _suggest(around, named, tell)
    await _update(around, tell)


async def _suggest(around: "PluginContext", marketplaces: Sequence[str], tell: Callable[[str], None]) -> None:
    from bridle.extensions.plugins.suggestions import suggestions

    try:
        found = await asyncio.to_thread(suggestions, around, marketplaces)
    except ConfigError:
        return  # Looking for updates says so.
    for suggestion in found:
        tell(suggestion.sentence)


async def _update(around: "PluginContext", tell: Callable[[str], None]) -> None:
    from datetime import UTC, datetime

    from bridle.extensions.plugins.auto_update import auto_update, due, may_update

    if not may_update(around.env):
        return
    try:
        names = await asyncio.to_thread(due, around, datetime.now(UTC))
    except ConfigError as error:
        tell(str(error))
        return
    for sentence in await auto_update(around, names):
        tell(sentence)


class _Broken(Struct, frozen=True):
    fault: "PluginFault"


async def _unpacked(setup: Setup, place: str) -> str | _Broken:
    """The folder of a plugin that a flag names; archives are unpacked beside the index, once per content."""
    if "://" not in place and not place.endswith((".zip", ".tgz", ".tar.gz")):
        return place
    from bridle.extensions.plugins.downloads import unpacked
    from bridle.extensions.plugins.faults import PluginFault

    try:
        return await unpacked(place, setup.env, cwd=setup.cwd)
    except (BridleError, OSError) as error:
        return _Broken(PluginFault(plugin=place, type="path-not-found", message=str(error), path=place))


def _with_variables(entry: dict[str, Any], variables: Mapping[str, str]) -> dict[str, Any]:
    own = entry.get("env") or {}
    # Problems in the entry are reported when the server starts.
    return {**entry, "env": {**variables, **own}} if isinstance(own, dict) else entry


def _real(setup: Setup, folder: str) -> str:
    return os.path.realpath(os.path.join(setup.cwd, os.path.expanduser(folder)))


def _is_any(setup: Setup, config: Config) -> bool:
    env = setup.env
    return is_any_installed(config, env) or _is_any_among(config, env, cwd=setup.cwd, trusted=setup.trusted)


def _is_any_among(config: Config, env: Mapping[str, str], *, cwd: str, trusted: bool) -> bool:
    return any(among_skills(skill_folders(config, env, cwd=cwd, trusted=trusted)))
