"""Finds the program that searches files."""

import os
import os.path
import sys
from collections.abc import Iterable, Mapping

from bridle.host.programs import PROGRAMS, find_program
from bridle.types.variables import is_off

_STAND_IN = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); "
    "from bridle.host.ripgrep_fallback import main; sys.exit(main(sys.argv[1:]))"
)
_CODE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def search_command(env: Mapping[str, str], *, writable: Iterable[str] = ()) -> list[str]:
    """The first words of a search: ripgrep, or a slower script that takes the same options.

    `writable` are the folders that the session works in: no program is taken from there.
    """
    if (found := find_ripgrep(env, writable=writable)) is not None:
        # A user's configuration may run programs and changes what we read back.
        return [found, "--no-config"]
    return [sys.executable, "-I", "-S", "-c", _STAND_IN, _CODE]


def search_environment(env: Mapping[str, str]) -> dict[str, str]:
    """What a search finds in its environment: no configuration, and no code of others."""
    return PROGRAMS.plain_environment(env)


def find_ripgrep(env: Mapping[str, str], *, writable: Iterable[str] = ()) -> str | None:
    """The `rg` installed with bridle, unless USE_BUILTIN_RIPGREP=0 rules that out, else the system's."""
    PROGRAMS.keep_out_of(writable)
    if not is_off(env, "USE_BUILTIN_RIPGREP"):
        folders = (os.path.dirname(sys.executable), os.path.join(sys.prefix, "bin"))
        own = (os.path.join(folder, "rg") for folder in folders)
        if (found := next(filter(PROGRAMS.is_safe, own), None)) is not None:
            return found
    return find_program("rg", env)
