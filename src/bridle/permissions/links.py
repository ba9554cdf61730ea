"""Follows symbolic links, and keeps every place met on the way."""

import os
import os.path
import re
from collections.abc import Iterable

from bridle.types.permission import Place

_MOST_LINKS = 40
"""The kernel gives up there, too."""
_LONGEST = 4096
"""No system call takes more, so nothing is there."""
_PROCESS_LINK = re.compile(r"/proc/\d+(?:/task/\d+)?/(?:cwd|root|exe|(?:fd|map_files|ns)/.*)")


def follow(path: str, known: dict[str, str | None] | None = None) -> Place:
    """Where an absolute path leads, whether anything is there or not, and every other spelling on the way.

    `..` behind a link is walked as the kernel does it. A link that belongs to a process leads elsewhere for
    another one: rules that refuse see where it leads from here, while for all else the path ends at the link.
    `known` are links that were read before, for paths that are followed together.
    """
    known = {} if known is None else known
    if len(path) > _LONGEST:
        return Place(_normal(path), (), False)
    reached, rest = "/", _split(path)
    met: list[str] = []
    ends_early: str | None = None
    links = 0
    while rest:
        part = rest.pop(0)
        if part == "..":
            reached = os.path.dirname(reached)
            continue
        here = f"{reached}/{part}" if reached != "/" else f"/{part}"
        if here not in known:
            known[here] = _read_link(here)
        leads = known[here]
        if leads is None or links == _MOST_LINKS:
            reached = here
            continue
        links += 1
        if ends_early is None and _PROCESS_LINK.fullmatch(here):
            ends_early = _normal(here, rest)
        if leads.startswith("/"):
            reached = "/"
        rest = _split(leads) + rest
        met.append(_normal(reached, rest))
    named = path if path == reached else _normal(path)
    if ends_early is not None:
        met.append(reached)
    end = ends_early or reached
    hops = [spelling for spelling in dict.fromkeys(met) if spelling not in (named, end)]
    return Place(named, (*hops, end) if hops or end != named else (), _is_folder(end))


class Followed:
    """Paths that are followed together: each of them once, and each link on their ways read once."""

    def __init__(self) -> None:
        self._links: dict[str, str | None] = {}
        self._places: dict[str, Place] = {}

    def place(self, path: str) -> Place:
        if (place := self._places.get(path)) is None:
            place = self._places[path] = follow(path, self._links)
        return place

    def places(self, paths: Iterable[str]) -> dict[str, Place]:
        """Where each path leads."""
        return {path: self.place(path) for path in paths}

    def spellings(self, paths: Iterable[str]) -> tuple[str, ...]:
        """How each path was written and where it leads, so that rules see both."""
        places = [self.place(path) for path in paths]
        return tuple(dict.fromkeys(spelling for place in places for spelling in (place.path, place.target)))


def _is_folder(path: str) -> bool:
    try:
        return os.path.isdir(path)
    except ValueError:
        return False  # Not a path at all.


def _read_link(path: str) -> str | None:
    try:
        return os.readlink(path)
    except (OSError, ValueError):
        return None  # Not a link, not there, or no path at all: it leads nowhere else.


def _split(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in ("", ".")]


def _normal(path: str, rest: Iterable[str] = ()) -> str:
    normal = os.path.normpath(os.path.join("/", path, *rest))
    # POSIX lets two leading slashes mean something else; no system that bridle runs on does.
    return normal[1:] if normal.startswith("//") else normal
