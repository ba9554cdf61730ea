"""Reads the lines that ripgrep prints with NUL after each path."""

import os

from msgspec import Struct

_BINARY = b": binary file matches"


class Line(Struct, frozen=True):
    """One line of a result."""

    file: str
    """Empty for what stands between files."""
    text: str
    named: str
    """With the name of the file before it."""


class FileMatches(Struct):
    """What was found in one file."""

    path: str
    lines: list[str]
    """`12:text` for a match, `12-text` for a line beside one, `--` between places."""

    def shown_lines(self, name: str, *, numbered: bool) -> "list[Line]":
        """The lines as they are shown."""
        return [
            Line(name, _named(None, line, numbered=numbered), _named(name, line, numbered=numbered))
            for line in self.lines
        ]


def read_names(output: bytes) -> list[str]:
    """Paths, each ended by NUL."""
    return [_path(name) for name in output.split(b"\0")[:-1]]


def read_counts(output: bytes) -> dict[str, int]:
    """How many lines match, by path."""
    counts: dict[str, int] = {}
    for line in output.split(b"\n"):
        path, _, count = line.partition(b"\0")
        if count.isdigit():
            counts[_path(path)] = int(count)
    return counts


def read_contents(output: bytes) -> list[FileMatches]:
    """Matching lines by file, in the order of the paths: ripgrep itself prints files as they are done."""
    files: dict[str, FileMatches] = {}
    current: FileMatches | None = None
    separated = False
    for line in output.removesuffix(b"\n").split(b"\n") if output else ():
        if line == b"--":
            separated = True
            continue
        name, null, text = line.partition(b"\0")
        if not null:
            name, _, _ = line.partition(_BINARY)
            text = b"binary file matches"
        path = _path(name)
        if current is None or path != current.path:
            current = files.setdefault(path, FileMatches(path, []))
        elif separated:
            current.lines.append("--")
        separated = False
        current.lines.append(text.removesuffix(b"\r").decode("utf-8", "replace"))
    return [files[path] for path in sorted(files)]


def _named(name: str | None, line: str, *, numbered: bool) -> str:
    if line == "--":
        return line
    digits = len(line) - len(line.lstrip("0123456789"))
    if not digits:
        return line if name is None else f"{name}: {line}"
    text = line if numbered else line[digits + 1 :]
    return text if name is None else f"{name}{line[digits]}{text}"


def _path(name: bytes) -> str:
    return os.fsdecode(name.removeprefix(b"./"))
