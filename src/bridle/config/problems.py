"""What is wrong with a settings file, and where."""

import re
from collections.abc import Iterable

from msgspec import Struct

from bridle.types.visible import visible_line

KeyPath = tuple[str | int, ...]
Fault = tuple[KeyPath, str]
"""A value that cannot be used, and why, before anyone looked for its line."""


class Problem(Struct, frozen=True, kw_only=True):
    """One value, or a whole file, that is left out."""

    file: str
    key: str = ""
    line: int | None = None
    column: int | None = None
    message: str
    broken: bool = False
    """Nothing of the file could be used."""

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)
        return visible_line(": ".join(part for part in (place, self.key, self.message) if part))


def located(faults: Iterable[Fault], *, file: str, text: str) -> tuple[Problem, ...]:
    """Faults with their line numbers; the text is only scanned when there are any."""
    faults = tuple(faults)
    lines = line_numbers(text) if faults else {}
    return tuple(
        Problem(file=file, key=dotted(path), line=_nearest(lines, path), message=message)
        for path, message in faults
    )


def dotted(path: KeyPath) -> str:
    """`permissions.allow[2]`"""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")


_TOKEN = r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+|\n'


def line_numbers(text: str) -> dict[KeyPath, int]:
    """The line of every value in a JSON text that parses; of equal keys the last counts."""
    lines: dict[KeyPath, int] = {}
    line = 1
    path: list[str | int] = []
    name = ""
    for match in re.finditer(_TOKEN, text):
        token = match[0]
        if token == "\n":
            line += 1
        elif token == ":":
            path[-1] = _unquoted(name)
            lines[tuple(path)] = line
        elif token == ",":
            if isinstance(index := path[-1], int):
                path[-1] = index + 1
        elif token in "}]":
            path.pop()
        else:
            name = token
            if path and isinstance(path[-1], int):
                lines[tuple(path)] = line
            if token in "{[":
                path.append("" if token == "{" else 0)
    return lines


def _unquoted(token: str) -> str:
    if "\\" not in token:
        return token[1:-1]
    import json

    return str(json.loads(token))


def _nearest(lines: dict[KeyPath, int], path: KeyPath) -> int | None:
    """The line of the value, or of the closest object around it."""
    return next((lines[path[:end]] for end in range(len(path), 0, -1) if path[:end] in lines), None)
