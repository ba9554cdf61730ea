"""Removes plugins and marketplaces: a kill at any moment leaves the old state or the new one."""

import asyncio
import os
import os.path
from collections.abc import Sequence

from msgspec.structs import replace

from bridle.extensions.plugins import marketplaces
from bridle.extensions.plugins.context import PluginContext, remove_tree
from bridle.extensions.plugins.installation import begin, manifests, record_of
from bridle.extensions.plugins.installation_plan import needs, reached_from
from bridle.extensions.plugins.names import PluginId, Scope, cache_dir, data_dir, parse_id, plugins_dir
from bridle.extensions.plugins.options import forget_options
from bridle.extensions.plugins.state import (
    Edit,
    Installed,
    Record,
    change_installed,
    is_for,
    lock,
    read_installed,
    settle_or_undo,
)
from bridle.types.errors import UsageError


async def uninstall(
    around: PluginContext,
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
        others = (each for each in installed.plugins[str(plugin)] if each != record)
        stays = any(is_for(each, around.cwd) for each in others)
        if not stays and (needed := needs(manifests(installed, around.cwd), plugin)):
            raise UsageError(f"{plugin} is required by {', '.join(needed)}: uninstall that first")
        await asyncio.to_thread(_remove, around, [(plugin, record)], keep_data=keep_data)
        gone = [plugin]
        if prune:
            gone += await asyncio.to_thread(_prune, around, record.scope)
        return tuple(gone)


async def prune(
    around: PluginContext, *, scope: Scope | None = None, dry_run: bool = False
) -> tuple[PluginId, ...]:
    """Remove plugins that came only because others needed them, and unused versions.

    Raises:
        Locked: another process changes plugins.
    """
    async with lock(around.env):
        begin(around)
        if dry_run:
            return tuple(plugin for plugin, _ in _unneeded(around, scope))
        return await asyncio.to_thread(_prune, around, scope)


async def remove_marketplace(around: PluginContext, name: str) -> tuple[PluginId, ...]:
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
        marketplaces.own(around, name)
        # The marketplace goes last: after a kill in between the same command can be repeated.
        await asyncio.to_thread(_remove, around, every, keep_data=False)
        marketplaces.forget(around, name)
        return tuple(dict.fromkeys(plugin for plugin, _ in every))


def _remove(around: PluginContext, gone: Sequence[tuple[PluginId, Record]], *, keep_data: bool) -> None:
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
    before = read_installed(around.env)
    change_installed(around.env, without, edits=edits)
    around.reached("recorded")
    settle_or_undo(around.env, before)
    around.reached("settled")
    left = read_installed(around.env)
    # Of names that differ only in signs, such as a.b and a-b, all have one folder.
    used = {data_dir(around.env, parse_id(name)) for name in left.plugins}
    for plugin in dict.fromkeys(plugin for plugin, _ in gone):
        if str(plugin) in left.plugins:
            continue
        remove_tree(cache_dir(around.env, plugin))
        if not keep_data:
            if data_dir(around.env, plugin) not in used:
                remove_tree(data_dir(around.env, plugin))
            forget_options(around.env, plugin)


def _settings_of(around: PluginContext, record: Record) -> str:
    """The settings file of a record, which may belong to another project."""
    there = around if record.project_path is None else replace(around, cwd=record.project_path)
    return there.settings_file(record.scope)


def _unneeded(around: PluginContext, scope: Scope | None) -> list[tuple[PluginId, Record]]:
    """Plugins that came along and that nothing needs any more which the user wanted, here or elsewhere."""
    installed = read_installed(around.env)
    wanted = [
        name
        for name, records in installed.plugins.items()
        if not all(record.bridle_automatic for record in records)
    ]
    kept = reached_from(manifests(installed, None), wanted)
    return [
        (parse_id(name), record)
        for name, records in installed.plugins.items()
        for record in records
        if name not in kept and is_for(record, around.cwd) and scope in (None, record.scope)
    ]


def _prune(around: PluginContext, scope: Scope | None) -> tuple[PluginId, ...]:
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
