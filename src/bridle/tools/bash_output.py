"""What a shell command printed, in the form and size that a model reads."""

import os
import signal

from msgspec import Struct

from bridle.host.plain_text import plain

_MOST_WHEN_FAILED = 10_000
_PREVIEW = 2_000


class Shown(Struct, frozen=True):
    """The output as it is shown."""

    text: str
    whole: bool
    """Nothing was left out, so the file is not needed any more."""


def show(path: str, *, limit: int, failed: bool) -> Shown:
    """The output in a file: all of it, or where it can be found with its beginning and end."""
    room = min(limit, _MOST_WHEN_FAILED) if failed else limit
    size, head, tail = _ends(path, room)
    if tail is None and len(head) <= room:
        return Shown(head.rstrip(), True)
    end = head if tail is None else tail
    if failed:
        left_out = f"… {size:,} bytes in all; the full output is in {path} …"
        return Shown(f"{head[: room // 2]}\n\n{left_out}\n\n{end.rstrip()[-room // 2 :]}", False)
    edge = min(_PREVIEW, room // 2)
    note = f"The output has {size:,} bytes. All of it is in {path}: read or search parts of it as needed."
    beginning, ending = f"Its beginning:\n{head[:edge]}\n…", f"Its end:\n…{end.rstrip()[-edge:]}"
    return Shown(f"<persisted-output>\n{note}\n\n{beginning}\n\n{ending}\n</persisted-output>", False)


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
