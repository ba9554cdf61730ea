"""The PATH of a session's commands: its environment's, changed by the script that is read before each."""

import os
import os.path
import re
from collections.abc import Mapping

_DEFAULT = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:."
"""What bash takes when there is none; some builds look in the current folder last."""
_SCRIPT = "CLAUDE_ENV_FILE"
_MOST = 256 * 1024
_DEEPEST = 3
_SHOWN = r"\$\{?(?:PATH|HOME)\b\}?"
_VALUE = (
    rf"""(?:'[^']*'|\$'(?:[^'\\]|\\['\\nrt])*'|"(?:[^"$`\\]|\\["\\$`]|{_SHOWN})*"|{_SHOWN}"""
    r"|[\w./:=,+@%^-])*"
)
_STATEMENT = re.compile(
    rf"[\s;]*(?:#[^\n]*|unset [A-Za-z_]\w*|export [A-Za-z_]\w*|(?:\.|source) (?P<script>'[^']*'|[\w./-]+)"
    rf"|(?:export |declare -x )?(?P<name>[A-Za-z_]\w*)=(?P<value>{_VALUE}))[ \t]*(?=[;\n]|\Z)",
    re.ASCII,
)
_PIECE = re.compile(
    r"""'(?P<single>[^']*)'|\$'(?P<ansi>(?:[^'\\]|\\.)*)'|(?P<quote>")|\$\{?(?P<shown>PATH|HOME)\b\}?"""
    r"|\\(?P<escaped>.)|(?P<plain>[^'\"$\\]+)"
)
_CHANGES_MEANING = frozenset(
    {"BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "POSIXLY_CORRECT", "GLOBIGNORE", "IFS"}
)


def command_path(env: Mapping[str, str], *, home: str) -> tuple[str, ...] | None:
    """Where bash looks for programs, in order; None when the script may do more than can be followed."""
    path = env.get("PATH", _DEFAULT)
    script = env.get(_SCRIPT)
    found = _after(script, path, home) if script else path
    return None if found is None else tuple(found.split(":"))


def _after(script: str, path: str, home: str, depth: int = 0) -> str | None:
    """The PATH after a script of plain assignments; None when it is more than that."""
    if depth > _DEEPEST:
        return None
    try:
        with open(script, encoding="utf-8") as file:
            text = file.read(_MOST + 1)
    except FileNotFoundError:
        return path
    except (OSError, UnicodeDecodeError):
        return None
    position = 0
    while position < len(text):
        found = _STATEMENT.match(text, position)
        if found is None:
            return path if not text[position:].strip(" \t\n;") else None
        position = found.end()
        if (other := found["script"]) is not None:
            changed = _after(os.path.join("/", other.strip("'")), path, home, depth + 1)
            if changed is None or not os.path.isabs(other.strip("'")):
                return None
            path = changed
        elif found["name"] in _CHANGES_MEANING:
            return None
        elif found["name"] == "PATH":
            path = _filled_in(found["value"], path, home)
    return path if len(text) <= _MOST else None


def _filled_in(value: str, path: str, home: str) -> str:
    made: list[str] = []
    for piece in _PIECE.finditer(value):
        match piece.lastgroup:
            case "shown":
                made.append(path if piece["shown"] == "PATH" else home)
            case "quote" | None:
                continue
            case group:
                made.append(piece[group])
    return "".join(made)
