"""Whether a name judged by reputation is the system's program, and not one that the session can write."""

import os
import os.path
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from bridle.permissions.files.links import follow
from bridle.permissions.files.paths import is_inside
from bridle.permissions.session_path import command_path
from bridle.permissions.word_lists import listed
from bridle.types.shell import Part, Reading

BUILTINS = listed("""
    : . [ alias bg bind break builtin caller cd command compgen complete compopt continue declare dirs disown
    echo enable eval exec exit export false fc fg getopts hash help history jobs kill let local logout mapfile
    popd printf pushd pwd read readarray readonly return set shift shopt source suspend test time times trap
    true type typeset ulimit umask unalias unset wait noglob
""")
"""Bash runs these without looking for a file."""
_STARTS = {"egrep": "grep", "fgrep": "grep"}
"""Scripts of the system that look for another program themselves."""
_TEMPORARY = ("/tmp", "/var/tmp", "/dev/shm", "/private/tmp", "/run/shm")
_INTERPRETER = re.compile(rb"#![ \t]*([^\s]+)[ \t]*([^\n]*)")
_DEEPEST = 3

_Stamp: TypeAlias = tuple[int, int, int] | None


class Search(Struct, frozen=True):
    """Where bash looks for programs, and which folders the session may write."""

    path: tuple[str, ...]
    cwd: str
    writable: tuple[str, ...]
    _stamps: dict[str, _Stamp] = field(default_factory=dict)

    def stamp(self, path: str) -> _Stamp:
        """What tells one state of a folder or file from another, looked at once for a whole line."""
        if path not in self._stamps:
            self.is_file(path)
        return self._stamps[path]

    def is_file(self, path: str) -> bool:
        """Whether a path is a file now: one that becomes a program changes no folder."""
        try:
            found = os.stat(path)
        except (OSError, ValueError):
            self._stamps[path] = None
            return False
        self._stamps[path] = found.st_ino, found.st_mtime_ns, found.st_ctime_ns
        return stat.S_ISREG(found.st_mode)


def with_system_programs(
    reading: Reading, env: Mapping[str, str], *, cwd: str, home: str, writable: Sequence[str]
) -> Reading:
    """The reading with nothing left to reputation whose program is not the system's."""
    trusted = [part for part in reading.parts if (part.harmless or part.file_command) and _files(part)]
    if not trusted:
        return reading
    path = command_path(env, home=home)
    if path is None:
        return _doubted(reading, {part.text: _UNKNOWN_PATH for part in trusted})
    temporary = (*_TEMPORARY, *filter(None, (env.get("TMPDIR"),)))
    search = Search(path, cwd, tuple(dict.fromkeys((*writable, *temporary))))
    written = _written(reading)
    doubts: dict[str, str] = {}
    for part in trusted:
        reason = next(filter(None, (_doubt(name, search, written) for name in _files(part))), None)
        if reason is not None:
            doubts[part.text] = reason
    return _doubted(reading, doubts) if doubts else reading


_UNKNOWN_PATH = "the script sourced before each command may change which program runs"


def _doubted(reading: Reading, doubts: Mapping[str, str]) -> Reading:
    parts = tuple(
        replace(part, harmless=False, file_command=False, why=doubts[part.text])
        if part.text in doubts
        else part
        for part in reading.parts
    )
    return replace(reading, parts=parts)


def _files(part: Part) -> Iterator[str]:
    for name in part.programs:
        if name not in BUILTINS:
            yield name
            if (started := _STARTS.get(name.rpartition("/")[2])) is not None:
                yield started


def _written(reading: Reading) -> tuple[str, ...]:
    writes = {path for part in reading.parts for path in part.writes}
    return tuple(follow(path).target for path in writes)


def _doubt(name: str, search: Search, written: Sequence[str], depth: int = 0) -> str | None:
    """Why the program of this name is not to be trusted by its name; one that is not there does nothing."""
    found, relative = (name, False) if "/" in name else _find(name, search)
    for folder in _searched_first(found, search) if written else ():
        if any(is_inside(path, (folder,)) or is_inside(folder, (path,)) for path in written):
            return f"the command writes to {folder}, which is searched for {name}"
    if found is None or depth > _DEEPEST:
        return None if found is None else f"it is unclear what {name} runs"
    reason, interpreter = _looked_at(
        found, search.writable, (search.stamp(found), search.stamp(os.path.dirname(found)))
    )
    if relative:
        reason = "found in the command's own folder"
    if reason is not None:
        return f"{name} is {found}, {reason}"
    return None if interpreter is None else _doubt(interpreter, search, written, depth + 1)


def _searched_first(found: str | None, search: Search) -> Iterator[str]:
    """Folders on the way to a program in which the session could put another of its name."""
    for entry in search.path:
        folder = os.path.join(search.cwd, entry)
        if found is not None and os.path.dirname(found) == folder.rstrip("/"):
            return
        target = follow(folder).target
        if not os.path.isabs(entry) or is_inside(target, search.writable):
            yield target


def _find(name: str, search: Search) -> tuple[str | None, bool]:
    """The file that bash would start, and whether a relative folder of PATH has it."""
    try:
        for folder, relative in _folders(search.path, search.cwd):
            path = folder + name
            # Asked first, because of most folders on the way the answer is no, and that is no exception.
            if os.access(path, os.X_OK) and search.is_file(path):
                return path, relative
    except ValueError:
        return None, False  # No file can have such a name.
    return None, False


@lru_cache(maxsize=64)
def _folders(path: tuple[str, ...], cwd: str) -> tuple[tuple[str, bool], ...]:
    """The beginnings of the paths at which programs may be, each with whether it depends on the folder."""
    return tuple((os.path.join(cwd, entry, ""), not os.path.isabs(entry)) for entry in path)


@lru_cache(maxsize=1024)
def _looked_at(path: str, writable: tuple[str, ...], stamp: object) -> tuple[str | None, str | None]:
    """Why a file may belong to someone else, and the interpreter that it is run by if it is a script."""
    place = follow(path)
    for spelling in place.spellings:
        if is_inside(spelling, writable):
            return "in a folder that the session can write to", None
    if _open_to_all(place.target):
        return "in a folder that everyone can write to", None
    return None, _interpreter(place.target)


def _open_to_all(path: str) -> bool:
    """Whether any user may replace a file: it or its folder is open, or a folder above without protection."""
    folder, mode = os.path.dirname(path), _mode(path)
    if mode & stat.S_IWOTH or _mode(folder) & stat.S_IWOTH:
        return True
    while folder != (above := os.path.dirname(folder)):
        folder, mode = above, _mode(above)
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            return True
    return False


def _interpreter(path: str) -> str | None:
    try:
        with open(path, "rb") as file:
            found = _INTERPRETER.match(file.read(256))
    except OSError:
        return None
    if found is None:
        return None
    program, words = os.fsdecode(found[1]), os.fsdecode(found[2]).split()
    if os.path.basename(program) != "env":
        return program
    return next((word for word in words if not word.startswith("-") and "=" not in word), program)


def _mode(path: str) -> int:
    try:
        return os.stat(path).st_mode
    except OSError:
        return 0
