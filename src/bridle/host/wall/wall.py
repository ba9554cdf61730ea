"""The second wall of a session: one private folder, and the rules of the kernel for what its commands see."""

import os
import os.path
import shutil
from collections.abc import Mapping

from bridle.host.wall.bounds import Bounds
from bridle.host.wall.landlock import make_rules
from bridle.host.wall.supervisor import Supervisor
from bridle.host.wall.visible_files import VisibleFiles, VisiblePaths
from bridle.types.sandbox import View

_MOST_RULES = 8
_PREFIX = "bridle-judged-"


class Wall:
    """Made with the first judged command of a session; closed with the session."""

    def __init__(self) -> None:
        self.temporary = ""
        """The private folder that judged commands may write to."""
        self._places = VisibleFiles()
        self._rules: list[tuple[tuple[dict[str, int], object], int]] = []

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
        return self._places.find(view, cwd=cwd, env=env, temporary=self.temporary, git="git" in command)

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
        bounds = Bounds(view, temporary=self.temporary, home=env.get("HOME") or "/")
        return Supervisor(self._rules_for(seen) if landlock else None, bounds, outputs=outputs)

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
        if self.temporary:
            shutil.rmtree(self.temporary, ignore_errors=True)
            self.temporary = ""

    def _rules_for(self, seen: VisiblePaths) -> int:
        """Rules are about files and not names, so they are made again when a name stands for another file."""
        own = tuple((path, rights, _identity(path)) for path, rights in seen.own)
        for known, rules in self._rules:
            if known[0] is seen.usual and known[1] == own:
                return rules
        while len(self._rules) >= _MOST_RULES:
            os.close(self._rules.pop(0)[1])
        rules = make_rules((seen.usual | dict(seen.own)).items())
        self._rules.append(((seen.usual, own), rules))
        return rules


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
