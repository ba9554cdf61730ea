"""The second wall of a session: one private folder, and the rules of the kernel for what its commands see."""

import os
import os.path
import shutil
from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from bridle.host.wall.bounds import Bounds
from bridle.host.wall.call_receiver import AllowedPaths
from bridle.host.wall.closed_files import closed_files, is_of_git, runs_git
from bridle.host.wall.closed_index import index_of
from bridle.host.wall.landlock import make_read_rules, make_rules
from bridle.host.wall.landlock_rules import without
from bridle.host.wall.read_openings import ReadOpenings
from bridle.host.wall.supervisor import Supervisor
from bridle.host.wall.visible_files import VisibleFiles, VisiblePaths
from bridle.types.sandbox import View

_MOST_RULES = 8
_PREFIX = "bridle-judged-"
_SYSTEM_LINKS = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")


class _ReadRules(Struct, frozen=True):
    """Rules of the kernel for reading, and for what they were made."""

    usual: dict[str, int]
    asked: object
    rules: int
    free: AllowedPaths


class Wall:
    """Made with the first judged command of a session; closed with the session."""

    def __init__(self) -> None:
        self.temporary = ""
        """The private folder that judged commands may write to."""
        self._places = VisibleFiles()
        self._rules: list[tuple[tuple[dict[str, int], object], int]] = []
        self._read_rules: _ReadRules | None = None

    def open(self) -> None:
        """Make the private folder, for the user alone and under a name that no one can guess.

        Raises:
            OSError: it cannot be made.
        """
        if self.temporary and os.path.isdir(self.temporary):
            return
        base = _temporary_base()
        _sweep(base)
        folder = os.path.join(base, f"{_PREFIX}{os.getpid()}-{os.urandom(8).hex()}")
        os.mkdir(folder, 0o700)
        self.temporary = folder

    def look(self, view: View, *, command: str, cwd: str, env: Mapping[str, str]) -> VisiblePaths:
        """What a command may see."""
        found = self._places.find(view, cwd=cwd, env=env, temporary=self.temporary, git="git" in command)
        if not view.unreadable or (closed := closed_files(view.unreadable, view.roots)) is None:
            return found
        paths = index_of(closed, view.roots).paths()
        if runs_git(command):
            paths = None if paths is None else tuple(path for path in paths if not is_of_git(path))
            closed = closed.but_for_git()
        return replace(found, closed=closed, closed_paths=paths)

    def supervisor(
        self,
        view: View,
        seen: VisiblePaths,
        *,
        env: Mapping[str, str],
        outputs: tuple[int, ...],
        landlock: bool,
    ) -> Supervisor:
        """What starts one command behind the wall; without Landlock, what it reads is not held.

        Raises:
            OSError: the kernel has no Landlock.
        """
        closed = seen.closed
        bounds = Bounds(view, temporary=self.temporary, home=env.get("HOME") or "/", closed=closed)
        if closed is None or seen.closed_paths == ():
            return Supervisor(self._rules_for(seen) if landlock else None, bounds, outputs=outputs)
        if landlock and view.level == "read" and (apart := self._rules_apart(seen)) is not None:
            return Supervisor(apart, bounds, outputs=outputs)
        # What a command makes itself is read by it, too, and rules cannot be added for that.
        rules = self._rules_for(seen) if landlock else None
        read_rules, free = self._read_rules_for(seen, view.roots)
        return Supervisor(
            rules,
            bounds,
            outputs=outputs,
            readings=ReadOpenings(closed.with_present(seen.closed_paths or ()), free),
            read_rules=read_rules if landlock else None,
        )

    def tidy(self) -> None:
        """Empty the private folder, when nothing that was started behind the wall still runs."""
        for entry in os.scandir(self.temporary) if self.temporary else ():
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path, ignore_errors=True)
            else:
                os.unlink(entry.path)

    def close(self) -> None:
        for _, rules in self._rules:
            os.close(rules)
        self._rules.clear()
        if self._read_rules is not None:
            os.close(self._read_rules.rules)
            self._read_rules = None
        if self.temporary:
            shutil.rmtree(self.temporary, ignore_errors=True)
            self.temporary = ""

    def _rules_for(self, seen: VisiblePaths) -> int:
        """Rules are about files and not names, so they are made again when a name stands for another file."""
        own = tuple((path, rights, _identity(path)) for path, rights in seen.own)
        return self._known_rules(seen.usual, own, seen.usual | dict(seen.own))

    def _known_rules(self, usual: dict[str, int], asked: object, places: dict[str, int]) -> int:
        for known, rules in self._rules:
            if known[0] is usual and known[1] == asked:
                return rules
        while len(self._rules) >= _MOST_RULES:
            os.close(self._rules.pop(0)[1])
        rules = make_rules(places.items())
        self._rules.append(((usual, asked), rules))
        return rules

    def _rules_apart(self, seen: VisiblePaths) -> int | None:
        """Rules that close single files; None when too much stands beside them, or they are too many."""
        if seen.closed_paths is None:
            return None
        own = tuple((path, rights, _identity(path)) for path, rights in seen.own)
        if (found := without(seen.usual | dict(seen.own), seen.closed_paths)) is None:
            return None
        places, files = found
        return self._known_rules(seen.usual, (own, seen.closed_paths, files), places)

    def _read_rules_for(self, seen: VisiblePaths, roots: Sequence[str]) -> tuple[int, AllowedPaths]:
        """Rules that close all files of the working folders, and the paths that stay open."""
        real = tuple(os.path.realpath(root) for root in roots)
        asked = (real, tuple((path, rights, _identity(path)) for path, rights in seen.own))
        if (known := self._read_rules) is not None:
            if known.usual is seen.usual and known.asked == asked:
                return known.rules, known.free
            os.close(known.rules)
            self._read_rules = None
        places = seen.apart_from(real)
        links = (f"{link}/" for link in _SYSTEM_LINKS if os.path.realpath(link) in places)
        free = tuple(f"{path}/" if os.path.isdir(path) else path for path in places)
        rules = make_read_rules(places)
        known = self._read_rules = _ReadRules(seen.usual, asked, rules, AllowedPaths((*free, *links)))
        return known.rules, known.free


def _temporary_base() -> str:
    """Where temporary folders go; unlike tempfile's answer it is found without writing a file to try."""
    named = os.environ.get("TMPDIR", "")
    usable = os.path.isabs(named) and os.path.isdir(named) and os.access(named, os.W_OK)
    return os.path.realpath(named if usable else "/tmp")


def _sweep(base: str) -> None:
    """Remove the folders that killed sessions of this user have left."""
    for entry in os.scandir(base):
        owner = entry.name.removeprefix(_PREFIX).partition("-")[0]
        if not entry.name.startswith(_PREFIX) or not owner.isdecimal() or entry.is_symlink():
            continue
        if entry.stat(follow_symlinks=False).st_uid == os.getuid() and not os.path.exists(f"/proc/{owner}"):
            shutil.rmtree(entry.path, ignore_errors=True)


def _identity(path: str) -> tuple[int, int] | None:
    try:
        facts = os.stat(path, follow_symlinks=False)
    except OSError:
        return None
    return facts.st_dev, facts.st_ino
