"""A service that may be reached, and what a process must be like to leave the network."""

import os
import sys

from msgspec import Struct


class Service(Struct, frozen=True):
    """A host and a port that may be reached."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


def is_alone() -> bool:
    """Whether this process has a single thread, as the kernel wants it of one that leaves its namespace."""
    if sys.platform != "linux":
        return True
    try:
        return len(os.listdir("/proc/self/task")) == 1
    except OSError:
        return False
