"""Removes plugins and marketplaces: a kill at any moment leaves the old state or the new one."""

import asyncio
import os
import os.path
from collections.abc import Sequence

from msgspec.structs import replace

from bridle.extensions.plugins import marketplaces
from bridle.extensions.plugins.around import Around, remove_tree
from bridle.extensions.plugins.installing import begin, manifests, record_of
from bridle.extensions.plugins.names import PluginId, Scope, cache_dir, data_dir, parse_id, plugins_dir
from bridle.extensions.plugins.options import forget_options
from bridle.extensions.plugins.planning import needs
from bridle.extensions.plugins.state import (
    Edit,
    Installed,
    Record,
    change_installed,
    lock,
    read_installed,
    settle,
)
from bridle.types.errors import UsageError


async def uninstall(
    around: Around,
    plugin: PluginId,
    *,
    scope: Scope | None = None,
    keep_data: bool = False,
    prune: bool = False,
) -> tuple[PluginId, ...]:
    """Remove a plugin from a scope; with its last scope go its files, data and options.

    Raises:
        UsageError: it is not installed there, or others need it.
        Locked: another process changes plugins.
    """
    async with lock(around.env):
        begin(around)
        installed = read_installed(around.env)
        record = record_of(around, installed, plugin, scope)
        rest = {name: each for name, each in manifests(around, installed).items() if name != str(plugin)}
        if needed := needs(rest, plugin):
            raise UsageError(f"{plugin} is needed by {', '.join(needed)}: uninstall that first")
        await asyncio.to_thread(_remove, around, [(plugin, record)], keep_data=keep_data)
        gone = [plugin]
        if prune:
            gone += await asyncio.to_thread(_prune, around, record.scope)
        return tuple(gone)


async def prune(around: Around, *, scope: Scope | None = None, dry_run: bool = False) -> tuple[PluginId, ...]:
    """Remove plugins that came only because others needed them, and versions that nobody uses.

    Raises:
        Locked: another process changes plugins.
    """
    async with lock(around.env):
        begin(around)
        if dry_run:
            return tuple(plugin for plugin, _ in _unneeded(around, scope))
        return await asyncio.to_thread(_prune, around, scope)


async def remove_marketplace(around: Around, name: str) -> tuple[PluginId, ...]:
    """Remove a marketplace and every plugin that came from it.

    Raises:
        UsageError: there is no such marketplace.
        Locked: another process changes plugins.
    """
    async with lock(around.env):
        begin(around)
        installed = read_installed(around.env)
        every = [
            (parse_id(id), record)
            for id, records in installed.plugins.items()
            for record in records
            if parse_id(id).marketplace == name
        ]
        marketplaces.forget(around, name)
        await asyncio.to_thread(_remove, around, every, keep_data=False)
        return tuple(dict.fromkeys(plugin for plugin, _ in every))


def _remove(around: Around, gone: Sequence[tuple[PluginId, Record]], *, keep_data: bool) -> None:
    def without(before: Installed) -> dict[str, tuple[Record, ...]]:
        plugins = dict(before.plugins)
        for plugin, record in gone:
            plugins[str(plugin)] = tuple(each for each in plugins.get(str(plugin), ()) if each != record)
        return plugins

    edits = [
        Edit(file=_settings_of(around, record), plugin=str(plugin), enabled=None)
        for plugin, record in gone
        if record.scope != "managed"
    ]
    change_installed(around.env, without, edits=edits)
    around.reached("recorded")
    settle(around.env)
    around.reached("settled")
    left = read_installed(around.env)
    for plugin in dict.fromkeys(plugin for plugin, _ in gone):
        if str(plugin) in left.plugins:
            continue
        remove_tree(cache_dir(around.env, plugin))
        if not keep_data:
            remove_tree(data_dir(around.env, plugin))
            forget_options(around.env, plugin)


def _settings_of(around: Around, record: Record) -> str:
    """The settings file of a record, which may belong to another project."""
    there = around if record.project_path is None else replace(around, cwd=record.project_path)
    return there.settings_file(record.scope)


def _unneeded(around: Around, scope: Scope | None) -> list[tuple[PluginId, Record]]:
    """Plugins that came along and that nothing needs any more, until no more are found."""
    installed = read_installed(around.env)
    known = manifests(around, installed)
    found: list[tuple[PluginId, Record]] = []
    while True:
        more = [
            (parse_id(name), record)
            for name, records in installed.plugins.items()
            for record in records
            if name in known and record.bridle_automatic and scope in (None, record.scope)
            if not needs(known, parse_id(name))
        ]
        if not more:
            return found
        found += more
        known = {name: each for name, each in known.items() if name not in {str(id) for id, _ in more}}


def _prune(around: Around, scope: Scope | None) -> tuple[PluginId, ...]:
    gone = _unneeded(around, scope)
    if gone:
        _remove(around, gone, keep_data=False)
    used = {
        record.install_path for records in read_installed(around.env).plugins.values() for record in records
    }
    cache = os.path.join(plugins_dir(around.env), "cache")
    for marketplace in _folders(cache):
        for plugin in _folders(marketplace):
            for version in _folders(plugin):
                if version not in used:
                    remove_tree(version)
    return tuple(plugin for plugin, _ in gone)


def _folders(folder: str) -> list[str]:
    try:
        return [os.path.join(folder, name) for name in sorted(os.listdir(folder))]
    except OSError:
        return []  # Nothing was ever installed.
