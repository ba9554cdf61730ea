"""Finds the program that searches files."""

import os
import os.path
import sys
from collections.abc import Mapping

_STAND_IN = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); "
    "from bridle.host.ripgrep_stand_in import main; sys.exit(main(sys.argv[1:]))"
)
_CODE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def search_command(env: Mapping[str, str]) -> list[str]:
    """The first words of a search: ripgrep, or a slower script that takes the same options."""
    if (found := find_ripgrep(env)) is not None:
        # A user's configuration may run programs and changes what we read back.
        return [found, "--no-config"]
    return [sys.executable, "-I", "-S", "-c", _STAND_IN, _CODE]


def find_ripgrep(env: Mapping[str, str]) -> str | None:
    """The system's `rg`, else the one installed beside this Python; USE_BUILTIN_RIPGREP=0 rules that out."""
    for folder in env.get("PATH", "").split(os.pathsep):
        # A relative entry would let the current directory say which program runs.
        if os.path.isabs(folder) and _is_program(path := os.path.join(folder, "rg")):
            return path
    if env.get("USE_BUILTIN_RIPGREP", "").lower() in ("0", "false", "no", "off"):
        return None
    own = (os.path.join(folder, "rg") for folder in (os.path.dirname(sys.executable), f"{sys.prefix}/bin"))
    return next((path for path in own if os.path.isabs(path) and _is_program(path)), None)


def _is_program(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)
