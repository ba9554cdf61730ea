"""What a shell command printed, in the form and size that a model reads."""

import os
import signal
from typing import IO

from msgspec import Struct

from bridle.host.plain_text import colored, plain

_MOST_WHEN_FAILED = 10_000
_PREVIEW = 2_000
_MOST_COLORED = 50_000


class Shown(Struct, frozen=True):
    """The output as it is shown."""

    text: str
    whole: bool
    """Nothing was left out, so the file is not needed any more."""
    colored: str = ""
    """The text in its colors, for people; empty where it has none or is too long."""


def show(path: str, *, limit: int, failed: bool) -> Shown:
    """The output in a file: all of it, or where it can be found with its beginning and end."""
    room = min(limit, _MOST_WHEN_FAILED) if failed else limit
    size, head, tail = _ends(path, room)
    if tail is None and len(head) <= room:
        return Shown(head.rstrip(), True, _colored(path))
    end = head if tail is None else tail
    if failed:
        return Shown(_failed(path, size, room), False)
    edge = min(_PREVIEW, room // 2)
    note = (
        f"The output has {size:,} bytes. The full output is in {path}: read or search parts of it as needed."
    )
    beginning, ending = f"Beginning:\n{head[:edge]}\n…", f"End:\n…{end.rstrip()[-edge:]}"
    return Shown(f"<persisted-output>\n{note}\n\n{beginning}\n\n{ending}\n</persisted-output>", False)


def _colored(path: str) -> str:
    try:
        with open(path, "rb") as file:
            data = file.read(_MOST_COLORED + 1)
    except FileNotFoundError:
        return ""
    return colored(data).rstrip() if len(data) <= _MOST_COLORED else ""


def _failed(path: str, size: int, room: int) -> str:
    """The beginning, the lines between that look like errors, and the end, with what is left out."""
    from bridle.tools.shell.error_lines import find_errors  # Most commands do not fail at length.

    part = room // 10
    with open(path, "rb") as file:
        first, last = _edges(file, size, 3 * part, 4 * part)
        line = first.count(b"\n") + 1
        errors = find_errors(file, len(first), size - len(last), first_line=line, room=3 * part)
        if not errors.lines:
            first, last = _edges(file, size, 5 * part, 5 * part)
    left_out = size - len(first) - len(last)
    note = f"… {left_out:,} of {size:,} bytes omitted; the full output is in {path}"
    if errors.lines:
        more = f"\n({errors.more:,} more)" if errors.more else ""
        note += "\nLines that look like errors:\n" + "\n".join(errors.lines) + more
    return f"{plain(first).rstrip()}\n\n{note}\n…\n\n{plain(last).rstrip()}"


def _edges(file: IO[bytes], size: int, head: int, tail: int) -> tuple[bytes, bytes]:
    """The beginning and the end; a line that was cut is left out, unless it is the only one."""
    file.seek(0)
    first = file.read(head)
    file.seek(size - tail)
    last = file.read(tail)
    return first[: first.rfind(b"\n") + 1] or first, last[last.find(b"\n") + 1 :] or last


def describe_exit(code: int) -> str:
    """`Exit code N`, with the signal that it stands for."""
    try:
        name = signal.Signals(code - 128).name
    except ValueError:
        return f"Exit code {code}"
    return f"Exit code {code} ({name})"


def _ends(path: str, room: int) -> tuple[int, str, str | None]:
    """The size of a file, its beginning, and its end where the beginning is not all."""
    # No character takes more than four bytes.
    span = 4 * room + 4
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            head = plain(file.read(span))
            if size <= span:
                return size, head, None
            file.seek(size - span)
            return size, head, plain(file.read(span))
    except FileNotFoundError:
        return 0, "", None
