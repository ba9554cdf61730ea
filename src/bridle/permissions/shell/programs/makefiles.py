"""Makefiles that are given as text: the command lines in them, and whether all of them can be seen."""

import re
from collections.abc import Iterator, Sequence

from bridle.permissions.shell.syntax.expansions import FULL, HOLE

_RUNS = re.compile(r"^\t(.+)|^(?!\t)[^\n#;]*:[^\n;]*;(.+)|!=(.+)|\$[({]shell\s+([^\n]+)[)}]", re.MULTILINE)
_STREAM = re.compile(
    rf"(?:-[a-zA-Z]*f|--[fm][a-z]*=?) ?(?:-|/dev/\S*|/proc/\S*|[<>]\(.*|{HOLE})(?: .*)?", re.DOTALL
)
_COMPUTES = re.compile(r"(?<!\$)(?:\$\$)*\$(?!\$)|\\")
_FILLS_IN = re.compile(r"\$\$|\$[({](shell)\s+|\$\([^()]*\)|\$\{[^{}]*\}|\$.?", re.DOTALL)


def hides_what_runs(values: Sequence[str], given: Sequence[str]) -> bool:
    """Whether make reads rules that do not show, or runs its recipes in another way."""
    if any(HOLE in text or FULL in text or ".SHELLFLAGS" in text for text in given):
        return True
    streams = any(_STREAM.fullmatch(" ".join(values[at : at + 2])) for at in range(len(values)))
    return (streams and not given) or any(".SHELLFLAGS" in value for value in values)


def is_computed(text: str) -> bool:
    """Whether make fills something in or joins lines: only a shell that it starts sees what comes of it."""
    return _COMPUTES.search(text) is not None


def recipes(text: str) -> Iterator[str]:
    """The command lines in the text of a makefile."""
    # A recipe is joined by the shell, everything else by make.
    joined = dict.fromkeys(text.replace("\\\n", blank) for blank in ("", " "))
    for found in (each for variant in joined for each in _RUNS.finditer(variant)):
        line = next(group for group in found.groups() if group is not None)
        yield _FILLS_IN.sub(_as_in_a_shell, line.lstrip("@+- \t"))


def _as_in_a_shell(found: re.Match[str]) -> str:
    """What make fills in, as a shell would write it; the values of make variables are not looked up."""
    if found[0] == "$$":
        return "$"
    return "$(" if found[1] else HOLE
