"""Runs bridle and writes down which files of ours call which, and which calls are open at the first request.

Started with the file to write and the arguments of bridle.
"""

import asyncio
import json
import os
import sys
from types import FrameType
from typing import Any

import bridle

_ROOT = os.path.dirname(os.path.abspath(bridle.__file__)) + os.sep
_calls: dict[tuple[str, str], set[str]] = {}
_begun: dict[int, tuple[object, list[str]]] = {}
"""The open calls when a task was made, by its coroutine."""
_way: list[str] = []


def run(target: str) -> int:
    sys.setprofile(_watch)
    from bridle.__main__ import main

    try:
        return main()
    finally:
        sys.setprofile(None)
        calls = [[*pair, sorted(names)] for pair, names in _calls.items()]
        with open(target, "w", encoding="utf-8") as file:
            json.dump({"way": _way, "calls": calls}, file)


def _watch(frame: FrameType, event: str, _: Any) -> None:
    if event != "call":
        return
    code = frame.f_code
    if code.co_name == "create_task" and code.co_filename.endswith("base_events.py"):
        coroutine = frame.f_locals["coro"]
        _begun[id(coroutine)] = coroutine, _open_calls(frame)
    elif (file := _ours(frame)) is not None:
        if not _way and code.co_name == "stream" and file.startswith("providers/"):
            _way.extend(_open_calls(frame))
        caller = None if frame.f_back is None else _ours(frame.f_back)
        if caller is not None and caller != file:
            _calls.setdefault((caller, file), set()).add(code.co_qualname)


def _open_calls(frame: FrameType | None) -> list[str]:
    """The files of all calls that are open, from the first to the last; a task continues what made it."""
    found: list[str] = []
    while frame is not None:
        if (file := _ours(frame)) is not None:
            found.append(file)
        frame = frame.f_back
    found.reverse()
    try:
        task = asyncio.current_task()
    except RuntimeError:
        task = None
    made = _begun.get(id(None if task is None else task.get_coro()))
    if made is None:
        return found
    before = made[1]
    shared = 0
    while shared < min(len(before), len(found)) and before[shared] == found[shared]:
        shared += 1
    return [*before, *found[shared:]]


def _ours(frame: FrameType) -> str | None:
    name = frame.f_code.co_filename
    return name[len(_ROOT) :] if name.startswith(_ROOT) else None


if __name__ == "__main__":
    path = sys.argv.pop(1)
    sys.exit(run(path))
