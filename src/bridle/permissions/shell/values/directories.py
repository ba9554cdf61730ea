"""Where a command line leads: the directories that each of its commands may run in."""

import os.path
from collections.abc import Collection
from functools import lru_cache

from msgspec import Struct

from bridle.permissions.shell.programs.wrappers import hides_name, unwrapped
from bridle.permissions.shell.syntax.simple_command import LineState, Places, Simple
from bridle.permissions.shell.syntax.words import Word
from bridle.permissions.shell.values.variable_values import begun

_MOST = 4
_LOSES = frozenset({"popd", "eval", "source", "."})
_THROUGH = frozenset({"command", "builtin", "time"})


def join(one: LineState, other: LineState) -> LineState:
    """What holds whichever of the two it is."""
    if one is other:
        return one
    certain = one.certain & other.certain
    if one.places is None or other.places is None:
        return LineState(None, certain)
    both = one.places | other.places
    return LineState(both if len(both) <= _MOST else None, certain)


class Outcome(Struct, frozen=True):
    """How things stand afterwards: when it went well and when it did not."""

    well: LineState
    ill: LineState

    @property
    def either(self) -> LineState:
        return join(self.well, self.ill)


def follow(
    simple: Simple, at: LineState, home: str, functions: Collection[str]
) -> tuple[LineState, LineState]:
    """How things stand after a simple command that went well, and after one that did not."""
    well, ill = _places(simple, at.places, home, functions)
    set_now = begun(simple)
    if well is at.places and ill is at.places and not set_now:
        return at, at
    certain = at.certain | set_now
    return LineState(well, certain), LineState(ill, certain)


def _places(simple: Simple, at: Places, home: str, functions: Collection[str]) -> tuple[Places, Places]:
    words, wrappers = unwrapped(simple.words)
    if not words or simple.kind not in ("command", "declaration"):
        return at, at
    name = words[0].value
    if name in _LOSES or name in functions or not words[0].literal or hides_name(words):
        return None, None
    if name not in ("cd", "pushd") or wrappers - _THROUGH:
        return at, at
    target = destination(words, home)
    if target is None or (at is None and not target.startswith("/")):
        return None, at
    if at is None:
        return frozenset({os.path.normpath(target)}), None
    return frozenset(resolve(place, target) for place in at), at


def destination(words: tuple[Word, ...], home: str) -> str | None:
    """The directory that `cd` is given, relative or absolute; None when it is unclear."""
    operands = [word for word in words[1:] if word.value not in ("-L", "--")]
    if not operands:
        return home if home and words[0].value == "cd" else None
    word = operands[0]
    if len(operands) > 1 or not word.literal or word.value.startswith(("-", "+")) or not word.value:
        return None
    return word.value


@lru_cache(maxsize=4096)
def resolve(place: str, path: str) -> str:
    """An absolute path without `.` and `..`."""
    joined = os.path.normpath(os.path.join(place, path))
    return joined[1:] if joined.startswith("//") else joined
