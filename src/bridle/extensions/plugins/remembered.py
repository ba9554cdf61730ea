"""Remembers what plugin folders hold, so that start-up reads only those that changed."""

import os
import os.path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from bridle.extensions.plugins.components import Components, approval, discover
from bridle.extensions.plugins.faults import PluginFault
from bridle.extensions.plugins.manifest import Manifest, Reading
from bridle.host.files import make_folders, read_bytes, write_atomic

_FORMAT = 4
_LARGEST_INDEX = 64 * 1024 * 1024


class KnownPlugin(Struct, array_like=True):
    """A plugin folder as it was when it was last read."""

    stamps: dict[str, tuple[int, int] | None]
    """Size and time of every file that counts; None for one that was not there."""
    manifest: Manifest | None
    components: Components
    faults: tuple[PluginFault, ...]
    approval: str = ""
    """The digest of what it would run."""

    def is_stale(self) -> bool:
        """Whether a file has changed, gone or come; a folder that is as it was has got no new ones."""
        for path, stamp in self.stamps.items():
            told_by_folder = stamp is None and path.rpartition("/")[0] in self.stamps
            if not told_by_folder and _stamp(path) != stamp:
                return True
        return False


def examine(folder: str, reading: Reading) -> KnownPlugin:
    """Look into a plugin folder whose manifest was read."""
    if reading.manifest is None:
        return KnownPlugin({}, None, Components(), reading.faults)
    components = discover(folder, reading.manifest)
    return KnownPlugin(
        {path: _stamp(path) for path in components.looked_at},
        reading.manifest,
        replace(components, looked_at=()),
        (*reading.faults, *components.faults),
        approval(components),
    )


def read_index(file: str) -> dict[str, KnownPlugin]:
    """What is remembered, by folder."""
    try:
        stored = msgspec.msgpack.decode(read_bytes(file, _LARGEST_INDEX), type=_Stored)
    except (OSError, msgspec.DecodeError):
        return {}  # An index that is missing or broken is made anew.
    # What was broken is looked at again: it has no stamps that would tell when it was mended.
    known = {key: each for key, each in stored.folders.items() if each.manifest is not None}
    return known if stored.format == _FORMAT else {}


def write_index(file: str, folders: dict[str, KnownPlugin]) -> None:
    """Remember what was read."""
    try:
        make_folders(os.path.dirname(file), private=True)
        write_atomic(file, msgspec.msgpack.encode(_Stored(_FORMAT, folders)), mode=0o600)
    except OSError:
        pass  # Without an index the plugins are read again at the next start.


class _Stored(Struct, array_like=True):
    format: int
    folders: dict[str, KnownPlugin]


def _stamp(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns
