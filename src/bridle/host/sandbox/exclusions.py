"""Which commands the user wants to run outside; a convenience, since leaving the sandbox is asked about."""

import os.path
import re
import shlex
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase

_OPERATORS = re.compile(r"&&|\|\||[;|&\n(){}`]|\$\(")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_HIJACKS = re.compile(r"(?:LD_|DYLD_)|PATH\+?=")
"""Variables that make another program of a name."""
_WRAPPERS = frozenset(
    ("command", "env", "exec", "nice", "nohup", "setsid", "stdbuf", "sudo", "time", "timeout")
)
_NOT_A_NAME = re.compile(r"-|\d+(?:\.\d+)?[smhd]?$")


def is_excluded(command: str, patterns: Iterable[str]) -> bool:
    """Whether any part of a command is one that a pattern names: `exact`, `prefix:*`, `prefix *`, `a * b`."""
    wanted = [" ".join(pattern.split()) for pattern in patterns if pattern.strip()]
    return bool(wanted) and any(_matches(text, pattern) for text in _parts(command) for pattern in wanted)


def _matches(text: str, pattern: str) -> bool:
    if pattern.endswith((":*", " *")):
        stem = pattern[:-2]
        return text == stem or fnmatchcase(text, _glob(stem)) or fnmatchcase(text, f"{_glob(stem)} *")
    if "*" not in pattern:
        return text == pattern or text.startswith(f"{pattern} ")
    return fnmatchcase(text, _glob(pattern))


def _parts(command: str) -> Iterator[str]:
    for part in _OPERATORS.split(command):
        words = _words(part)
        while words:
            yield " ".join(words)
            if _ASSIGNMENT.match(words[0]) and not _HIJACKS.match(words[0]):
                words = words[1:]
            elif os.path.basename(words[0]) in _WRAPPERS:
                words = words[1:]
                while words and _NOT_A_NAME.match(words[0]):
                    words = words[1:]
            else:
                break


def _words(part: str) -> list[str]:
    try:
        return shlex.split(part)
    except ValueError:
        return part.split()


def _glob(pattern: str) -> str:
    return re.sub(r"[?\[]", lambda found: f"[{found[0]}]", pattern)
