"""Finds the files and programs that rules keep from a command."""

import os
import os.path
import re
import time
from collections import deque
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase

from msgspec.structs import replace

from bridle.host.sandbox.policy import PACKAGES, Policy
from bridle.types.errors import ToolError
from bridle.types.sandbox import Denials, Pattern

_USUAL_FOLDERS = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
_MANY_IN_ONE = frozenset({"busybox", "toybox", "coreutils"})
"""Programs that are many under as many names: without them there would be no shell and no `ls`."""
_MAGIC = re.compile(r"[*?\[]")
_MOST_FOLDERS = 20_000
_MOST_FOUND = 1_000
_SEARCH_LASTS = 10.0


class DeniedFiles:
    """Looks for what patterns match, and remembers it for a moment."""

    def __init__(self) -> None:
        self._known: dict[tuple[Pattern, ...], tuple[float, tuple[str, ...]]] = {}

    def narrowed(
        self, policy: Policy, denials: Denials, *, search: str, shell: str, oversees: bool
    ) -> Policy:
        """A policy with what rules deny besides; `shell` is what runs the command, and must run.

        Raises:
            ToolError: more files are denied than can be hidden one by one.
        """
        if denials == Denials():
            return policy
        hidden = (*self._existing(denials.unreadable), *_programs(denials.programs, search, shell))
        # Where the kernel tells about each file that is made or changed, none of them need be looked for.
        fixed = () if oversees else self._existing(denials.unwritable)
        return replace(
            policy,
            unreadable=tuple(dict.fromkeys((*policy.unreadable, *hidden))),
            never_writable=tuple(dict.fromkeys((*policy.never_writable, *fixed))),
            unwritable=tuple(expressions((*denials.unwritable, *denials.unreadable))),
        )

    def _existing(self, patterns: tuple[Pattern, ...]) -> tuple[str, ...]:
        when, found = self._known.get(patterns, (0.0, ()))
        # What was found may be gone, which harms no one; what is new must be found soon.
        if not when or time.monotonic() - when > _SEARCH_LASTS:
            found = tuple(dict.fromkeys(_found(patterns)))
            self._known = {patterns: (time.monotonic(), found)}
        return found


def expressions(patterns: Iterable[Pattern]) -> Iterator[str]:
    """A regular expression for each pattern, for whole absolute paths without links."""
    for base, globs in patterns:
        for place in dict.fromkeys((base, os.path.realpath(base))):
            yield _expression(place, globs) + "(?:/.*)?"


def _expression(base: str, globs: tuple[str, ...]) -> str:
    parts = ("(?:/[^/]+)*" if glob == "**" else f"/{_component(glob)}" for glob in globs)
    return re.escape(base.rstrip("/")) + "".join(parts)


def _component(glob: str) -> str:
    """One component of a path, as `fnmatch` reads it."""
    made, index = "", 0
    while index < len(glob):
        character = glob[index]
        end = glob.find("]", index + (3 if glob.startswith("[!", index) else 2)) if character == "[" else -1
        if end > 0:
            inside = re.sub(r"[\\\[&~|]", r"\\\g<0>", glob[index + 1 : end])
            made += f"[^/{inside[1:]}]" if inside.startswith("!") else f"[{inside}]".replace("[^", "[\\^")
            index = end
        else:
            made += {"*": "[^/]*", "?": "[^/]"}.get(character, re.escape(character))
        index += 1
    return made


def _found(patterns: tuple[Pattern, ...]) -> Iterator[str]:
    """What is there now of everything that patterns match."""
    searched: dict[str, list[tuple[str, ...]]] = {}
    for base, globs in patterns:
        place, left = os.path.realpath(base), list(globs)
        while left and left[0] != "**" and not _MAGIC.search(left[0]):
            place = os.path.join(place, left.pop(0))
        if left:
            searched.setdefault(place, []).append(tuple(left))
        elif os.path.lexists(place):
            yield place
    count = 0
    for base, several in searched.items():
        for path in _below(base, several):
            count += 1
            if count > _MOST_FOUND:
                raise ToolError(
                    f"Rules deny reading more than {_MOST_FOUND:,} files below {base}: "
                    "name the folder that they are in, or run the command outside the sandbox."
                )
            yield path


def _below(base: str, several: list[tuple[str, ...]]) -> Iterator[str]:
    wanted = re.compile("|".join(f"(?:{_expression(base, globs)})" for globs in several), re.DOTALL).fullmatch
    deepest = max((len(base.split("/")) + len(globs) for globs in several if "**" not in globs), default=0)
    floats = any("**" in globs for globs in several)
    if wanted(base) and os.path.lexists(base):
        yield base
        return
    waiting = deque([base])
    searched = 0
    while waiting and searched < _MOST_FOLDERS:
        folder = waiting.popleft()
        searched += 1
        try:
            entries = list(os.scandir(folder))
        except OSError:
            continue  # What we cannot list, commands cannot either.
        for entry in entries:
            if wanted(entry.path):
                yield entry.path
            elif (floats or entry.path.count("/") < deepest) and entry.is_dir(follow_symlinks=False):
                # Installed packages are looked at last: where there are too many folders, they are the many.
                waiting.append(entry.path) if entry.name in PACKAGES else waiting.appendleft(entry.path)


def _programs(names: tuple[str, ...], search: str, shell: str) -> Iterator[str]:
    """Every file that is one of these programs, under whatever names they are found."""
    if not names:
        return
    folders = dict.fromkeys(
        folder for folder in (*search.split(":"), *_USUAL_FOLDERS) if os.path.isabs(folder)
    )
    kept = os.path.realpath(shell)
    found: dict[tuple[int, int], str] = {}
    for name in names:
        for place in _places(name, folders):
            target = os.path.realpath(place)
            many = os.path.basename(target) in _MANY_IN_ONE and os.path.basename(place) not in _MANY_IN_ONE
            if os.path.isfile(target) and target != kept and not many:
                state = os.stat(target)
                found[state.st_dev, state.st_ino] = target
    yield from found.values()
    linked = {mark for mark, target in found.items() if os.stat(target).st_nlink > 1}
    yield from (
        path for path in _files_in(folders if linked else ()) if _mark(path) in linked and path != kept
    )


def _places(name: str, folders: Iterable[str]) -> Iterator[str]:
    where = (os.path.dirname(name),) if "/" in name else tuple(folders)
    last = os.path.basename(name)
    if not last.endswith("*"):
        yield from (os.path.join(folder, last) for folder in where)
        return
    stem = re.sub(r"[\[?]", lambda special: f"[{special[0]}]", last)
    yield from (path for path in _files_in(where) if fnmatchcase(os.path.basename(path), stem))


def _files_in(folders: Iterable[str]) -> Iterator[str]:
    for folder in folders:
        try:
            yield from (entry.path for entry in os.scandir(folder))
        except OSError:
            continue  # A folder of PATH that is not there.


def _mark(path: str) -> tuple[int, int]:
    try:
        state = os.lstat(path)
    except OSError:
        return (0, 0)
    return (state.st_dev, state.st_ino)
