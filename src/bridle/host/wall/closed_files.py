"""Files in the working folders that rules keep from being read: known by their paths alone."""

import os
import os.path
import re
import stat
from collections.abc import Iterator
from copy import copy
from functools import lru_cache

from bridle.host.sandbox.denials import expressions
from bridle.types.sandbox import Pattern

_MAGIC = re.compile(r"[*?\[]")
_RUNS_GIT = re.compile(r"(?:^|[\s;&|(`])git\s")


class ClosedFile(Exception):
    """A file that a rule keeps from being read."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


class ClosedFiles:
    """Whether a path without links is closed; what a pattern covers, it covers with all that is below."""

    def __init__(self, patterns: tuple[Pattern, ...]) -> None:
        whole = "|".join(f"(?:{expression})" for expression in expressions(patterns))
        self._covers = re.compile(whole, re.DOTALL).fullmatch
        self._spares_git = False
        self.literal = tuple(_literal(patterns))
        """Paths that rules name without stars, whether they are there or not."""
        self._present = self.literal

    def covers(self, path: str) -> bool:
        """Whether a rule keeps the file at an absolute path from being read."""
        return self._covers(path) is not None and not (self._spares_git and is_of_git(path))

    def but_for_git(self) -> "ClosedFiles":
        """What is closed without git's own folders, because git cannot work without them."""
        made = copy(self)
        made._spares_git = True
        return made

    def with_present(self, paths: tuple[str, ...]) -> "ClosedFiles":
        """A copy that also closes hard links to these files."""
        made = copy(self)
        made._present = tuple(dict.fromkeys((*self.literal, *filter(self.covers, paths))))
        return made

    def refuse(self, path: str, facts: os.stat_result | None = None) -> None:
        """Raises ClosedFile for what rules close, under any name that links on disk give it."""
        if self.covers(path):
            raise ClosedFile(path)
        facts = facts or _facts(path)
        if facts is not None and facts.st_nlink > 1 and stat.S_ISREG(facts.st_mode):
            other = next((each for each in self._present if _is_same(each, facts)), None)
            if other is not None:
                raise ClosedFile(other)


@lru_cache(maxsize=16)
def closed_files(patterns: tuple[Pattern, ...], roots: tuple[str, ...]) -> ClosedFiles | None:
    """What patterns close below the working folders; None when that is nothing."""
    near = tuple(each for each in patterns if any(_may_reach(each, root) for root in roots))
    return ClosedFiles(near) if near else None


def runs_git(command: str) -> bool:
    """Whether a command line has git in it."""
    return _RUNS_GIT.search(command) is not None


def is_of_git(path: str) -> bool:
    """Whether a path is in one of git's own folders."""
    return "/.git/" in f"{path}/"


def _may_reach(pattern: Pattern, root: str) -> bool:
    """Whether a pattern may cover anything in a folder, by the names that it begins with."""
    base, globs = pattern
    for place in dict.fromkeys((base, os.path.realpath(base))):
        named = [part for part in place.split("/") if part]
        for glob in globs:
            if glob == "**" or _MAGIC.search(glob):
                break
            named.append(glob)
        if all(one == other for one, other in zip(named, _names(root), strict=False)):
            return True
    return False


def _literal(patterns: tuple[Pattern, ...]) -> Iterator[str]:
    for base, globs in patterns:
        named = globs[1:] if globs[:1] == ("**",) else globs
        if named and not any(glob == "**" or _MAGIC.search(glob) for glob in named):
            yield os.path.join(base, *named)


def _facts(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except OSError:
        return None


def _is_same(path: str, facts: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.stat(path), facts)
    except OSError:
        return False


def _names(path: str) -> list[str]:
    return [part for part in path.split("/") if part]
