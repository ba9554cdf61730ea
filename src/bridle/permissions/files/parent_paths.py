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
_OTHER_PLACE = "git behind a change of directory reads another configuration"


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
        parts = _in_doubt(tuple(_as_written(part, places) for part in parts))
    leaves = tuple(dict.fromkeys((*reading.leaves, *places[1:])))
    return msgspec.structs.replace(reading, parts=parts, leaves=leaves)


def _in_doubt(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """Git behind a way back: only where it runs would tell which repository and configuration it meets."""
    back = next((at for at, part in enumerate(parts) if any(map(_goes_back, part.allow_forms))), len(parts))
    return tuple(
        msgspec.structs.replace(part, harmless=False, why=_OTHER_PLACE)
        if at > back and part.harmless and "git" in part.programs
        else part
        for at, part in enumerate(parts)
    )


def _goes_back(form: str) -> bool:
    found = _MOVES.match(_QUOTING.sub("", form))
    return found is not None and ".." in found[1].split("/")


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


def _may_run_in(part: Part, place: str) -> bool:
    """Whether a part may run in a place: a `cd` behind `&&` begins where the one before it led."""
    return not part.runs_in or os.path.normpath(place) in part.runs_in


def _places(parts: tuple[Part, ...], cwd: str) -> tuple[str, ...]:
    """Every directory that a command in it may run in, with links as they were named."""
    places = {cwd: None}
    for part in parts:
        for form in part.allow_forms:
            if not form.lstrip("'\"\\").startswith(("c", "p")):
                continue
            if len(places) < _MOST_PLACES and (found := _MOVES.match(_QUOTING.sub("", form))):
                starts = [place for place in places if _may_run_in(part, place)]
                places |= {os.path.join(place, found[1]): None for place in starts}
    return tuple(places)
