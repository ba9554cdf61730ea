"""Removals through links: what a path looks like is not where it leads."""

import os.path
import re
from collections.abc import Iterator
from itertools import islice

from msgspec.structs import replace

from bridle.permissions.files.links import follow
from bridle.types.shell import Part, Reading

_SPECIAL = re.compile(r"[*?\[]")
_MOST = 50


def with_critical_removals(reading: Reading, *, start: str, home: str) -> Reading:
    """The reading with those removals marked that reach a protected path through a link."""
    if not any(part.removes for part in reading.parts):
        return reading
    kept = tuple(follow(path).target for path in (start, home) if path)
    return replace(reading, parts=tuple(_marked(part, kept) for part in reading.parts))


def _marked(part: Part, kept: tuple[str, ...]) -> Part:
    from bridle.permissions.shell.removals import must_stay

    if part.critical is not None:
        return part
    for path in islice(_named(part.removes), _MOST):
        if must_stay(target := _target(path), kept):
            return replace(part, critical=f"it removes {target} through the link {path}")
    return part


def _named(paths: tuple[str, ...]) -> Iterator[str]:
    from glob import iglob

    for path in paths:
        if _SPECIAL.search(path):
            yield from islice(iglob(path.replace("[^", "[!")), _MOST)
        yield path


def _target(path: str) -> str:
    """What goes: the link itself, unless it is what is behind it."""
    if path.endswith("/") or os.path.basename(path) in (".", ".."):
        return follow(path).target
    return os.path.join(follow(os.path.dirname(path)).target, os.path.basename(path))
