"""Where a command goes by `cd` and `..`: the kernel follows links that the text does not show."""

import os.path
import re
from collections.abc import Iterable, Iterator

import msgspec

from bridle.types.shell import Part, Reading

_QUOTING = re.compile(r"""['"\\]""")
_WORD = re.compile(r"(?:[^\s<>|&;()=]*/)?\.\.(?:/[^\s<>|&;()=]*)?(?![^\s<>|&;()=])")
_MOVES = re.compile(r"(?:cd|pushd)(?: -[LP@e]+| --)* ([^\s<>|&;()-][^\s<>|&;()]*)")
_MOST_PLACES = 16


def as_walked(reading: Reading, cwd: str) -> Reading:
    """The reading with every directory that it enters, and with paths that go back also as they were written.

    Without `..` a path says where a shell would look that knew no links; as written it can be followed.
    """
    places = _places(reading.parts, cwd)
    parts = reading.parts
    climbs = any(".." in part.text for part in parts)
    if not climbs and len(places) == 1:
        return reading
    if climbs:
        parts = tuple(_as_written(part, places) for part in parts)
    leaves = tuple(dict.fromkeys((*reading.leaves, *places[1:])))
    return msgspec.structs.replace(reading, parts=parts, leaves=leaves)


def _as_written(part: Part, places: Iterable[str]) -> Part:
    words = _WORD.findall(_QUOTING.sub("", part.text))
    spellings = {
        spelling: os.path.normpath(spelling)
        for place in places
        for word in words
        if (spelling := os.path.join(place, word))
    }
    return msgspec.structs.replace(
        part,
        reads=(*part.reads, *_spelled(part.reads, spellings)),
        writes=(*part.writes, *_spelled(part.writes, spellings)),
    )


def _spelled(paths: tuple[str, ...], spellings: dict[str, str]) -> Iterator[str]:
    return (spelling for spelling, normal in spellings.items() if normal in paths)


def _places(parts: tuple[Part, ...], cwd: str) -> tuple[str, ...]:
    """Every directory that a command in it may run in, with links as they were named."""
    places = {cwd: None}
    for part in parts:
        for form in part.allow_forms:
            if not form.lstrip("'\"\\").startswith(("c", "p")):
                continue
            if len(places) < _MOST_PLACES and (found := _MOVES.match(_QUOTING.sub("", form))):
                places |= {os.path.join(place, found[1]): None for place in places}
    return tuple(places)
