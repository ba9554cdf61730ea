"""What is installed, which marketplaces are known and which plugins the user wants to see first.

Each is a file that is changed whole or not at all. The first two have the shape that other programs with the
same folder use; what they keep there stays.
"""

import os.path
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from bridle.config import edit
from bridle.extensions.plugins.names import PluginId, Scope, is_name, parse_id, plugins_dir
from bridle.extensions.plugins.seeds import read_object, seeded_marketplaces
from bridle.host.files import make_folders, read_bytes
from bridle.host.lock import FileLock
from bridle.host.paths import bridle_dir
from bridle.types.errors import ConfigError, UsageError

_PENDING = "bridlePending"
_FAVORITES = "plugins"
_LARGEST_FAVORITES = 1024 * 1024


class Record(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A plugin as it is installed in one scope."""

    scope: Scope
    install_path: str
    version: str = ""
    installed_at: str = ""
    last_updated: str = ""
    git_commit_sha: str | None = None
    project_path: str | None = None
    """For the scopes project and local: the folder that it is installed for."""
    bridle_approved: str = ""
    """A digest of what it would run, as it was when the user agreed to it."""
    bridle_tree: str = ""
    """A digest of all its files."""
    bridle_source: str = ""
    """The folder of a marketplace on this machine that it is read from; its copy counts when that is gone."""
    bridle_entry: dict[str, Any] | None = None
    """What the marketplace said of it, where that belongs to its manifest."""
    bridle_automatic: bool = False
    """Installed because another plugin needs it."""


class Edit(Struct, frozen=True, kw_only=True):
    """A change of a settings file that belongs to a change of what is installed."""

    file: str
    plugin: str
    enabled: bool | None
    """None takes the switch away."""


class Installed(Struct, frozen=True, kw_only=True):
    plugins: Mapping[str, tuple[Record, ...]] = {}
    pending: tuple[Edit, ...] = ()
    """Changes of settings that a crash left undone; they count as done."""

    def find(self, plugin: PluginId, scope: Scope, project: str) -> Record | None:
        records = self.plugins.get(str(plugin), ())
        return next((each for each in records if each.scope == scope and is_for(each, project)), None)


class Known(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A marketplace that was added."""

    source: dict[str, Any]
    install_location: str
    last_updated: str = ""
    auto_update: bool | None = None
    bridle_revision: str = ""


def is_for(record: Record, project: str) -> bool:
    """Whether a record counts in a project: those for one project count only there."""
    if record.scope in ("user", "managed"):
        return True
    own = record.project_path
    return own is not None and os.path.realpath(own) == os.path.realpath(project)


def lock(env: Mapping[str, str], *, seconds: float = 30.0) -> FileLock:
    """Keeps other processes from changing plugins meanwhile."""
    folder = plugins_dir(env)
    make_folders(folder, private=False)
    return FileLock(os.path.join(folder, ".lock"), seconds=seconds)


def installed_file(env: Mapping[str, str]) -> str:
    return os.path.join(plugins_dir(env), "installed_plugins.json")


def known_file(env: Mapping[str, str]) -> str:
    return os.path.join(plugins_dir(env), "known_marketplaces.json")


def read_installed(env: Mapping[str, str]) -> Installed:
    """Everything that is installed; records that cannot be read are as if they were not there.

    Raises:
        ConfigError: the file does not parse.
    """
    return _installed(read_object(installed_file(env)))


Change = Callable[[Installed], Mapping[str, Sequence[Record]]]


def change_installed(
    env: Mapping[str, str], change: Change, *, edits: Sequence[Edit] = (), forget: bool = False
) -> None:
    """Replace what is installed and note the changes of settings that go with it, in one step.

    With `forget`, changes that were noted before are given up.

    Raises:
        ConfigError: the file does not parse.
        OSError: the file cannot be written; nothing has changed.
    """

    def changed(values: dict[str, Any]) -> dict[str, Any]:
        before = _installed(values)
        kept = _object(values.get("plugins"))
        after = change(before)
        # What is not understood belongs to another program, or to a later version.
        unread = {name: value for name, value in kept.items() if name not in before.plugins}
        written = {name: _written(kept.get(name), records) for name, records in after.items() if records}
        plugins = unread | written
        pending = [*(() if forget else before.pending), *edits]
        noted = {_PENDING: msgspec.to_builtins(pending)} if pending else {}
        rest = {key: value for key, value in values.items() if key != _PENDING}
        return {**rest, "version": 2, "plugins": plugins, **noted}

    edit.update(installed_file(env), changed)


def settle(env: Mapping[str, str]) -> None:
    """Make the changes of settings that are noted, and forget them.

    Raises:
        ConfigError: a file does not parse.
        OSError: a file cannot be written.
    """
    pending = read_installed(env).pending
    if not pending:
        return
    for each in pending:
        if each.enabled is None:
            edit.remove_value(each.file, ("enabledPlugins", each.plugin), env=env)
        else:
            edit.set_value(each.file, ("enabledPlugins", each.plugin), each.enabled, env=env)
    edit.update(
        installed_file(env), lambda values: {key: each for key, each in values.items() if key != _PENDING}
    )


def settle_or_undo(env: Mapping[str, str], before: Installed) -> None:
    """Make the changes of settings that are noted; where that cannot be done, all is as it was before.

    Raises:
        ConfigError: a file does not parse.
        OSError: a file cannot be written.
    """
    try:
        settle(env)
    except (ConfigError, OSError):
        change_installed(env, lambda _: before.plugins, forget=True)
        raise


def read_known(env: Mapping[str, str]) -> dict[str, Known]:
    """The marketplaces that were added, by name, and before them those of the folders that an image brings.

    Raises:
        ConfigError: the file does not parse.
    """
    found: dict[str, Known] = {}
    for name, value in {**read_object(known_file(env)), **seeded_marketplaces(env)}.items():
        try:
            known = msgspec.convert(value, Known)
        except msgspec.ValidationError:
            continue
        if is_name(name):
            found[name] = known
    return found


def change_known(env: Mapping[str, str], name: str, known: Known | None) -> None:
    """Remember a marketplace, or forget it.

    Raises:
        ConfigError: the file does not parse.
        OSError: it cannot be written.
    """

    def changed(values: dict[str, Any]) -> dict[str, Any]:
        rest = {key: value for key, value in values.items() if key != name}
        if known is None:
            return rest
        return {**values, name: {**_object(values.get(name)), **msgspec.to_builtins(known)}}

    edit.update(known_file(env), changed)


def read_favorites(env: Mapping[str, str]) -> frozenset[str]:
    """The plugins that the user wants to see first; a list that cannot be read has none."""
    try:
        values = msgspec.json.decode(
            read_bytes(_favorites_file(env), _LARGEST_FAVORITES), type=dict[str, Any]
        )
    except (OSError, msgspec.DecodeError):
        return frozenset()
    listed = values.get(_FAVORITES)
    return (
        frozenset(each for each in listed if isinstance(each, str))
        if isinstance(listed, list)
        else frozenset()
    )


def favor(env: Mapping[str, str], plugin: str, *, on: bool) -> None:
    """Put a plugin among the favorites, or take it out.

    Raises:
        ConfigError: the list does not parse.
        OSError: it cannot be written.
    """

    def changed(values: dict[str, Any]) -> dict[str, Any]:
        listed: Any = values.get(_FAVORITES)
        others = [each for each in listed if each != plugin] if isinstance(listed, list) else []
        return {**values, _FAVORITES: [*others, plugin] if on else others}

    edit.update(_favorites_file(env), changed)


def _favorites_file(env: Mapping[str, str]) -> str:
    return os.path.join(bridle_dir(env), "favourites.json")


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _installed(values: Mapping[str, Any]) -> Installed:
    found: dict[str, tuple[Record, ...]] = {}
    for name, records in _object(values.get("plugins")).items():
        # The first format had one record instead of a list.
        listed: list[Any] = records if isinstance(records, list) else [{"scope": "user", **_object(records)}]
        try:
            parse_id(name)
            found[name] = tuple(msgspec.convert(each, Record) for each in listed)
        except (msgspec.ValidationError, UsageError):
            continue
    try:
        pending = msgspec.convert(values.get(_PENDING) or [], tuple[Edit, ...])
    except msgspec.ValidationError:
        pending = ()
    return Installed(plugins=found, pending=pending)


def _written(before: Any, records: Sequence[Record]) -> list[Any]:
    """Records as JSON, with what other programs keep in them."""
    known = {field.encode_name for field in msgspec.structs.fields(Record)}
    old = [_object(each) for each in before] if isinstance(before, list) else []
    rows: list[Any] = []
    for record in records:
        place = (record.scope, record.project_path)
        same = next((each for each in old if (each.get("scope"), each.get("projectPath")) == place), {})
        kept = {key: value for key, value in same.items() if key not in known}
        rows.append({**kept, **msgspec.to_builtins(record)})
    return rows
