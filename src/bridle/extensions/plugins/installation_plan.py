"""Works out what an installation takes: the plugin, what it depends on, and whether they get along."""

import asyncio
import os.path
from collections.abc import Iterable, Mapping, Sequence

import msgspec
from msgspec import Struct

from bridle.extensions.plugins.components import approval, discover
from bridle.extensions.plugins.context import PluginContext
from bridle.extensions.plugins.downloads import fetch
from bridle.extensions.plugins.folder_copies import copy_tree, tree_digest
from bridle.extensions.plugins.manifest import read_manifest
from bridle.extensions.plugins.marketplace import Marketplace, OfferedPlugin
from bridle.extensions.plugins.marketplaces import find
from bridle.extensions.plugins.names import PluginId, plugins_dir
from bridle.extensions.plugins.plugin import Components, Manifest
from bridle.extensions.plugins.policy import check_command_source
from bridle.extensions.plugins.seeds import seed_folders
from bridle.extensions.plugins.state import Installed, is_for
from bridle.extensions.plugins.versions import satisfies
from bridle.host.git.repository import head_commit
from bridle.types.errors import ConfigError, UsageError
from bridle.types.nearest import did_you_mean

_MOST = 50


class Item(Struct, frozen=True, kw_only=True):
    """A plugin that was fetched and checked, and is not installed yet."""

    plugin: PluginId
    offer: OfferedPlugin
    manifest: Manifest
    components: Components
    folder: str
    version: str
    revision: str
    tree: str
    source: str = ""
    """Its folder in a marketplace of the user on this machine."""
    automatic: bool = False
    """Installed only because another plugin needs it."""

    @property
    def approval(self) -> str:
        return approval(self.components)


async def plan(
    around: PluginContext, wanted: Sequence[PluginId], installed: Installed, *, fresh: bool = False
) -> tuple[Item, ...]:
    """Fetch plugins and what they depend on; nothing of them is run, and nothing is installed.

    With `fresh`, also those that are installed are fetched again.

    Raises:
        UsageError: there is no such plugin.
        ConfigError: one cannot be had or used, or two cannot be installed together.
    """
    planning = _Planning(around, installed)
    for plugin in wanted:
        await planning.add(plugin, needed_by=None, fresh=fresh)
    planning.check()
    return tuple(planning.items.values())


class _Planning:
    def __init__(self, around: PluginContext, installed: Installed) -> None:
        self._around = around
        self._installed = installed
        self._ranges: dict[PluginId, list[tuple[PluginId, str]]] = {}
        self._needed = 0
        self.items: dict[PluginId, Item] = {}

    async def add(self, plugin: PluginId, *, needed_by: PluginId | None, fresh: bool = False) -> None:
        if plugin in self.items:
            return
        if needed_by is not None and not fresh and self._version(plugin) is not None:
            return
        if needed_by is not None:
            self._needed += 1
            if self._needed > _MOST:
                raise ConfigError(f"more than {_MOST} plugins depend on each other")
        marketplace = await find(self._around, plugin.marketplace)
        item = await self._fetch(plugin, marketplace, automatic=needed_by is not None)
        self.items[item.plugin] = item
        for dependency in item.manifest.dependencies:
            place = dependency.marketplace or plugin.marketplace
            if place not in (plugin.marketplace, *marketplace.trusts):
                raise ConfigError(
                    f"{plugin} requires {dependency.name}@{place}, but its marketplace does not list "
                    f"{place} in allowCrossMarketplaceDependenciesOn: install that plugin first, or ask "
                    "its author"
                )
            other = PluginId(dependency.name, place)
            self._ranges.setdefault(other, []).append((item.plugin, dependency.version))
            await self.add(other, needed_by=item.plugin)

    def check(self) -> None:
        for plugin, ranges in self._ranges.items():
            version = self.items[plugin].version if plugin in self.items else self._version(plugin) or ""
            for needed_by, wanted in ranges:
                if not satisfies(version, wanted):
                    raise ConfigError(
                        f"{needed_by} requires {plugin} {wanted}, but {version} is available: update "
                        f"{plugin.name} or ask its author"
                    )
        for plugin in self.items:
            other = _namesake(plugin, self._names())
            if other is not None:
                raise ConfigError(f"{plugin} has the same name as {other}: uninstall {other} first")

    def _names(self) -> set[str]:
        around = self._around
        own = {
            name
            for name, records in self._installed.plugins.items()
            if any(is_for(record, around.cwd) for record in records)
        }
        return own | {str(plugin) for plugin in self.items}

    def _version(self, plugin: PluginId) -> str | None:
        records = self._installed.plugins.get(str(plugin), ())
        found = (
            each for each in records if is_for(each, self._around.cwd) and os.path.isdir(each.install_path)
        )
        return next((each.version for each in found), None)

    async def _fetch(self, plugin: PluginId, marketplace: Marketplace, *, automatic: bool) -> Item:
        around = self._around
        offer = offer_of(plugin, marketplace)
        if around.enabled_by_management.get(str(plugin)) is False:
            raise ConfigError(f"your organization disabled {plugin}")
        check_command_source(offer.source, around.settings)
        around.check_command(offer.source)
        folder, own = around.staging(), False
        if offer.source.kind == "directory":
            if not os.path.isdir(offer.source.location):
                raise ConfigError(f"{plugin}: its folder {offer.source.location} does not exist")
            await asyncio.to_thread(
                copy_tree, offer.source.location, folder, inside=marketplace.root or offer.source.location
            )
            revision = head_commit(marketplace.root or offer.source.location)
            kept = (plugins_dir(around.env), *seed_folders(around.env))
            place = os.path.realpath(offer.source.location)
            own = not place.startswith(tuple(f"{os.path.realpath(each)}{os.sep}" for each in kept))
        else:
            revision = (await fetch(offer.source, folder, around.env)).revision
        around.reached("fetched")
        item = await asyncio.to_thread(
            _examine, PluginId(offer.name, plugin.marketplace), offer, folder, revision, automatic=automatic
        )
        return msgspec.structs.replace(item, source=os.path.abspath(offer.source.location)) if own else item


def offer_of(plugin: PluginId, marketplace: Marketplace) -> OfferedPlugin:
    """What a marketplace offers under a name, or under the name that this became.

    Raises:
        UsageError: it has no such plugin.
    """
    name = marketplace.current_name(plugin.name)
    if name is None:
        hint = did_you_mean(plugin.name, marketplace.offers) or ": see bridle plugin list --available"
        raise UsageError(f"marketplace {marketplace.name} has no plugin {plugin.name!r}{hint}")
    return marketplace.offers[name]


def _examine(plugin: PluginId, offer: OfferedPlugin, folder: str, revision: str, *, automatic: bool) -> Item:
    reading = read_manifest(folder, entry=offer.entry, fallback=offer.name)
    manifest = reading.manifest
    if manifest is None:
        raise ConfigError(str(reading.faults[0]))
    components = discover(folder, manifest)
    return Item(
        plugin=plugin,
        offer=offer,
        manifest=manifest,
        components=components,
        folder=folder,
        version=manifest.version or offer.version or revision[:12] or "unknown",
        revision=revision,
        tree=tree_digest(folder),
        automatic=automatic,
    )


def _namesake(plugin: PluginId, names: set[str]) -> str | None:
    """A plugin of another marketplace whose components would have the same names."""
    return next(
        (each for each in names if each.partition("@")[0] == plugin.name and each != str(plugin)), None
    )


def needs(installed: Mapping[str, Manifest], plugin: PluginId) -> tuple[str, ...]:
    """The plugins among those installed that need one, except those in a circle that it needs itself."""
    own = reached_from(installed, [str(plugin)])
    return tuple(name for name in installed if name not in own and str(plugin) in _needed_by(installed, name))


def reached_from(installed: Mapping[str, Manifest], names: Iterable[str]) -> set[str]:
    """Plugins with all that they need, directly or through others."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += _needed_by(installed, name)
    return found


def _needed_by(installed: Mapping[str, Manifest], name: str) -> list[str]:
    manifest = installed.get(name)
    place = name.partition("@")[2]
    needed = () if manifest is None else manifest.dependencies
    return [f"{each.name}@{each.marketplace or place}" for each in needed]
