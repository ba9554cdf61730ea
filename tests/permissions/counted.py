"""Work that is counted instead of timed, so that it is the same on every machine and however busy that is."""

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType


def calls(action: Callable[[], object]) -> int:
    """How many functions are called, built-in ones included, once modules and patterns are in memory."""
    action()
    with counted() as work:
        action()
    return work.calls


class Work:
    calls = 0

    def note(self, _frame: FrameType, event: str, _arg: object) -> None:
        self.calls += event in ("call", "c_call")


@contextmanager
def counted() -> Generator[Work]:
    """Counts the calls of functions, built-in ones included, that this thread makes meanwhile."""
    work, before = Work(), sys.getprofile()
    sys.setprofile(work.note)
    try:
        yield work
    finally:
        sys.setprofile(before)
