"""Which files are on disks of this machine, so that reading a small one does not wait for anything else."""

import os
import stat
import time
from functools import lru_cache

_MOUNTS = "/proc/self/mountinfo"
_LOCAL = frozenset(
    {"bcachefs", "ext2", "ext3", "ext4", "f2fs", "jfs", "overlay", "ramfs", "tmpfs", "xfs", "zfs"}
)
"""Kinds of file systems without a network, a user's program or the kernel's own data behind them."""
_MOST_MOUNTS = 1024 * 1024
_SECONDS_KNOWN = 60


def is_small_and_local(path: str, *, most_bytes: int) -> bool:
    """Whether a path names a regular file of at most this size on a disk of this machine, and no link."""
    try:
        status = os.lstat(path)
    except (OSError, ValueError):
        return False
    if not stat.S_ISREG(status.st_mode) or status.st_size > most_bytes:
        return False
    return _is_local(status.st_dev, int(time.monotonic() / _SECONDS_KNOWN))


@lru_cache(maxsize=64)
def _is_local(device: int, period: int) -> bool:
    """Whether a device is a local disk; one that nothing tells of is not.

    A number may come to mean another device: it is looked up again in each `period`."""
    wanted = f"{os.major(device)}:{os.minor(device)}".encode()
    try:
        with open(_MOUNTS, "rb") as file:
            lines = file.read(_MOST_MOUNTS).splitlines()
    except OSError:
        return False
    for line in lines:
        mount, _, system = line.partition(b" - ")
        if mount.split()[2:3] == [wanted]:
            return os.fsdecode(system.split()[0] if system else b"") in _LOCAL
    return False
