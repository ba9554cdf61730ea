"""Remembers what plugin folders hold, so that start-up reads only those that changed."""

import os.path

from msgspec import Struct
from msgspec.structs import replace

from bridle.extensions.cache import decoded, write_private
from bridle.extensions.plugins.components import approval, discover
from bridle.extensions.plugins.faults import PluginFault
from bridle.extensions.plugins.manifest import Reading
from bridle.extensions.plugins.plugin import Components, Manifest
from bridle.extensions.stamps import Stamps, stamps_of
from bridle.host.files import read_bytes

_FORMAT = 5
_LARGEST_INDEX = 64 * 1024 * 1024


class KnownPlugin(Struct, array_like=True):
    """A plugin folder as it was when it was last read."""

    stamps: Stamps
    manifest: Manifest | None
    components: Components
    faults: tuple[PluginFault, ...]
    approval: str = ""
    """The digest of what it would run."""


def examine(folder: str, reading: Reading) -> KnownPlugin:
    """Look into a plugin folder whose manifest was read."""
    if reading.manifest is None:
        return KnownPlugin(Stamps(), None, Components(), reading.faults)
    components = discover(folder, reading.manifest)
    # The folder around them tells when they come and go, and what is in them is looked at by others.
    told = {each.path for each in components.places if each.kind != "skills" and not each.single}
    return KnownPlugin(
        stamps_of(os.path.dirname(path) if path in told else path for path in components.looked_at),
        reading.manifest,
        replace(components, looked_at=()),
        (*reading.faults, *components.faults),
        approval(components),
    )


def read_index(file: str) -> dict[str, KnownPlugin]:
    """What is remembered, by folder."""
    try:
        stored = decoded(read_bytes(file, _LARGEST_INDEX), _Stored)
    except OSError:
        return {}
    if stored is None:
        return {}  # An index that is broken is made anew.
    # What was broken is looked at again: it has no stamps that would tell when it was mended.
    known = {key: each for key, each in stored.folders.items() if each.manifest is not None}
    return known if stored.format == _FORMAT else {}


def write_index(file: str, folders: dict[str, KnownPlugin]) -> None:
    """Remember what was read."""
    write_private(file, _Stored(_FORMAT, folders))


class _Stored(Struct, array_like=True):
    format: int
    folders: dict[str, KnownPlugin]
