"""Which files a path rule covers, which lie inside the working directories, and which are protected."""

import os.path
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import pairwise

from bridle.permissions.files.protected_names import FILES, FOLDERS, PAIRS
from bridle.types.permission import Case, Effect, Rule


def covers(rule: Rule, case: Case, path: str) -> bool:
    """Whether a rule with a gitignore-like pattern covers an absolute path, wherever it leads.

    An allow rule must cover both the path and its end, any other rule one spelling of it. A pattern that
    matches a folder covers all that is in it.
    """
    return covers_any(rule, case, (path,))


def covers_any(rule: Rule, case: Case, touched: Iterable[str]) -> bool:
    """Whether a rule covers one of these paths."""
    anchors = None
    for path in touched:
        anchors = tuple(_anchored(rule, case)) if anchors is None else anchors
        place = case.place(path)
        if rule.effect is Effect.ALLOW:
            if all(_covers_spelling(anchors, spelling) for spelling in {place.path, place.target}):
                return True
        elif any(_covers_spelling(anchors, spelling) for spelling in place.spellings):
            return True
    return False


def is_within(case: Case, path: str, folders: Sequence[str]) -> bool:
    """Whether the place that a path leads to lies in one of these folders."""
    return is_inside(case.place(path).target, folders)


def is_inside(path: str, roots: Sequence[str]) -> bool:
    components = _components(path)
    return any(_below(components, root) is not None for root in roots)


def is_protected(case: Case, path: str) -> bool:
    """Whether writing there could change what runs later, in any letter case and at any depth."""
    own = case.place(case.config_home).spellings if case.config_home else ()
    return any(
        is_protected_spelling(spelling) or any(_is_configuration(spelling, folder) for folder in own)
        for spelling in case.place(path).spellings
    )


@lru_cache(maxsize=4096)
def is_protected_spelling(path: str) -> bool:
    """Whether a path is protected by its own components, wherever it leads."""
    components = [component.casefold() for component in _components(path)]
    if components and components[-1] in FILES:
        return True
    for name, following in pairwise([*components, ""]):
        # Worktrees are made for editing; the rest of the folder is configuration.
        if name in FOLDERS and (name, following) != (".claude", "worktrees"):
            return True
        if (name, following) in PAIRS:
            return True
    return False


def _is_configuration(path: str, config_home: str) -> bool:
    below = _below(_components(path), config_home)
    return below is not None and below[:1] != ("worktrees",)


def _covers_spelling(anchors: Iterable[tuple[str, tuple[str, ...]]], path: str) -> bool:
    components = _components(path)
    return any(
        (below := _below(components, base)) is not None and _matches(glob, below) for base, glob in anchors
    )


def anchored(rule: Rule, case: Case) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The folders that a pattern starts from, each with the patterns of the components that must follow."""
    return tuple(_anchored(rule, case))


def _anchored(rule: Rule, case: Case) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Every directory that the pattern starts from, with the components that must follow."""
    pattern = rule.content or ""
    starts = case.start or case.roots[:1] or (case.cwd,)
    if pattern.startswith("//"):
        yield "/", _globs(pattern)
    elif pattern == "~" or pattern.startswith("~/"):
        yield from ((base, _globs(pattern[1:])) for base in _home(case))
    elif pattern.startswith("/"):
        bases = _settings_folder(case) if rule.source == "userSettings" else starts
        yield from ((base, _globs(pattern)) for base in bases)
    elif rule.effect is Effect.ALLOW:
        floats = "/" not in pattern.rstrip("/")
        globs = (("**",) if floats else ()) + _globs(pattern)
        yield from (_climb(base, globs) for base in starts)
    else:
        # A denial must not depend on which working directory the call stands in.
        globs = _globs(pattern)
        floats = len(globs) == 1 and globs[0] not in ("..", "**")
        for base in dict.fromkeys((*starts, *case.roots, case.cwd)):
            yield _climb(base, (("**",) if floats else ()) + globs)


def _home(case: Case) -> tuple[str, ...]:
    return case.place(case.home or os.path.expanduser("~")).spellings


def _settings_folder(case: Case) -> tuple[str, ...]:
    return case.place(case.config_home or os.path.join(_home(case)[0], ".claude")).spellings


def _climb(base: str, globs: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    climbed = 0
    while climbed < len(globs) and globs[climbed] == "..":
        base = os.path.dirname(base.rstrip("/")) or "/"
        climbed += 1
    return base, globs[climbed:]


@lru_cache(maxsize=1024)
def _globs(pattern: str) -> tuple[str, ...]:
    """The components of a pattern; what ends in `/` or `/**` means the folder and so all that is in it."""
    components = [component for component in pattern.split("/") if component not in ("", ".")]
    while len(components) > 1 and components[-1] == "**":
        components.pop()
    return tuple(component if component in ("**", "..") else _glob(component) for component in components)


def _glob(component: str) -> str:
    """A pattern in the dialect of `fnmatch`, which has no backslash and negates with `!`."""
    made, index = "", 0
    while index < len(component):
        character = component[index]
        if character == "\\" and index + 1 < len(component):
            index += 1
            made += f"[{component[index]}]"
        elif component.startswith("[^", index):
            index += 1
            made += "[!"
        else:
            made += character
        index += 1
    return made


def _matches(globs: tuple[str, ...], components: tuple[str, ...]) -> bool:
    """Follow all ways to read the pattern at once, so that no pattern takes long."""
    floats = globs[:1] == ("**",)
    rest = globs[1:] if floats else globs
    if rest and "**" not in rest:
        count = len(rest)
        last = len(components) - count
        starts = range(last + 1) if floats else range(min(last, 0) + 1)
        return any(all(map(fnmatchcase, components[start : start + count], rest)) for start in starts)
    places = _skip(globs, {0})
    for component in components:
        if len(globs) in places:
            return True
        stepped = {
            place + 1 for place in places if globs[place] != "**" and fnmatchcase(component, globs[place])
        }
        places = _skip(globs, stepped | {place for place in places if globs[place] == "**"})
    return len(globs) in places


def _skip(globs: tuple[str, ...], places: set[int]) -> set[int]:
    """Add the places reached when `**` stands for nothing."""
    reached = set(places)
    for place, glob in enumerate(globs):
        if place in reached and glob == "**":
            reached.add(place + 1)
    return reached


def _below(components: tuple[str, ...], base: str) -> tuple[str, ...] | None:
    """What is left of a path after a directory, None when it is not in that directory."""
    start = _components(base)
    return components[len(start) :] if components[: len(start)] == start else None


@lru_cache(maxsize=8192)
def _components(path: str) -> tuple[str, ...]:
    return tuple(component for component in os.path.normpath(path).split("/") if component)
