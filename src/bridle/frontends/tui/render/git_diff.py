"""Reads what `git diff` prints."""

import re

from bridle.frontends.tui.render.diff import FileChange, Kind
from bridle.tools.files.patches import Hunk

_HUNK = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_NAMES = re.compile(r'diff --git "?a/(.*?)"? "?b/(.*?)"?$')


class _File:
    """One file while its lines are read."""

    def __init__(self, old_path: str, path: str) -> None:
        self.old_path = old_path
        self.path = path
        self.kind: Kind = "changed"
        self.hunks: list[Hunk] = []

    def done(self) -> FileChange:
        return FileChange(path=self.path, old_path=self.old_path, kind=self.kind, hunks=tuple(self.hunks))


def read_unified(text: str) -> list[FileChange]:
    """Every file of a unified diff, in order; what does not belong to one is passed over."""
    files: list[_File] = []
    for line in text.split("\n"):
        if names := _NAMES.match(line):
            files.append(_File(names[1], names[2]))
        elif not files:
            continue
        elif found := _HUNK.match(line):
            files[-1].hunks.append(
                {
                    "oldStart": int(found[1]),
                    "oldLines": int(found[2] or 1),
                    "newStart": int(found[3]),
                    "newLines": int(found[4] or 1),
                    "lines": [],
                }
            )
        elif files[-1].hunks and line[:1] in ("+", "-", " ", "\\"):
            files[-1].hunks[-1]["lines"].append(line)
        else:
            _read_header(files[-1], line)
    return [file.done() for file in files]


def _read_header(file: _File, line: str) -> None:
    word, _, rest = line.partition(" ")
    match word:
        case "new":
            file.kind = "new"
        case "deleted":
            file.kind = "deleted"
        case "rename":
            file.kind = "renamed"
            direction, _, path = rest.partition(" ")
            if direction == "from":
                file.old_path = path
            else:
                file.path = path
        case "Binary":
            file.kind = "binary"
        case _:
            pass
