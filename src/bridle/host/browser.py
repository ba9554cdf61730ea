"""Opens a page in the user's browser."""

import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping

from bridle.host.programs import PROGRAMS, find_program

_OPENERS = ("open",) if sys.platform == "darwin" else ("xdg-open", "gio", "x-www-browser", "sensible-browser")
_MORE = {"gio": ("open",)}


def open_page(url: str, env: Mapping[str, str]) -> bool:
    """Start $BROWSER or the desktop's opener and do not wait for it; whether one could be started."""
    if not url.startswith(("https://", "http://")):
        return False
    for command in _commands(url, env):
        try:
            subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env=PROGRAMS.environment(env),
                start_new_session=True,
            )
        except OSError:
            continue
        return True
    return False


def _commands(url: str, env: Mapping[str, str]) -> Iterator[list[str]]:
    for chosen in filter(None, env.get("BROWSER", "").split(":")):
        try:
            program, *words = shlex.split(chosen)
        except ValueError:
            continue
        if (found := find_program(program, env)) is not None:
            filled = [word.replace("%s", url) for word in words]
            yield [found, *filled, *(() if "%s" in chosen else (url,))]
    for name in _OPENERS:
        if (found := find_program(name, env)) is not None:
            yield [found, *_MORE.get(name, ()), url]
