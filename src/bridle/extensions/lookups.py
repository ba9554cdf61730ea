"""Looks at the disk as often as it must and as seldom as it may."""

import time
from collections.abc import Callable
from typing import Generic, TypeVar

_SECONDS = 0.9

T = TypeVar("T")


class FreshLookup(Generic[T]):
    """What a look brought, believed for less than a second: every change is noticed within one."""

    def __init__(self, look: Callable[[], T], clock: Callable[[], float] = time.monotonic) -> None:
        self._look = look
        self._clock = clock
        self._seen: tuple[float, T] | None = None

    def get(self) -> T:
        now = self._clock()
        if self._seen is None or now - self._seen[0] >= _SECONDS:
            self._seen = now, self._look()
        return self._seen[1]

    def forget(self) -> None:
        """Look again when somebody asks."""
        self._seen = None
