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
        here = os.path.join(reached, part)
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
    named = _normal(path)
    if ends_early is not None:
        met.append(reached)
    end = ends_early or reached
    hops = [spelling for spelling in dict.fromkeys(met) if spelling not in (named, end)]
    return Place(named, (*hops, end) if hops or end != named else (), _is_folder(end))


def follow_all(paths: Iterable[str]) -> dict[str, Place]:
    """Where each path leads."""
    known: dict[str, str | None] = {}
    return {path: follow(path, known) for path in dict.fromkeys(paths)}


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
