"""What is in the folders that a command copies, moves or walks through: names and links that do not show."""

import os
import os.path
import re
from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from bridle.permissions.files.git_layout import discover, tracked
from bridle.permissions.files.paths import is_inside, is_protected_spelling
from bridle.types.permission import Effect, Rule
from bridle.types.shell import Part, Reading

_MOST = 5_000
_MOST_LISTED = 20_000
_SPLITS = re.compile(r"[\s'\"\\]")
"""Where `xargs` ends a name by default."""
_HIDDEN_PATTERN = re.compile(r"(?:\A|/)\.[^/]*[*?\[]")
"""A name that would be a pattern which `..` matches."""
_LINKERS = frozenset({"ln", "link"})


class _Unclear(ValueError):
    """The contents of a folder are unknown, or must not be used as they would be."""


class _Found(Struct):
    """What came to light in one part's folders."""

    reads: list[str]
    writes: list[str]
    links: list[str]
    """Where it puts links."""
    seen: int = 0


def with_trees(reading: Reading, rules: Sequence[Rule]) -> Reading:
    """The reading with everything that counts in the folders it copies, moves or follows links in."""
    if not any(_is_deep(part) for part in reading.parts):
        return reading
    every = any(rule.effect is not Effect.ALLOW and rule.content is not None for rule in rules)
    parts = list(reading.parts)
    for index, part in enumerate(parts):
        if not _is_deep(part):
            continue
        found = _Found([], [], list(part.writes) if _makes_links(part) else [])
        try:
            for source, target in part.copies:
                _copy(source, target, found, every=every)
            for folder in part.walks:
                _walk(folder, found)
            if part.lists:
                _check_listed(part, reading, found)
        except _Unclear as reason:
            parts[index] = replace(part, unclear=part.unclear or str(reason))
            continue
        others = [each for place, each in enumerate(reading.parts) if place != index]
        through = next((path for path in _touched(others) if is_inside(path, found.links)), None)
        unclear = part.unclear or (through and f"it may create a link at {through}")
        parts[index] = replace(
            part,
            reads=tuple(dict.fromkeys((*part.reads, *found.reads))),
            writes=tuple(dict.fromkeys((*part.writes, *found.writes))),
            unclear=unclear,
            redirects_unclear=part.redirects_unclear or bool(through),
        )
    return replace(reading, parts=tuple(parts))


def _copy(source: str, target: str, found: _Found, *, every: bool) -> None:
    """Note what copying a folder writes that is protected, leads elsewhere or has a rule of its own."""
    if os.path.islink(source.rstrip("/")):
        found.links.append(target)
    waiting = [(source, target)] if os.path.isdir(source) else []
    while waiting:
        here, there = waiting.pop()
        exists = os.path.isdir(there)
        for entry in _entries(here, found):
            aim = os.path.join(there, entry.name)
            link = entry.is_symlink()
            if link:
                found.links.append(aim)
            if every:
                found.reads.append(entry.path)
            protected = is_protected_spelling(aim)
            if every or protected or is_protected_spelling(entry.path) or (exists and os.path.islink(aim)):
                found.writes.append(aim)
            if entry.is_dir(follow_symlinks=False) and not protected:
                waiting.append((entry.path, aim))


def _walk(folder: str, found: _Found) -> None:
    """Note where the links in a folder lead; they are followed for the decision like any other path."""
    waiting, seen = [folder], set[str]()
    while waiting:
        here = waiting.pop()
        if not os.path.isdir(here) or (real := os.path.realpath(here)) in seen:
            continue
        seen.add(real)
        for entry in _entries(here, found):
            if entry.is_symlink():
                found.reads.append(entry.path)
            if entry.is_dir():
                waiting.append(entry.path)


def _check_listed(part: Part, reading: Reading, found: _Found) -> None:
    """Whether names that are given to a command can be nothing but files in the folders they come from."""
    if any(each.writes or not each.harmless for each in reading.parts):
        raise _Unclear("it uses file names that the command may create")
    for folder in part.lists:
        for repository in discover(folder)[-1:]:
            # What git lists need not be on disk.
            names = tracked(repository)
            if names is None or any(_is_odd(name, exactly=part.lists_exactly) for _, name in names):
                raise _Unclear(f"{repository.top} contains an ambiguous name")
        _list(folder, found, exactly=part.lists_exactly)


def _is_odd(path: str, *, exactly: bool) -> bool:
    """Whether a name may be taken for an option, or for several names."""
    return (
        path.startswith("-")
        or "/-" in path
        or "\n" in path
        or path.startswith("/")
        or ".." in path.split("/")
        or (not exactly and _SPLITS.search(path) is not None)
        or (not exactly and _HIDDEN_PATTERN.search(path) is not None)
    )


def _list(folder: str, found: _Found, *, exactly: bool) -> None:
    """Note where links lead whose names are given to a command, and refuse names that it would misread."""
    waiting = [folder]
    while waiting:
        here = waiting.pop()
        for entry in _entries(here, found, most=_MOST_LISTED):
            if _is_odd(entry.name, exactly=exactly):
                raise _Unclear(f"{entry.path} is an ambiguous name")
            if entry.is_symlink():
                found.reads.append(entry.path)
            elif entry.is_dir(follow_symlinks=False) and entry.name != ".git":
                waiting.append(entry.path)


def _is_deep(part: Part) -> bool:
    return bool(part.copies or part.walks or part.lists) or _makes_links(part)


def _entries(folder: str, found: _Found, most: int = _MOST) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            listed: list[os.DirEntry[str]] = []
            for entry in entries:
                found.seen += 1
                if found.seen > most:
                    raise _Unclear(f"{folder} holds more than {most:,} files")
                listed.append(entry)
    except OSError:
        return []  # What cannot be listed cannot be copied either.
    return listed


def _touched(parts: Iterable[Part]) -> Iterable[str]:
    return (path for part in parts for path in (*part.reads, *part.writes, *part.runs_in))


def _makes_links(part: Part) -> bool:
    return not part.harmless and not _LINKERS.isdisjoint(os.path.basename(name) for name in part.programs)
