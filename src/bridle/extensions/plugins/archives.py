"""Plugins in archives, for one session: unpacked once for each content."""

import asyncio
import hashlib
import os
import os.path
from collections.abc import Mapping

from bridle.extensions.plugins.context import remove_tree
from bridle.extensions.plugins.downloads import LARGEST_ARCHIVE, download
from bridle.extensions.plugins.folder_copies import unpack
from bridle.host.files import make_folders, read_bytes
from bridle.host.paths import bridle_dir


async def unpacked(place: str, env: Mapping[str, str], *, cwd: str) -> str:
    """The folder with the content of an archive, at an address or on this machine.

    Raises:
        ConfigError: it cannot be had or unpacked.
        OSError: it cannot be read or written.
    """
    if "://" in place:
        data = await download(place, env, most=LARGEST_ARCHIVE)
    else:
        path = os.path.join(cwd, os.path.expanduser(place))
        data = await asyncio.to_thread(read_bytes, path, LARGEST_ARCHIVE)
    folder = os.path.join(bridle_dir(env), "plugin-archives")
    target = os.path.join(folder, hashlib.sha256(data).hexdigest())
    if os.path.isdir(target):
        return target
    make_folders(folder, private=True)
    staged = f"{target}.{os.urandom(4).hex()}"
    try:
        await asyncio.to_thread(unpack, data, staged, name=place)
        os.rename(staged, target)
    except OSError:
        if not os.path.isdir(target):
            raise
    finally:
        await asyncio.to_thread(remove_tree, staged)
    return target
