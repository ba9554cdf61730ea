"""Finds the programs that bridle starts for its own work, where no session can put another in their place."""

import os
import os.path
import stat
from collections.abc import Iterable, Mapping
from typing import Protocol
from weakref import WeakSet

from msgspec import Struct

_MOST_LINKS = 40
_FOREIGN = ("BASH_FUNC_", "DYLD_", "GCONV_", "GIT_", "LD_", "LUA_", "NODE_", "PERL", "PYTHON", "RUBY")
_CHANGE_PROGRAMS = frozenset({
    "BASH_ENV", "BASHOPTS", "CDPATH", "CLASSPATH", "ENV", "GLIBC_TUNABLES", "GLOBIGNORE", "IFS",
    "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "LESSOPEN", "LESSCLOSE", "LOCPATH", "NLSPATH", "OPENSSL_CONF",
    "PROMPT_COMMAND", "PS4", "RIPGREP_CONFIG_PATH", "SHELLOPTS", "TERMINFO", "TERMINFO_DIRS", "ZDOTDIR",
    "_JAVA_OPTIONS",
})  # fmt: skip
"""Variables that make a program run other code than its own, or read its input in another way."""
_PLAIN = ("HOME", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LOGNAME", "TERM", "TMPDIR", "TZ", "USER")

_Signature = tuple[int, ...]


class Roots(Protocol):
    """A session, as far as it matters here."""

    roots: tuple[str, ...]


class _Found(Struct, frozen=True):
    path: str
    signature: _Signature


class Programs:
    """What one process has found so far; a program that has changed since is looked for again."""

    def __init__(self) -> None:
        self._named: set[str] = set()
        self._writable: set[str] = set()
        self._sessions: WeakSet[Roots] = WeakSet()
        self._found: dict[tuple[str, str, int], _Found] = {}

    def keep_out_of(self, folders: Iterable[str]) -> None:
        """Never take a program from folders that a session works in, nor from repositories around them.

        It holds for as long as the process runs, because what was left there stays.
        """
        for folder in folders:
            if folder not in self._named:
                self._named.add(folder)
                self._writable |= _spellings(folder) - {os.sep}

    def watch(self, session: "Roots") -> None:
        """Keep out of whatever folders a session works in, now and later."""
        self._sessions.add(session)
        self._look()

    def find(self, name: str, env: Mapping[str, str], *, writable: Iterable[str] = ()) -> str | None:
        """The first program of this name on the PATH that only root and the user can have put there.

        `writable` are folders that a session may change, besides those named before.
        """
        self.keep_out_of(writable)
        self._look()
        if os.path.isabs(name):
            return name if self.is_safe(name) else None
        if os.sep in name:
            return None
        key = (name, env.get("PATH", os.defpath), len(self._writable))
        known = self._found.get(key)
        if known is not None and _signature(known.path) == known.signature:
            return known.path
        for folder in self._folders(env):
            path = os.path.join(folder, name)
            if self.is_safe(path) and (signature := _signature(path)) is not None:
                self._found[key] = _Found(path, signature)
                return path
        self._found.pop(key, None)
        return None

    def is_safe(self, path: str) -> bool:
        """Whether only root and the user can change what is started under this absolute path."""
        if not os.path.isabs(path) or not os.access(path, os.X_OK):
            return False
        passed = _passed(path)
        if not passed or not stat.S_ISREG(passed[-1][1].st_mode) or passed[-1][1].st_mode & stat.S_IWOTH:
            return False
        return all(self._is_firm(place, facts) for place, facts in passed) and not _is_open(
            os.path.dirname(passed[-1][0])
        )

    def environment(self, env: Mapping[str, str]) -> dict[str, str]:
        """The environment for a program of ours: nothing in it brings code of others into the program."""
        kept = {
            name: value
            for name, value in env.items()
            if name not in _CHANGE_PROGRAMS and not name.upper().startswith(_FOREIGN)
        }
        return {**kept, "PATH": os.pathsep.join(self.search_path(env))}

    def plain_environment(self, env: Mapping[str, str]) -> dict[str, str]:
        """The least that a program needs which only reads files."""
        kept = {name: env[name] for name in _PLAIN if name in env}
        return {**kept, "PATH": os.pathsep.join(self.search_path(env))}

    def search_path(self, env: Mapping[str, str]) -> list[str]:
        """The folders of the PATH in which no session can write."""
        return [folder for folder in self._folders(env) if self._is_outside(folder)]

    def _look(self) -> None:
        for session in self._sessions:
            self.keep_out_of(session.roots)

    def _folders(self, env: Mapping[str, str]) -> list[str]:
        # A relative or empty entry would let the current directory say which program runs.
        return [folder for folder in env.get("PATH", os.defpath).split(os.pathsep) if os.path.isabs(folder)]

    def _is_outside(self, folder: str) -> bool:
        spellings = (os.path.normpath(folder), os.path.realpath(folder))
        return not any(_is_inside(spelling, each) for spelling in spellings for each in self._writable)

    def _is_firm(self, place: str, facts: os.stat_result) -> bool:
        """Whether one step on the way to a program stays as it is."""
        if facts.st_uid not in _owners() or any(_is_inside(place, folder) for folder in self._writable):
            return False
        open_to_all = stat.S_ISDIR(facts.st_mode) and facts.st_mode & stat.S_IWOTH
        return not open_to_all or bool(facts.st_mode & stat.S_ISVTX)


PROGRAMS = Programs()
"""The finder of this process."""


def find_program(name: str, env: Mapping[str, str], *, writable: Iterable[str] = ()) -> str | None:
    """A program for bridle's own work, by its absolute path; see `Programs.find`."""
    return PROGRAMS.find(name, env, writable=writable)


def require_program(name: str, env: Mapping[str, str], *, writable: Iterable[str] = ()) -> str:
    """A program for bridle's own work, by its absolute path; see `Programs.find`.

    Raises:
        FileNotFoundError: there is none that can be relied on.
    """
    if (found := find_program(name, env, writable=writable)) is None:
        raise FileNotFoundError(2, f"{name} not found on the PATH (working folders are not searched)", name)
    return found


def _passed(path: str) -> list[tuple[str, os.stat_result]]:
    """Every folder, link and file that is passed on the way to a path's end; empty when it leads nowhere."""
    passed: list[tuple[str, os.stat_result]] = []
    ahead = [part for part in reversed(path.split(os.sep)) if part not in ("", ".")]
    here, links = os.sep, 0
    while ahead:
        part = ahead.pop()
        if part == os.pardir:
            here = os.path.dirname(here)
            continue
        place = os.path.join(here, part)
        try:
            facts = os.lstat(place)
            target = os.readlink(place) if stat.S_ISLNK(facts.st_mode) else None
        except OSError:
            return []
        passed.append((place, facts))
        if target is None:
            here = place
            continue
        links += 1
        if links > _MOST_LINKS:
            return []
        here = os.sep if os.path.isabs(target) else here
        ahead += [each for each in reversed(target.split(os.sep)) if each not in ("", ".")]
    return passed


def _spellings(folder: str) -> set[str]:
    """A folder as it was named and where it is, each with the top of the repository around it."""
    named = {os.path.abspath(folder), os.path.realpath(folder)}
    home = os.path.expanduser("~")
    # Many keep their home in a repository; programs of the user's own are there, too.
    return named | ({top for each in named if (top := _repository(each))} - {home, os.path.realpath(home)})


def _repository(folder: str) -> str | None:
    """The top of the repository around a folder."""
    while not os.path.lexists(os.path.join(folder, ".git")):
        folder, below = os.path.dirname(folder), folder
        if folder == below:
            return None
    return folder


def _is_inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder + os.sep)


def _is_open(folder: str) -> bool:
    """Whether anyone may put files into a folder."""
    try:
        return bool(os.stat(folder).st_mode & stat.S_IWOTH)
    except OSError:
        return True


def _owners() -> frozenset[int]:
    """Whose programs may be run: root's, the user's, and those of the owner of a container's system."""
    return frozenset((0, os.geteuid(), os.stat(os.sep).st_uid))


def _signature(path: str) -> _Signature | None:
    try:
        facts, link = os.stat(path), os.lstat(path)
    except OSError:
        return None
    return (
        facts.st_dev, facts.st_ino, facts.st_size, facts.st_mode, facts.st_mtime_ns, facts.st_ctime_ns,
        link.st_ino, link.st_ctime_ns,
    )  # fmt: skip
