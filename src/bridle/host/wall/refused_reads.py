"""Notices reads that the kernel refused: only what the command itself prints tells of those."""

import errno
import os
import os.path
import re
from collections.abc import Iterator

from bridle.host.wall.visible_files import VisiblePaths
from bridle.types.sandbox import Refusal

_DENIED = "|".join(
    re.escape(words)
    for words in dict.fromkeys((
        "Permission denied", "permission denied", "EACCES", "Read-only file system", "EROFS",
        os.strerror(errno.EACCES), os.strerror(errno.EROFS),
    ))
)  # fmt: skip
_LINE = re.compile(rf"^.{{0,2000}}(?:{_DENIED}).{{0,2000}}$", re.MULTILINE)
_PIECES = re.compile(r"""['"`‘’“”]|: |, |(?<=\s)|\s""")
_MOST_LINES = 50


def complaint_about(said: str, seen: VisiblePaths, *, command: str, cwd: str, failed: bool) -> Refusal | None:
    """What a command was refused, if a line of its output names a file that it could read otherwise."""
    for line in list(_LINE.finditer(said[-200_000:]))[-_MOST_LINES:]:
        # A file that is shown may speak of denied files, too; then the command itself has not failed.
        if not failed and line[0].split(":")[0].strip() not in command.split():
            continue
        for path in _paths(line[0], cwd):
            if not seen.shows(path) and os.access(path, os.R_OK):
                named = seen.closed_name(path)
                return Refusal(deed=f"read {named}", call="output", path=named)
            if seen.shows(path) and not seen.runs(path) and os.access(path, os.X_OK) and os.path.isfile(path):
                return Refusal(deed=f"run {path}", call="output", path=path)
    return None


def _paths(line: str, cwd: str) -> Iterator[str]:
    for piece in dict.fromkeys(_PIECES.split(line)):
        word = piece.strip().rstrip(":.,;)").lstrip("(")
        if word and len(word) < 1024 and ("/" in word or os.path.lexists(os.path.join(cwd, word))):
            path = os.path.realpath(os.path.join(cwd, word))
            if os.path.exists(path):
                yield path
