"""Looking at processes of the system from a test."""

import asyncio
import ctypes
import os
import struct
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

_T = TypeVar("_T")
_CAPABILITIES_3 = 0x20080522


def is_running(pid: int) -> bool:
    """Whether a process does anything still; a corpse that waits to be collected does not."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def without_privileges(do: Callable[[], _T]) -> _T:
    """Do something in a thread that has no capabilities: root may read no more there than its files allow."""

    def bare() -> _T:
        header, none = struct.pack("Ii", _CAPABILITIES_3, 0), bytes(24)
        assert ctypes.CDLL(None, use_errno=True).capset(header, none) == 0, os.strerror(ctypes.get_errno())
        return do()

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(bare).result()


async def eventually(
    condition: Callable[[], object] | Callable[[], Awaitable[object]], seconds: float = 60
) -> None:
    """Wait until something is so, which may take a while to find out; TimeoutError when it never is."""
    async with asyncio.timeout(seconds):
        while not await _found(condition()):
            await asyncio.sleep(0.01)


async def cut_off(
    act: Callable[[float], Awaitable[_T]], has_begun: Callable[[], object], *, seconds: float = 0.3
) -> _T:
    """What comes of something that is ended after some seconds, long enough to begin on this machine."""
    while not has_begun():
        assert seconds < 60, "it never began"
        done = await act(seconds)
        if has_begun():
            return done
        seconds *= 4
    raise AssertionError("it had begun before")


async def _found(answer: object) -> object:
    return await answer if isinstance(answer, Awaitable) else answer


def read_number(path: "os.PathLike[str]") -> int | None:
    """The number in a file, None while there is none."""
    try:
        with open(path, encoding="ascii") as file:
            text = file.read()
    except FileNotFoundError:
        return None
    return int(text) if text.endswith("\n") else None
