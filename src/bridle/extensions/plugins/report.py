"""What there is to tell about plugins and marketplaces: for lists, views and scripts."""

import os.path
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from bridle.config.load import Config
from bridle.extensions.plugins.components import brings, discover
from bridle.extensions.plugins.context import PluginContext
from bridle.extensions.plugins.folder_copies import tree_digest
from bridle.extensions.plugins.loader import switches
from bridle.extensions.plugins.manifest import read_manifest
from bridle.extensions.plugins.marketplace import Marketplace, OfferedPlugin
from bridle.extensions.plugins.marketplaces import label, load, updates_itself
from bridle.extensions.plugins.names import PluginId, parse_id
from bridle.extensions.plugins.plugin import Components, Manifest, Plugins
from bridle.extensions.plugins.state import Record, is_for, read_installed, read_known
from bridle.extensions.plugins.versions import is_newer
from bridle.types.errors import ConfigError, UsageError


class PluginReport(Struct, frozen=True, kw_only=True):
    id: str
    description: str = ""
    version: str = ""
    offered: str = ""
    """The version that the marketplace has, where that is another."""
    author: str = ""
    installed: bool = False
    enabled: bool = False
    managed: bool = False
    """Its switch is the administrator's."""
    scope: str = ""
    path: str = ""
    project: str = ""
    installed_at: str = ""
    last_updated: str = ""
    favorite: bool = False
    brings: tuple[str, ...] = ()
    """`3 skills`, `1 server`: what it adds."""
    problems: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.id.partition("@")[0]

    @property
    def marketplace(self) -> str:
        return self.id.partition("@")[2]

    @property
    def shown_version(self) -> str:
        return f"{self.version} ({self.offered} available)" if self.offered else self.version


class MarketplaceReport(Struct, frozen=True, kw_only=True):
    name: str
    source: str
    raw: dict[str, Any] = {}
    plugins: int = 0
    updated: str = ""
    location: str = ""
    problem: str = ""
    auto_update: bool = False


def installed_plugins(around: PluginContext, config: Config, loaded: Plugins) -> tuple[PluginReport, ...]:
    """Everything that is installed, on or off, also for other projects.

    Raises:
        ConfigError: the file of what is installed cannot be read.
    """
    return tuple(_installed(around, config, loaded))


def offered_plugins(around: PluginContext) -> tuple[PluginReport, ...]:
    """Everything that the known marketplaces offer; what is in no reach is left out."""
    installed = read_installed(around.env).plugins
    return tuple(
        PluginReport(
            id=f"{offer.name}@{market.name}",
            description=offer.description,
            version=offer.version,
            author=_author(offer),
            installed=any(
                is_for(each, around.cwd) for each in installed.get(f"{offer.name}@{market.name}", ())
            ),
        )
        for market in _markets(around)
        for offer in market.offers.values()
    )


def known_marketplaces(around: PluginContext) -> tuple[MarketplaceReport, ...]:
    """The marketplaces that were added, and what is wrong with each."""
    rows: list[MarketplaceReport] = []
    for name, known in read_known(around.env).items():
        count, problem = 0, ""
        try:
            market = load(around, name)
            count = len(market.offers)
            problem = str(market.faults[0]) if market.faults else ""
        except (ConfigError, UsageError) as error:
            problem = str(error)
        rows.append(
            MarketplaceReport(
                name=name,
                source=label(known),
                raw=known.source,
                plugins=count,
                updated=known.last_updated,
                location=known.install_location,
                problem=problem,
                auto_update=updates_itself(around, name, known),
            )
        )
    return tuple(rows)


def plugin_named(text: str, around: PluginContext, *, installed: bool) -> PluginId:
    """The plugin that a text names; without a marketplace, the only one that has the name.

    Raises:
        UsageError: there is none, or there are several.
    """
    if "@" in text:
        return parse_id(text)
    if installed:
        known = read_installed(around.env).plugins
        names = [name for name, records in known.items() if any(is_for(each, around.cwd) for each in records)]
    else:
        names = [each.id for each in offered_plugins(around)]
    found = [name for name in names if name.partition("@")[0] == text]
    if len(found) == 1:
        return parse_id(found[0])
    if found:
        raise UsageError(f"{text!r} is ambiguous: use {' or '.join(found)}")
    known_names = ", ".join(read_known(around.env)) or "none"
    place = "installed" if installed else f"available in a marketplace (known: {known_names})"
    raise UsageError(
        f"no plugin {text!r} is {place}: see bridle plugin list{'' if installed else ' --available'}"
    )


def is_changed(record: Record) -> bool:
    """Whether the files of a plugin are others than those that were installed; reads all of them."""
    return bool(record.bridle_tree) and (
        not os.path.isdir(record.install_path) or tree_digest(record.install_path) != record.bridle_tree
    )


def examine(folder: str, record: Record | None = None) -> tuple[Manifest | None, Components]:
    """The manifest and the components of a plugin folder."""
    entry = None if record is None else record.bridle_entry
    manifest = read_manifest(folder, entry=entry).manifest
    return manifest, Components() if manifest is None else discover(folder, manifest)


def _installed(around: PluginContext, config: Config, loaded: Plugins) -> Iterator[PluginReport]:
    switched, fixed = switches(config)
    offers = {
        f"{offer.name}@{market.name}": offer
        for market in _markets(around)
        for offer in market.offers.values()
    }
    for name, records in read_installed(around.env).plugins.items():
        plugin = parse_id(name)
        for record in records:
            manifest, components = examine(record.install_path, record)
            default = manifest is not None and manifest.default_enabled
            yield PluginReport(
                id=name,
                description="" if manifest is None else manifest.description,
                version=record.version,
                offered=_newer(plugin, record, offers),
                author="" if manifest is None else manifest.author,
                installed=True,
                enabled=switched.get(name, default) and is_for(record, around.cwd),
                managed=name in fixed,
                scope=record.scope,
                path=record.install_path,
                project=record.project_path or "",
                installed_at=record.installed_at,
                last_updated=record.last_updated,
                brings=brings(components),
                problems=tuple(each.message for each in loaded.faults if each.plugin in (name, plugin.name)),
            )
    for each in loaded.loaded:
        if each.scope == "session" or each.plugin.marketplace == "skills-dir":
            yield PluginReport(
                id=str(each.plugin),
                description=each.manifest.description,
                version=each.manifest.version,
                author=each.manifest.author,
                installed=True,
                enabled=True,
                scope=each.scope,
                path=each.folder,
                brings=brings(each.components),
            )


def _newer(plugin: PluginId, record: Record, offers: dict[str, OfferedPlugin]) -> str:
    offer = offers.get(str(plugin))
    if offer is None:
        return ""
    version = offer.version
    if not version and offer.source.kind == "directory" and os.path.isdir(offer.source.location):
        manifest = read_manifest(offer.source.location).manifest
        version = "" if manifest is None else manifest.version
    return version if version and is_newer(version, record.version) else ""


def _markets(around: PluginContext) -> Iterator[Marketplace]:
    for name in read_known(around.env):
        try:
            yield load(around, name)
        except (ConfigError, UsageError):
            continue  # The list of marketplaces shows why.


def _author(offer: OfferedPlugin) -> str:
    author = offer.values.get("author")
    name = author.get("name") if isinstance(author, dict) else author
    return name if isinstance(name, str) else ""
