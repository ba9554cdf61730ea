"""Adds, updates and removes marketplaces; each has a copy on this machine that works without a network."""

import asyncio
import os
import os.path
import re
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from bridle.extensions.plugins.context import PluginContext, remove_tree
from bridle.extensions.plugins.downloads import LARGEST_LIST, download, fetch
from bridle.extensions.plugins.marketplace import Marketplace, interpret, read_marketplace
from bridle.extensions.plugins.names import plugins_dir
from bridle.extensions.plugins.policy import check_command_source, check_marketplace
from bridle.extensions.plugins.seeds import seeded_marketplaces
from bridle.extensions.plugins.sources import Source, read_source, written
from bridle.extensions.plugins.state import Known, change_known, read_known
from bridle.host.files import make_folders, read_bytes, write_atomic
from bridle.types.errors import ConfigError, UsageError


class Renewed(Struct, frozen=True, kw_only=True):
    marketplace: Marketplace
    changed: bool
    stale: str = ""
    """Why there is only the copy of last time; empty when it is up to date."""


async def add(around: PluginContext, source: Source, *, called: str | None = None) -> Marketplace:
    """Fetch a marketplace and remember it; adding it once more brings it up to date.

    Raises:
        ConfigError: it cannot be had, is not let in, is not `called` so, or its name belongs to another.
    """
    _check(around, source)
    obtained = await _obtain(around, source)
    name = obtained.marketplace.name
    if called is not None and name != called:
        raise ConfigError(f"the marketplace {called!r} in your settings is named {name!r}")
    other = read_known(around.env).get(name)
    if other is not None and other.source != written(source):
        raise ConfigError(
            f"marketplace {name!r} already exists, from {label(other)}. Remove it first: bridle plugin "
            f"marketplace remove {name!r}"
        )
    return _take(around, source, obtained, before=other)


async def update(around: PluginContext, name: str) -> Renewed:
    """Fetch a marketplace again; when that fails, the copy of last time stays.

    Raises:
        UsageError: there is no marketplace of that name, or it is not ours to change.
        ConfigError: it is not let in any more, or there is no copy either.
    """
    _check_seeded(around, name)
    known = await _known(around, name)
    source = read_source(known.source, of="marketplace")
    _check(around, source)
    try:
        obtained = await _obtain(around, source)
        if obtained.marketplace.name != name:
            raise ConfigError(f"its name is now {obtained.marketplace.name!r}: remove it and add it again")
    except ConfigError as error:
        return Renewed(marketplace=load(around, name), changed=False, stale=str(error))
    changed = not obtained.revision or obtained.revision != known.bridle_revision
    return Renewed(marketplace=_take(around, source, obtained, before=known), changed=changed)


def forget(around: PluginContext, name: str) -> None:
    """Remove a marketplace and its copy; its plugins are the caller's.

    Raises:
        UsageError: there is no marketplace of that name, or it is not ours to change.
    """
    known = own(around, name)
    change_known(around.env, name, None)
    _discard(around.env, known.install_location)
    kept = _kept_file(around.env, name)
    if os.path.exists(kept):
        os.unlink(kept)


def own(around: PluginContext, name: str) -> Known:
    """A marketplace that may be changed or removed.

    Raises:
        UsageError: there is no marketplace of that name, or it is not ours to change.
        ConfigError: the file of the marketplaces does not parse.
    """
    _check_seeded(around, name)
    known = read_known(around.env).get(name)
    if known is None:
        raise _unknown(around, name)
    return known


def load(around: PluginContext, name: str) -> Marketplace:
    """A marketplace from its copy on this machine.

    Raises:
        UsageError: there is no marketplace of that name.
        ConfigError: it is not let in, or there is no copy that can be used.
    """
    known = read_known(around.env).get(name)
    if known is None:
        raise _unknown(around, name)
    _check(around, read_source(known.source, of="marketplace"))
    try:
        return read_marketplace(known.install_location)
    except ConfigError as error:
        try:
            values = msgspec.json.decode(
                read_bytes(_kept_file(around.env, name), LARGEST_LIST), type=dict[str, Any]
            )
        except (OSError, msgspec.DecodeError):
            raise error from None
        place = known.install_location
        return interpret(values, file=place, root="" if place.endswith(".json") else place)


async def find(around: PluginContext, name: str) -> Marketplace:
    """A marketplace from its copy; one that only the settings name is fetched and added first.

    Raises:
        UsageError: there is no marketplace of that name.
        ConfigError: it is not let in, or cannot be had.
    """
    await _known(around, name)
    return load(around, name)


async def _known(around: PluginContext, name: str) -> Known:
    known = read_known(around.env).get(name)
    if known is not None:
        return known
    declared = (around.settings.extra_known_marketplaces or {}).get(name)
    if declared is None:
        raise _unknown(around, name)
    await add(around, read_source(declared.source, of="marketplace"), called=name)
    return read_known(around.env)[name]


def keep_current(around: PluginContext, name: str, *, on: bool) -> None:
    """Let a marketplace and its plugins be brought up to date without being asked, or not any more.

    Raises:
        UsageError: there is no marketplace of that name, or it is not ours to change.
        ConfigError: the file of the marketplaces does not parse.
        OSError: it cannot be written.
    """
    known = own(around, name)
    change_known(around.env, name, msgspec.structs.replace(known, auto_update=on))


def updates_itself(around: PluginContext, name: str, known: Known) -> bool:
    """Whether the user, or the settings that named a marketplace, want it kept up to date."""
    declared = (around.settings.extra_known_marketplaces or {}).get(name)
    if declared is not None and declared.auto_update is not None:
        return declared.auto_update
    return known.auto_update is True


class _Obtained(Struct, frozen=True, kw_only=True):
    marketplace: Marketplace
    location: str
    """Where it is used from, or the folder that is to be put in place."""
    below: str = ""
    """The list inside the folder, where that is not at the usual place."""
    staged: bool = False
    revision: str = ""


async def _obtain(around: PluginContext, source: Source) -> _Obtained:
    if source.kind in ("directory", "file"):
        # What lies on this machine is used where it is, so that its author sees changes at once.
        found = read_marketplace(source.location)
        return _Obtained(marketplace=found, location=source.location)
    around.check_command(source)
    staged = around.staging()
    try:
        return await _obtain_copy(around, source, staged)
    except ConfigError as error:
        await asyncio.to_thread(remove_tree, staged)
        # The path of the copy means nothing to the user.
        raise ConfigError(str(error).replace(staged, str(source))) from error


async def _obtain_copy(around: PluginContext, source: Source, staged: str) -> _Obtained:
    if source.kind in ("url", "settings"):
        data = await _list(source, around.env)
        staged += ".json"
        await asyncio.to_thread(write_atomic, staged, data)
        return _Obtained(marketplace=read_marketplace(staged), location=staged, staged=True)
    named = source.path if source.path.endswith(".json") else ""
    fetched = await fetch(msgspec.structs.replace(source, path="") if named else source, staged, around.env)
    found = read_marketplace(os.path.join(staged, named))
    return _Obtained(marketplace=found, location=staged, below=named, staged=True, revision=fetched.revision)


async def _list(source: Source, env: Mapping[str, str]) -> bytes:
    if source.kind == "settings":
        return msgspec.json.encode(source.raw)
    return await download(source.location, env, headers=source.headers, most=LARGEST_LIST)


def _take(around: PluginContext, source: Source, obtained: _Obtained, *, before: Known | None) -> Marketplace:
    """Put what was fetched in place and let the one file that knows of it say so."""
    name, location = obtained.marketplace.name, obtained.location
    if obtained.staged:
        location = _free_place(around.env, name, obtained)
        os.makedirs(os.path.dirname(location), exist_ok=True)
        os.rename(obtained.location, location)
        around.reached("marketplace placed")
        location = os.path.join(location, obtained.below) if obtained.below else location
    change_known(
        around.env,
        name,
        Known(
            source=written(source),
            install_location=location,
            last_updated=around.now(),
            auto_update=None if before is None else before.auto_update,
            bridle_revision=obtained.revision,
        ),
    )
    around.reached("marketplace recorded")
    found = read_marketplace(location)
    _keep(around.env, location, name)
    if obtained.staged:
        _clear_copies(around.env, name)
    if before is not None and before.install_location != location:
        _discard(around.env, before.install_location)
    return found


def _free_place(env: Mapping[str, str], name: str, obtained: _Obtained) -> str:
    """A name that no folder has: the old copy stays whole until the new one counts."""
    ending = ".json" if obtained.location.endswith(".json") else ""
    place = os.path.join(_home(env), f"{name}{ending}")
    return (
        place
        if not os.path.lexists(place)
        else os.path.join(_home(env), f"{name}.{os.urandom(4).hex()}{ending}")
    )


def _clear_copies(env: Mapping[str, str], name: str) -> None:
    """Remove copies of a marketplace that nothing refers to, such as those of runs that were killed."""
    home = _home(env)
    used = {_first(home, known.install_location) for known in read_known(env).values()}
    ours = re.compile(re.escape(name) + r"(\.[0-9a-f]{8})?(\.json)?")
    for entry in os.listdir(home):
        if ours.fullmatch(entry) and entry not in used:
            _discard(env, os.path.join(home, entry))


def _first(home: str, location: str) -> str:
    """The file or folder of ours that a place is in; empty for what lies elsewhere."""
    return location[len(home) + 1 :].partition(os.sep)[0] if location.startswith(home + os.sep) else ""


def _keep(env: Mapping[str, str], location: str, name: str) -> None:
    """Keep the list, for the day when the folder that it lies in is gone."""
    file = (
        os.path.join(location, ".claude-plugin", "marketplace.json") if os.path.isdir(location) else location
    )
    make_folders(os.path.dirname(_kept_file(env, name)), private=False)
    write_atomic(_kept_file(env, name), read_bytes(file, LARGEST_LIST))


def _discard(env: Mapping[str, str], location: str) -> None:
    """Remove a copy; what lies outside our folder is not ours."""
    home = _home(env)
    first = _first(home, location)
    if not first:
        return
    place = os.path.join(home, first)
    if os.path.isfile(place):
        os.unlink(place)
    else:
        remove_tree(place)


def _check_seeded(around: PluginContext, name: str) -> None:
    if name in (seeded := seeded_marketplaces(around.env)):
        place = seeded[name]["installLocation"]
        raise UsageError(
            f"{name} is from {place} (CLAUDE_CODE_PLUGIN_SEED_DIR) and can only be changed there"
        )


def _check(around: PluginContext, source: Source) -> None:
    check_marketplace(source, around.settings)
    check_command_source(source, around.settings)


def _home(env: Mapping[str, str]) -> str:
    return os.path.join(plugins_dir(env), "marketplaces")


def _kept_file(env: Mapping[str, str], name: str) -> str:
    return os.path.join(_home(env), ".kept", f"{name}.json")


def label(known: Known) -> str:
    """Where a marketplace comes from, in words; also where another program wrote what is not understood."""
    try:
        return str(read_source(known.source, of="marketplace"))
    except (ConfigError, UsageError):
        return f"an unknown source ({str(known.source.get('source'))[:40]})"


def _unknown(around: PluginContext, name: str) -> UsageError:
    names = ", ".join(read_known(around.env)) or "none"
    return UsageError(
        f"unknown marketplace {name!r} (known: {names}). Add one with: bridle plugin marketplace add <source>"
    )
