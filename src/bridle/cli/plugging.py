"""The plugins of a session: read once, handed to the parts that they extend, and read again when asked."""

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from bridle.cli import choices
from bridle.cli.args import Args
from bridle.cli.setup import Setup
from bridle.config.load import Config, reload
from bridle.extensions.places import Kind, Root
from bridle.extensions.plugins.presence import among_skills, is_any_installed
from bridle.types.errors import BridleError, ConfigError

if TYPE_CHECKING:
    from bridle.engine.hook_door import HookDoor
    from bridle.extensions.plugins.faults import PluginFault
    from bridle.extensions.plugins.loading import Plugins
    from bridle.hooks.table import Table

_MOST_TOLD = 5


class OpenPlugins:
    """What plugins bring to one session; without any, nothing of them is imported."""

    def __init__(self, setup: Setup, folders: Sequence[str], broken: "Sequence[PluginFault]") -> None:
        self._setup = setup
        self._folders = tuple(folders)
        self._broken = tuple(broken)
        self._path = setup.env.get("PATH", os.defpath)
        self._plugins: Plugins | None = None
        self._hooks: HookDoor | None = None
        self._read(setup.config)

    def follow(self, hooks: "HookDoor") -> None:
        """Let the hooks of plugins listen, now and after every reload."""
        self._hooks = hooks
        if self.has_hooks():
            hooks.open()

    def roots(self, kind: Kind) -> tuple[Root, ...]:
        return () if self._plugins is None else self._plugins.roots(kind)

    def servers(self) -> tuple[tuple[str, Mapping[str, Any]], ...]:
        return () if self._plugins is None else self._plugins.servers()

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

    def listing(self) -> list[Mapping[str, Any]]:
        return [] if self._plugins is None else [each.frame() for each in self._plugins.loaded]

    def faults(self) -> list[Mapping[str, Any]]:
        return [fault.frame() for fault in self._faults()]

    def warnings(self) -> tuple[str, ...]:
        """What is wrong, the first few in full."""
        every = self._faults()
        rest = len(every) - _MOST_TOLD
        more = (f"{rest} more plugins have problems: see bridle plugin list",) if rest > 0 else ()
        return (*map(str, every[:_MOST_TOLD]), *more)

    async def reload(self) -> str:
        """Read settings and plugins again; servers that came with them start with the next session."""
        config = await asyncio.to_thread(reload, self._setup.config)
        await asyncio.to_thread(self._read, config)
        if self._hooks is not None and (self._hooks.is_open or self.has_hooks()):
            self._hooks.open().reload(config.layers, plugins=self.hook_tables())
        count, wrong = len(self.listing()), len(self._faults())
        return f"{count} plugins are on" + (
            f", and {wrong} problems were found: see /plugin." if wrong else "."
        )

    def _faults(self) -> "tuple[PluginFault, ...]":
        return self._broken if self._plugins is None else (*self._broken, *self._plugins.faults)

    def _read(self, config: Config) -> None:
        setup = self._setup
        closed = choices.is_closed(setup.args, setup.env)
        if closed or not (self._folders or _is_any(setup, config)):
            self._plugins = None
            return
        from bridle.extensions.plugins.loading import Wish, load_plugins

        self._plugins = load_plugins(
            Wish(config=config, env=setup.env, cwd=setup.cwd, trusted=setup.trusted, folders=self._folders)
        )
        # Behind all else: a plugin adds programs and stands in for none.
        setup.env["PATH"] = os.pathsep.join((self._path, *self._plugins.programs()))


async def open_plugins(setup: Setup, *, warn: Callable[[str], None]) -> OpenPlugins:
    """The plugins that are installed or that flags name; what is wrong with them is told.

    Raises:
        ConfigError: flags name some, and management does not let them.
    """
    named, addresses = setup.args.many("plugin-dir") or (), setup.args.many("plugin-url") or ()
    if (named or addresses) and setup.config.settings.disable_sideload_flags:
        raise ConfigError("--plugin-dir and --plugin-url are turned off by the setting disableSideloadFlags.")
    found = [await _unpacked(setup, place) for place in (*named, *addresses)]
    plugins = OpenPlugins(
        setup,
        [each for each in found if isinstance(each, str)],
        [each.fault for each in found if isinstance(each, _Broken)],
    )
    for warning in plugins.warnings():
        warn(warning)
    return plugins


def early_roots(
    args: Args, config: Config, env: Mapping[str, str], *, cwd: str, trusted: bool
) -> Callable[[Kind], tuple[Root, ...]]:
    """The component folders before there is a session; plugins in archives are not unpacked for that."""

    def roots(kind: Kind) -> tuple[Root, ...]:
        from bridle.extensions.plugins.loading import Wish, load_plugins

        named = () if config.settings.disable_sideload_flags else args.many("plugin-dir") or ()
        folders = tuple(place for place in named if os.path.isdir(os.path.join(cwd, place)))
        return load_plugins(Wish(config=config, env=env, cwd=cwd, trusted=trusted, folders=folders)).roots(
            kind
        )

    return roots


class _Broken(Struct, frozen=True):
    fault: "PluginFault"


async def _unpacked(setup: Setup, place: str) -> str | _Broken:
    """The folder of a plugin that a flag names; archives are unpacked beside the index, once per content."""
    if "://" not in place and not place.endswith((".zip", ".tgz", ".tar.gz")):
        return place
    from bridle.extensions.plugins.archives import unpacked
    from bridle.extensions.plugins.faults import PluginFault

    try:
        return await unpacked(place, setup.env, cwd=setup.cwd)
    except (BridleError, OSError) as error:
        return _Broken(PluginFault(plugin=place, type="path-not-found", message=str(error), path=place))


def _is_any(setup: Setup, config: Config) -> bool:
    env = setup.env
    return is_any_installed(config, env) or any(
        among_skills(config, env, cwd=setup.cwd, trusted=setup.trusted)
    )
