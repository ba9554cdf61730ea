"""Command lines given as text to another command, such as `sh -c` and `eval`."""

import os.path
import re
from collections.abc import Iterator

from bridle.permissions.shell.simple import Redirection
from bridle.permissions.shell.words import Word

_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "rbash"})
_WITH_SCRIPT = {
    "su": "-c",
    "runuser": "-c",
    "script": "-c",
    "flock": "-c",
    "entr": "-s",
    "nix-shell": "--run",
}
_JOINING = frozenset({"eval", "watch", "ssh", "parallel"})
_CLUSTER = re.compile(r"[-+][A-Za-z]*c[A-Za-z]*")


def inner_scripts(words: tuple[Word, ...], redirections: tuple[Redirection, ...]) -> Iterator[str]:
    """The command lines that a command is given as text."""
    name = os.path.basename(words[0].value)
    values = [word.value for word in words]
    if name in _SHELLS:
        yield from _behind_cluster(values)
        yield from (each.content for each in redirections)
        yield from (each.target.value for each in redirections if each.operator == "<<<" and each.target)
    elif name in _WITH_SCRIPT:
        yield from _behind(values, _WITH_SCRIPT[name])
    elif name in _JOINING:
        rest = values[1:]
        while rest and rest[0].startswith("-"):
            rest = rest[1:]
        yield " ".join(rest)
        if name == "ssh":
            yield " ".join(rest[1:])
    elif name == "trap":
        yield from values[1:2]
    elif name == "env":
        for option in ("-S", "--split-string"):
            yield from _behind(values, option)
    elif name == "alias":
        yield from (value.partition("=")[2] for value in values[1:])


def _behind_cluster(values: list[str]) -> Iterator[str]:
    for index, value in enumerate(values[1:-1], 1):
        if _CLUSTER.fullmatch(value):
            # More options may stand between -c and its text.
            yield from values[index + 1 : index + 4]
            return


def _behind(values: list[str], option: str) -> Iterator[str]:
    for index, value in enumerate(values):
        if value == option:
            yield from values[index + 1 : index + 2]
        elif value.startswith(option) and len(value) > len(option):
            yield value[len(option) :].removeprefix("=")
