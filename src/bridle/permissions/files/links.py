"""Follows symbolic links, and keeps every place met on the way."""

import os
import os.path
import re
import stat
from collections.abc import Iterable
from typing import TypeAlias

from bridle.types.permission import ResolvedPath

_MOST_LINKS = 40
"""The kernel gives up there, too."""
_LONGEST = 4096
"""No system call takes more, so nothing is there."""
_PROCESS_LINK = re.compile(r"/proc/\d+(?:/task/\d+)?/(?:cwd|root|exe|(?:fd|map_files|ns)/.*)")
_PLAIN = re.compile(r"(?:/(?!\.{1,2}(?:/|\Z))[^/]+)+")
"""An absolute path as short as it can be."""

Seen: TypeAlias = dict[str, str | bool]
"""What is at paths with no link before their last part: where a link leads, else whether it is a folder."""


def follow(path: str, known: Seen | None = None) -> ResolvedPath:
    """Where an absolute path leads, whether anything is there or not, and every other spelling on the way.

    `..` behind a link is walked as the kernel does it. A link that belongs to a process leads elsewhere for
    another one: rules that refuse see where it leads from here, while for all else the path ends at the link.
    `known` is what was seen before, for paths that are followed together.
    """
    known = {} if known is None else known
    if len(path) > _LONGEST:
        return ResolvedPath(_normal(path), (), False)
    if (straight := _straight(path, known)) is not None:
        return straight
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
        if (leads := known.get(here)) is None:
            leads = known[here] = _look(here)
        if isinstance(leads, bool) or links == _MOST_LINKS:
            reached = here
            # Behind a link that is not followed, nothing seen holds for other paths.
            known = known if isinstance(leads, bool) else {}
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
    folder = known.get(end)
    return ResolvedPath(
        named,
        (*hops, end) if hops or end != named else (),
        folder if isinstance(folder, bool) else _is_folder(end),
    )


def _straight(path: str, known: Seen) -> ResolvedPath | None:
    """The place of a path without links, as most are; None for all others."""
    if _PLAIN.fullmatch(path) is None:
        return None
    at = path.rfind("/")
    if known.get(path[:at]) is not True:
        at = 0
    while True:
        at = path.find("/", at + 1)
        here = path[:at] if at > 0 else path
        if (found := known.get(here)) is None:
            found = known[here] = _look(here)
        if found is not True or at < 0:
            # Below what is no folder there is nothing, and so no link.
            return ResolvedPath(path, (), found if at < 0 else False) if isinstance(found, bool) else None


class FollowedPaths:
    """Paths that are followed together: each of them once, and each link on their ways read once."""

    def __init__(self) -> None:
        self._seen: Seen = {}
        self._places: dict[str, ResolvedPath] = {}
        self._spellings: dict[tuple[str, ...], tuple[str, ...]] = {}

    def place(self, path: str) -> ResolvedPath:
        if (place := self._places.get(path)) is None:
            place = self._places[path] = follow(path, self._seen)
        return place

    def places(self, paths: Iterable[str]) -> dict[str, ResolvedPath]:
        """Where each path leads."""
        return {path: self.place(path) for path in paths}

    def spellings(self, paths: tuple[str, ...]) -> tuple[str, ...]:
        """How each path was written and where it leads, so that rules see both."""
        if (known := self._spellings.get(paths)) is not None:
            return known
        found: dict[str, None] = {}
        for path in paths:
            place = self.place(path)
            found[place.path] = None
            if place.hops:
                found[place.hops[-1]] = None
        self._spellings[paths] = tuple(found)
        return self._spellings[paths]


def _is_folder(path: str) -> bool:
    try:
        return os.path.isdir(path)
    except ValueError:
        return False  # Not a path at all.


def _look(path: str) -> str | bool:
    """Where a link leads; of anything else, whether it is a folder."""
    try:
        mode = os.lstat(path).st_mode
        return os.readlink(path) if stat.S_ISLNK(mode) else stat.S_ISDIR(mode)
    except (OSError, ValueError):
        return False  # Not there, or no path at all: it leads nowhere else.


def _split(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in ("", ".")]


def _normal(path: str, rest: Iterable[str] = ()) -> str:
    normal = os.path.normpath(os.path.join("/", path, *rest))
    # POSIX lets two leading slashes mean something else; no system that bridle runs on does.
    return normal[1:] if normal.startswith("//") else normal
