"""Installs, updates and removes plugins: a kill at any moment leaves the old state or the new one."""

import asyncio
import os
import os.path
import re
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from bridle.config import edit
from bridle.extensions.pending_events import note_event
from bridle.extensions.plugins import marketplaces
from bridle.extensions.plugins.context import PluginContext, clear_staging
from bridle.extensions.plugins.folder_copies import tree_digest
from bridle.extensions.plugins.installation_plan import Item, needs, plan
from bridle.extensions.plugins.manifest import read_manifest
from bridle.extensions.plugins.names import PluginId, Scope, cache_dir, parse_id
from bridle.extensions.plugins.options import save_options
from bridle.extensions.plugins.plugin import Manifest
from bridle.extensions.plugins.state import (
    Edit,
    Installed,
    Record,
    change_installed,
    is_for,
    lock,
    read_installed,
    settle,
    settle_or_undo,
)
from bridle.types.errors import UsageError
from bridle.types.text import encodable

Agree = Callable[[Sequence[Item]], bool]
"""Whether the user wants what is about to be installed."""


class Change(Struct, frozen=True, kw_only=True):
    """What was done to one plugin."""

    plugin: PluginId
    version: str
    before: str = ""
    """The version that was there; empty for a new plugin."""
    automatic: bool = False


async def install(
    around: PluginContext,
    wanted: Sequence[PluginId],
    *,
    scope: Scope = "user",
    options: Mapping[str, str] | None = None,
    agree: Agree = lambda _: True,
) -> tuple[Change, ...]:
    """Install plugins with what they depend on, all or none; they are on from then on.

    Raises:
        UsageError: there is no such plugin or option, or the user does not agree.
        ConfigError: something cannot be had, used or written, or does not get along.
        Locked: another process changes plugins.
    """
    around.settings_file(scope)
    if scope != "user" and encodable(around.cwd) != around.cwd:
        raise UsageError("this folder's name is not valid text, so nothing can be installed for it")
    async with lock(around.env):
        begin(around)
        installed = read_installed(around.env)
        items = await plan(around, wanted, installed)
        changes = await _commit(around, items, scope=scope, options=options or {}, agree=agree)
    for change in changes:
        about = {
            "plugin.name": change.plugin.name,
            "plugin.version": change.version,
            "install.trigger": "user",
        }
        note_event(around.env, "plugin_installed", **about)
    return changes


async def update(
    around: PluginContext,
    plugin: PluginId,
    *,
    scope: Scope | None = None,
    agree: Agree = lambda _: True,
    tell: Callable[[str], None] = lambda _: None,
) -> tuple[Change, ...]:
    """Fetch a plugin again and install it where its content is another; a new name is taken over.

    `tell` gets a sentence about a marketplace that could not be refreshed, so that its last copy is used.

    Raises:
        UsageError: it is not installed or not offered any more, or the user does not agree.
        ConfigError: it cannot be had, used or written.
        Locked: another process changes plugins.
    """
    async with lock(around.env):
        begin(around)
        installed = read_installed(around.env)
        record = record_of(around, installed, plugin, scope)
        renewed = await marketplaces.update(around, plugin.marketplace)
        if renewed.stale:
            tell(f"could not fetch {plugin.marketplace}, using the last copy: {renewed.stale}")
        items = await plan(around, [plugin], installed, fresh=True)
        new = [item for item in items if not _is_current(around, item, installed, record.scope)]
        if not new:
            return ()
        old = plugin if all(item.plugin != plugin for item in items) else None
        return await _commit(around, new, scope=record.scope, options={}, agree=agree, replaces=old)


def enable(
    around: PluginContext, plugin: PluginId, *, enabled: bool, scope: Scope | None = None, alone: bool = True
) -> None:
    """Turn a plugin on or off in a scope; not `alone` where all that need it are turned off too.

    Raises:
        UsageError: it is not installed, its switch is the administrator's, or others need it.
        ConfigError: the settings cannot be changed.
    """
    settle(around.env)  # What a crash left undone must not undo this one day.
    installed = read_installed(around.env)
    record = record_of(around, installed, plugin, None)
    if str(plugin) in around.enabled_by_management:
        raise UsageError(f"your organization controls {plugin}")
    if not enabled and alone:
        switched = around.settings.enabled_plugins or {}
        rest = {
            name: each
            for name, each in manifests(installed, around.cwd).items()
            if name == str(plugin) or switched.get(name, each.default_enabled)
        }
        if needed := needs(rest, plugin):
            raise UsageError(f"{plugin} is required by {', '.join(needed)}: disable that first")
    place = scope or ("user" if record.scope == "managed" else record.scope)
    edit.set_value(around.settings_file(place), ("enabledPlugins", str(plugin)), enabled, env=around.env)


def manifests(installed: Installed, project: str | None) -> dict[str, Manifest]:
    """The manifests of all that is installed for a project, or for any, and can be read."""
    found: dict[str, Manifest] = {}
    for name, records in installed.plugins.items():
        record = next((each for each in records if project is None or is_for(each, project)), None)
        if record is not None:
            reading = read_manifest(
                record.install_path, entry=record.bridle_entry, fallback=parse_id(name).name
            )
            if reading.manifest is not None:
                found[name] = reading.manifest
    return found


def record_of(around: PluginContext, installed: Installed, plugin: PluginId, scope: Scope | None) -> Record:
    """How a plugin is installed: in the scope that is named, else in the nearest.

    Raises:
        UsageError: it is not.
    """
    scopes: tuple[Scope, ...] = ("local", "project", "user", "managed") if scope is None else (scope,)
    for each in scopes:
        if (record := installed.find(plugin, each, around.cwd)) is not None:
            return record
    where = f" in {scope} scope" if scope else ""
    raise UsageError(f"{plugin} is not installed{where}; see bridle plugin list")


def begin(around: PluginContext) -> None:
    """Clear up after a run that was killed; called with the lock held.

    Raises:
        ConfigError: a file does not parse.
        OSError: a file cannot be written.
    """
    clear_staging(around.env)
    settle(around.env)


def _is_current(around: PluginContext, item: Item, installed: Installed, scope: Scope) -> bool:
    same = installed.find(item.plugin, scope, around.cwd)
    return same is not None and same.bridle_tree == item.tree and os.path.isdir(same.install_path)


async def _commit(
    around: PluginContext,
    items: Sequence[Item],
    *,
    scope: Scope,
    options: Mapping[str, str],
    agree: Agree,
    replaces: PluginId | None = None,
) -> tuple[Change, ...]:
    if not agree(items):
        raise UsageError("nothing was installed")
    _save_options(around, items, options)
    installed = read_installed(around.env)
    project = os.path.realpath(around.cwd) if scope in ("project", "local") else None
    records = {item.plugin: _record(around, item, scope, project, installed) for item in items}
    changes = tuple(_change(around, item, installed, scope) for item in items)
    await asyncio.to_thread(_place, around, items, records)
    file = around.settings_file(scope)
    switched = (around.settings.enabled_plugins or {}).get(str(replaces))
    edits = [
        Edit(file=file, plugin=str(plugin), enabled=True if replaces is None else switched)
        for plugin in records
        if installed.find(plugin, scope, around.cwd) is None
    ]
    if replaces is not None:
        edits.append(Edit(file=file, plugin=str(replaces), enabled=None))
    change_installed(
        around.env,
        lambda before: _with_records(before, records, without=replaces, place=(scope, project)),
        edits=edits,
    )
    around.reached("recorded")
    settle_or_undo(around.env, installed)
    around.reached("settled")
    clear_staging(around.env)
    return changes


def _save_options(around: PluginContext, items: Sequence[Item], options: Mapping[str, str]) -> None:
    asked = [item for item in items if not item.automatic]
    if options and len(asked) == 1:
        save_options(around.env, asked[0].plugin, asked[0].manifest.options, options)
    elif options:
        raise UsageError("--config sets options of one plugin at a time")


def _record(
    around: PluginContext, item: Item, scope: Scope, project: str | None, installed: Installed
) -> Record:
    before = installed.find(item.plugin, scope, around.cwd)
    now = around.now()
    entry = item.offer.entry
    return Record(
        scope=scope,
        install_path=_target(around, item),
        version=item.version,
        installed_at=now if before is None else before.installed_at,
        last_updated=now,
        git_commit_sha=item.revision if re.fullmatch("[0-9a-f]{40}", item.revision) else None,
        project_path=project,
        bridle_approved=item.approval,
        bridle_tree=item.tree,
        bridle_source=item.source,
        bridle_entry=entry if set(entry) - {"name", "version", "description"} else None,
        bridle_automatic=item.automatic if before is None else before.bridle_automatic,
    )


def _target(around: PluginContext, item: Item) -> str:
    """A folder for exactly this content: what another version, or a changed one, lies in is never touched."""
    version = re.sub(r"[^A-Za-z0-9._+-]", "-", item.version).lstrip(".") or "unknown"
    plain = os.path.join(cache_dir(around.env, item.plugin), version[:80])
    if not os.path.lexists(plain) or (os.path.isdir(plain) and tree_digest(plain) == item.tree):
        return plain
    return f"{plain}-{item.tree[:12]}"


def _place(around: PluginContext, items: Sequence[Item], records: Mapping[PluginId, Record]) -> None:
    for item in items:
        target = records[item.plugin].install_path
        if os.path.isdir(target):
            if tree_digest(target) == item.tree:
                continue
            # The files were changed: nothing that is recorded has this content, so it may go.
            os.rename(target, f"{item.folder}.old")
        os.makedirs(os.path.dirname(target), exist_ok=True)
        _sync_tree(item.folder)
        os.rename(item.folder, target)
        _sync(os.path.dirname(target))
        around.reached("placed")


def _sync_tree(folder: str) -> None:
    """Make the files last through a power cut before anything refers to them."""
    for parent, _, files in os.walk(folder):
        for name in files:
            _sync(os.path.join(parent, name))
        _sync(parent)


def _sync(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError:
        pass  # Not every file system can do it, and the files are there all the same.
    finally:
        os.close(descriptor)


def _with_records(
    before: Installed,
    records: Mapping[PluginId, Record],
    *,
    without: PluginId | None,
    place: tuple[Scope, str | None],
) -> dict[str, tuple[Record, ...]]:
    """What is installed, with other records at a place: a scope, and the project that it is for."""
    plugins = dict(before.plugins)
    for plugin in (*records, *([without] if without is not None else [])):
        others = plugins.get(str(plugin), ())
        plugins[str(plugin)] = tuple(each for each in others if (each.scope, each.project_path) != place)
    for plugin, record in records.items():
        plugins[str(plugin)] = (*plugins[str(plugin)], record)
    return plugins


def _change(around: PluginContext, item: Item, installed: Installed, scope: Scope) -> Change:
    before = installed.find(item.plugin, scope, around.cwd)
    return Change(
        plugin=item.plugin,
        version=item.version,
        before="" if before is None else before.version,
        automatic=item.automatic,
    )
