"""The plugins of a session: those that are on with all they contribute, and what is wrong with others."""

import os
import os.path
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from bridle.config.approvals import digest
from bridle.config.content_approvals import is_binding
from bridle.config.load import Config
from bridle.config.source_limits import CHANGED
from bridle.extensions.cache import ExtensionCache, Stamps, merged
from bridle.extensions.plugins.components import KnownPlugin, examine
from bridle.extensions.plugins.detection import among_skills, skill_folders
from bridle.extensions.plugins.faults import FaultKind, PluginFault
from bridle.extensions.plugins.manifest import read_manifest
from bridle.extensions.plugins.names import INLINE, SKILLS_DIR, PluginId, data_dir, parse_id, plugins_dir
from bridle.extensions.plugins.options import read_options
from bridle.extensions.plugins.plugin import Loaded, Manifest, Options, PluginRequest, Plugins
from bridle.extensions.plugins.seeds import seeded_plugin
from bridle.extensions.plugins.state import Edit, Installed, Record, is_for, read_installed, read_known
from bridle.extensions.plugins.versions import satisfies
from bridle.host.files import make_folders
from bridle.host.paths import bridle_dir
from bridle.types.errors import ConfigError, UsageError

_CACHED = "plugins"


class Outcome(Struct, frozen=True, kw_only=True):
    plugins: Plugins
    stamps: Stamps
    """All that was looked at."""


def load_plugins(wish: PluginRequest) -> Plugins:
    """Read every plugin that is on; one that cannot be used is named and left out. Nothing of them is run."""
    return read_plugins(wish).plugins


def read_plugins(wish: PluginRequest) -> Outcome:
    """Read every plugin that is on, with the stamps that show whether the result is still valid."""
    loading = _Loading(wish)
    for folder in wish.folders:
        loading.add_folder(os.path.join(wish.cwd, os.path.expanduser(folder)), INLINE, shared=False)
    if wish.discovers:
        loading.add_installed()
        folders = skill_folders(wish.config, wish.env, cwd=wish.cwd, trusted=wish.trusted, extra=wish.extra)
        for folder in among_skills(folders):
            loading.add_folder(
                folder, SKILLS_DIR, shared=not folder.startswith(wish.config.inputs.home + os.sep)
            )
    return loading.finish()


class _Loading:
    def __init__(self, wish: PluginRequest) -> None:
        self._wish = wish
        self._cache = ExtensionCache(os.path.join(bridle_dir(wish.env), "index"))
        cached = self._cache.read(_CACHED, b"", dict[str, KnownPlugin]) or {}
        # A broken plugin is read again: it has no stamps that would tell when it was fixed.
        self._known = {key: each for key, each in cached.items() if each.manifest is not None}
        self._used: dict[str, KnownPlugin] = {}
        self._loaded: dict[str, Loaded] = {}
        self._faults: list[PluginFault] = []
        self._switches, self._fixed = switches(wish.config)

    def add_folder(self, folder: str, marketplace: str, *, shared: bool) -> None:
        name = os.path.basename(os.path.abspath(folder))
        if not os.path.isdir(folder):
            self._complain(name, "path-not-found", "the folder does not exist", folder)
            return
        known = self._read(folder, None, None)
        if known.manifest is None:
            return
        plugin = PluginId(known.manifest.name, marketplace)
        if marketplace == SKILLS_DIR and self._switches.get(str(plugin)) is False:
            return
        if shared and known.components.runs and not self._is_approved(known):
            self._complain(str(plugin), "content-changed", f"what it runs {CHANGED}", folder)
            return
        self._add(plugin, folder, known, scope="session" if marketplace == INLINE else "user", shared=shared)

    def _is_approved(self, known: KnownPlugin) -> bool:
        """Whether all that says what a plugin of the project runs is as the user approved it."""
        approved_content = self._wish.config.approved_content
        if approved_content is None or not self._wish.trusted:
            return True
        files = (path for path in known.stamps.changed if not path.endswith(".md") and is_binding(path))
        return all(map(approved_content.covers_file, files))

    def add_installed(self) -> None:
        wish = self._wish
        try:
            installed = read_installed(wish.env)
            blocked = self._blocked()
        except ConfigError as error:
            self._complain("installed", "manifest-parse-error", str(error), "")
            return
        self._switches = _with_pending(self._switches, installed.pending) | self._fixed
        for name, records in installed.plugins.items():
            record = self._record(records)
            if record is None or self._switches.get(name) is False:
                continue
            plugin = parse_id(name)
            if plugin.marketplace in blocked:
                self._complain(name, "blocked-by-policy", blocked[plugin.marketplace], record.install_path)
            else:
                self._add_installed(plugin, record)
        self._tell_missing(installed, self._add_seeded(installed))

    def _add_seeded(self, installed: Installed) -> set[str]:
        """Plugins that settings turn on and that an image brings along; which those are."""
        found: set[str] = set()
        for name, enabled in self._switches.items():
            plugin = _id_or_none(name)
            if not enabled or plugin is None or plugin.marketplace == SKILLS_DIR:
                continue
            if any(is_for(record, self._wish.cwd) for record in installed.plugins.get(name, ())):
                continue
            folder = seeded_plugin(self._wish.env, plugin)
            if folder is not None:
                found.add(name)
                self._add_installed(
                    plugin, Record(scope="user", install_path=folder, version=os.path.basename(folder))
                )
        return found

    def finish(self) -> Outcome:
        loaded = self._with_dependencies()
        if self._used != self._known:
            self._cache.write(_CACHED, b"", self._used)
        return Outcome(
            plugins=Plugins(loaded=tuple(loaded.values()), faults=tuple(self._faults)),
            stamps=merged(each.stamps for each in self._used.values()),
        )

    def _record(self, records: Sequence[Record]) -> Record | None:
        """The record that counts here: those of a project only where it is trusted."""
        for record in sorted(records, key=lambda each: each.scope in ("user", "managed")):
            own = record.scope in ("user", "managed")
            if is_for(record, self._wish.cwd) and (own or self._wish.trusted):
                return record
        return None

    def _add_installed(self, plugin: PluginId, record: Record) -> None:
        name, folder = str(plugin), record.install_path
        if record.bridle_source and os.path.isdir(record.bridle_source):
            folder = record.bridle_source
        if not os.path.isdir(folder):
            message = f"its files are missing; reinstall with bridle plugin install {plugin}"
            self._complain(name, "path-not-found", message, folder)
            return
        known = self._read(folder, record.bridle_entry, plugin.name)
        manifest = known.manifest
        if manifest is None or self._switches.get(name, manifest.default_enabled) is not True:
            return
        if record.bridle_approved and record.bridle_approved != known.approval:
            message = (
                "what it runs has changed since you approved it; review it with bridle plugin install "
                f"{plugin}"
            )
            self._complain(name, "content-changed", message, folder)
            return
        own = folder.startswith(os.path.join(plugins_dir(self._wish.env), "cache") + os.sep)
        edition = f"{record.bridle_tree} {record.last_updated}".strip() if own else ""
        self._add(plugin, folder, known, scope=record.scope, shared=False, edition=edition)

    def _add(
        self,
        plugin: PluginId,
        folder: str,
        known: KnownPlugin,
        *,
        scope: str,
        shared: bool,
        edition: str = "",
    ) -> None:
        assert known.manifest is not None
        # Of two with the same name only one can have its names; what a flag names comes first.
        if (other := self._loaded.get(plugin.name)) is not None:
            self._complain(
                str(plugin), "name-conflict", f"{other.plugin} has the same name and takes precedence", folder
            )
            return
        options = self._options(plugin, known.manifest)
        if options is None:
            return
        data = data_dir(self._wish.env, plugin)
        if known.components.runs and not os.path.isdir(data):
            self._make(data, plugin)
        self._loaded[plugin.name] = Loaded(
            plugin=plugin,
            folder=folder,
            data=data,
            manifest=known.manifest,
            components=known.components,
            options=options,
            scope=scope,
            shared=shared,
            edition=edition,
        )

    def _options(self, plugin: PluginId, manifest: Manifest) -> Options | None:
        configs = self._wish.config.settings.plugin_configs or {}
        own = configs.get(str(plugin))
        try:
            options = read_options(
                self._wish.env, plugin, manifest.options, (own.options if own is not None else None) or {}
            )
        except ConfigError as error:
            self._complain(str(plugin), "option-missing", str(error), "")
            return None
        if options.missing:
            message = f"it needs {', '.join(options.missing)}: set it with bridle plugin configure {plugin}"
            self._complain(str(plugin), "option-missing", message, "")
            return None
        return options

    def _make(self, data: str, plugin: PluginId) -> None:
        try:
            make_folders(data, private=True)
        except OSError as error:
            message = f"could not create its data folder: {error.strerror}"
            self._complain(str(plugin), "component-load-failed", message, data)

    def _read(self, folder: str, entry: Mapping[str, Any] | None, fallback: str | None) -> KnownPlugin:
        key = f"{folder}\0{digest(entry) if entry else ''}"
        known = self._known.get(key)
        if known is None or not known.stamps.hold():
            known = examine(folder, read_manifest(folder, entry=entry, fallback=fallback))
        self._used[key] = known
        self._faults += known.faults
        return known

    def _blocked(self) -> dict[str, str]:
        """Marketplaces that management does not let in, with the reason."""
        settings = self._wish.config.settings
        if settings.blocked_marketplaces is None and settings.strict_known_marketplaces is None:
            return {}
        # Few machines are managed, and what reads addresses takes longer to import than all plugins to load.
        from bridle.extensions.plugins.policy import check_marketplace
        from bridle.extensions.plugins.sources import read_source

        found: dict[str, str] = {}
        for name, known in read_known(self._wish.env).items():
            try:
                check_marketplace(read_source(known.source, of="marketplace"), settings)
            except ConfigError as error:
                found[name] = str(error)
        return found

    def _tell_missing(self, installed: Installed, seeded: Collection[str]) -> None:
        for name, enabled in self._switches.items():
            if not enabled or name.endswith(f"@{SKILLS_DIR}") or name in seeded:
                continue
            records = installed.plugins.get(name, ())
            if any(is_for(record, self._wish.cwd) for record in records):
                continue
            try:
                parse_id(name)
            except UsageError as error:
                self._complain(name, "plugin-not-found", str(error), "")
                continue
            message = f"it is enabled but not installed; run bridle plugin install {name}"
            self._complain(name, "plugin-not-found", message, "")

    def _with_dependencies(self) -> dict[str, Loaded]:
        """Those whose dependencies are there, until no more fall out."""
        loaded = dict(self._loaded)
        while True:
            broken = [
                (each, why) for each in loaded.values() if (why := _unsatisfied(each, loaded)) is not None
            ]
            if not broken:
                return loaded
            for each, why in broken:
                self._complain(str(each.plugin), "dependency-unsatisfied", why, each.folder)
                del loaded[each.plugin.name]

    def _complain(self, plugin: str, kind: FaultKind, message: str, path: str) -> None:
        self._faults.append(PluginFault(plugin=plugin, type=kind, message=message, path=path))


def switches(config: Config) -> tuple[dict[str, bool], dict[str, bool]]:
    """Which plugins settings turn on or off, and which of these only the administrator can change."""
    merged: dict[str, Any] = config.raw.get("enabledPlugins") or {}
    fixed: dict[str, bool] = {}
    for layer in config.layers:
        if layer.source == "policySettings":
            fixed |= _truths(layer.values.get("enabledPlugins"))
    return _truths(merged) | fixed, fixed


def _id_or_none(name: str) -> PluginId | None:
    try:
        return parse_id(name)
    except UsageError:
        return None


def _truths(value: Any) -> dict[str, bool]:
    return (
        {key: each for key, each in value.items() if isinstance(each, bool)}
        if isinstance(value, dict)
        else {}
    )


def _with_pending(known: dict[str, bool], pending: Iterable[Edit]) -> dict[str, bool]:
    """Switches with the changes that a crash kept from reaching the settings."""
    switched = dict(known)
    for each in pending:
        if each.enabled is None:
            switched.pop(each.plugin, None)
        else:
            switched[each.plugin] = each.enabled
    return switched


def _unsatisfied(each: Loaded, loaded: Mapping[str, Loaded]) -> str | None:
    for dependency in each.manifest.dependencies:
        other = loaded.get(dependency.name)
        if other is None:
            return f"it requires the plugin {dependency.name}, which is not enabled"
        version = other.manifest.version
        if version and not satisfies(version, dependency.version):
            return f"it requires {dependency.name} {dependency.version}, but {version} is installed"
    return None
