"""Work that is counted instead of timed, so that it is the same on every machine and however busy that is."""

import sys
from collections.abc import Callable
from types import FrameType


def calls(action: Callable[[], object]) -> int:
    """How many functions are called, built-in ones included, once modules and patterns are in memory."""
    action()
    count = 0

    def note(_frame: FrameType, event: str, _arg: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        action()
    finally:
        sys.setprofile(before)
    return count
