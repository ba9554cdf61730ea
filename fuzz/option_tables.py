"""Commands with every option that the installed programs name in their help, in the tables or not."""

import random
import re
import shutil
import subprocess
from functools import cache

from bridle.permissions.shell.programs.git_commands import SUBCOMMANDS
from bridle.permissions.shell.programs.read_commands import PLAIN
from bridle.permissions.shell.programs.small_languages import PROGRAMS

_OPTION = re.compile(r"(?<![\w-])(--[a-z][\w-]+|-[A-Za-z0-9])(?![\w])")
_VALUES = (
    "a.txt", "pwned", "../outside/secret.txt", "link-out", "1", "x", "-", "--", "/dev/stdin", "dirlink",
    "src", ".env", "touch pwned", "'touch pwned'", "-o", "--from-file=../outside/secret.txt", "*.txt",
    "~/.profile", "''", "0", "HEAD", "a.gz", "a.tar", "a.zip",
)  # fmt: skip
_NEVER = frozenset({"sleep", "wait", "jobs", "times", "read"})
"""Programs that wait, and builtins without a help of their own."""


class OptionMaker:
    """Puts options, values and operands together."""

    def __init__(self, choose: random.Random) -> None:
        self._choose = choose
        self._programs = options_of_programs()
        self._names = tuple(self._programs)

    def command(self) -> str:
        choose = self._choose
        name = choose.choice(self._names)
        words = [name]
        for _ in range(choose.choice((1, 1, 1, 2, 2, 3))):
            option = choose.choice(self._programs[name])
            chance = choose.random()
            if chance < 0.4:
                words.append(option)
            elif chance < 0.6:
                words += [option, choose.choice(_VALUES)]
            elif option.startswith("--"):
                # Long options may be cut short as long as they stay unique.
                cut = option[: choose.randint(4, len(option))] if chance < 0.7 else option
                words.append(f"{cut}={choose.choice(_VALUES)}")
            else:
                words.append(option + choose.choice((*_VALUES, choose.choice(self._programs[name])[1:2])))
        for _ in range(choose.randrange(3)):
            words.append(choose.choice(_VALUES))
        return " ".join(words)


@cache
def options_of_programs() -> dict[str, tuple[str, ...]]:
    """Every program of the read-only tables that is installed, with the options in its help."""
    found: dict[str, tuple[str, ...]] = {}
    for name in sorted({*PLAIN, *PROGRAMS} - _NEVER):
        if path := shutil.which(name, path="/usr/bin:/bin"):
            found[name] = _options([path, "--help"])
    if git := shutil.which("git", path="/usr/bin:/bin"):
        for name in sorted(SUBCOMMANDS):
            found[f"git {name}"] = _options([git, *name.split(), "-h"])
    return found


def _options(argv: list[str]) -> tuple[str, ...]:
    try:
        told = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=5,
            check=False,
            errors="replace",
        )
    except (OSError, subprocess.TimeoutExpired):
        return ("-a", "--help")
    names = dict.fromkeys(_OPTION.findall(told.stdout + told.stderr))
    letters = (f"-{letter}" for letter in "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
    return tuple(dict.fromkeys((*names, *letters)))
