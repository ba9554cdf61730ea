"""The shell that runs commands: which program, in what environment, with what around the command."""

import os
import os.path
import re
import sys
from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from bridle.host.programs import PROGRAMS
from bridle.types.services.startup import Startup
from bridle.types.variables import is_on
from bridle.version import __version__

_PLACES = (
    "/bin/bash",
    "/usr/bin/bash",
    "/usr/local/bin/bash",
    "/opt/homebrew/bin/bash",
    "/opt/local/bin/bash",
)
_CHANGE_THE_LANGUAGE = frozenset(
    ("BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "BASH_COMPAT", "POSIXLY_CORRECT", "CDPATH", "GLOBIGNORE")
)
"""Variables that give checked words another meaning in the shell that reads them."""


_MEMORY = "CLAUDE_CODE_TOOL_MEMORY_LIMIT"
_SIZE = re.compile(r"(\d{1,15})([kmgtKMGT]?)(?:i?[bB])?", re.ASCII)
_SCRUB = "CLAUDE_CODE_SUBPROCESS_ENV_SCRUB"
_CREDENTIAL = re.compile(
    r"\w*_(?:API_?KEY|AUTH_TOKEN|OAUTH_(?:REFRESH_)?TOKEN|ACCESS_KEY(?:_ID)?|ACCESS_TOKEN|SECRET(?:_\w+)?"
    r"|SESSION_TOKEN|BEARER_TOKEN\w*|CREDENTIALS|CUSTOM_HEADERS|PASSWORD|CLIENT_KEY\w*)"
)
"""Names of variables with credentials of model services and clouds."""


def command_prefix(env: Mapping[str, str]) -> str:
    """The program that the user has every command run by."""
    return env.get("CLAUDE_CODE_SHELL_PREFIX", "").strip()


def find_bash(env: Mapping[str, str]) -> str | None:
    """The bash that the user chose, else the system's; other shells are not what commands are checked for."""
    chosen = env.get("CLAUDE_CODE_SHELL", "")
    places = (chosen, *_PLACES) if os.path.basename(chosen) == "bash" else _PLACES
    return next((path for path in places if PROGRAMS.is_safe(path)), None)


class ShellSetup(Struct, frozen=True, kw_only=True):
    """What is around a command of the model in its shell."""

    before: str | None = None
    """A script to source first."""
    prefix: str = ""
    """A program that runs the command, which it gets as one word."""
    startup: Startup | None = None
    """What the user's start-up files define."""
    memory: int | None = None
    """How many bytes of its own each process may have."""


_PLAIN_SHELL = ShellSetup()


def memory_limit(env: Mapping[str, str]) -> int | None:
    """The bytes that the user lets each process of a command have.

    Raises:
        ValueError: the variable is no size.
    """
    text = env.get(_MEMORY, "").strip()
    if not text:
        return None
    if (found := _SIZE.fullmatch(text)) is None or not int(found[1]):
        raise ValueError(
            f"{_MEMORY}={text!r} is not a size; write a number of bytes, or one such as 512M or 4G."
        )
    return int(found[1]) * 1024 ** " KMGT".index(found[2].upper() or " ")


def command_line(
    bash: str,
    command: str,
    *,
    report_to: int | None = None,
    judged: bool = False,
    setup: ShellSetup = _PLAIN_SHELL,
) -> list[str]:
    """The arguments that run a command, without any aliases or functions but those of start-up files.

    The directory where the shell ends is written to the descriptor `report_to`, ended by a NUL. A judged
    command gets what the script before it exports as little as other variables.
    """
    steps: list[str] = []
    zsh, startup = None, setup.startup
    if setup.memory is not None:
        steps.append(f"ulimit -d {max(1, setup.memory // 1024)}")
    if startup is not None:
        zsh = startup.program
        steps += _started(startup, command)
    if setup.before is not None:
        steps.append(f". {quote(setup.before)}")
        if judged:
            from bridle.host.wall.environment import forgetting

            steps.append(forgetting())
    if report_to is not None:
        report = f"trap '' PIPE; builtin pwd -P >&{report_to}; builtin printf '\\0' >&{report_to}"
        steps.append(f"trap {quote(f'{{ {report}; }} 2>/dev/null')} EXIT")
    steps.append(f"{setup.prefix} {quote(command)}" if setup.prefix else f"eval -- {quote(command)}")
    # On one line, so that the shell counts the command's own lines in what it says about it.
    if zsh is not None:
        return [zsh, "--emulate", "sh", "-f", "-c", "; ".join(steps), "zsh"]
    return [bash, "--norc", "--noprofile", "-c", "; ".join(steps), "bash"]


def _started(startup: Startup, command: str) -> list[str]:
    """The steps by which a shell learns what the user's start-up files define."""
    steps = [f"set -o {' -o '.join(startup.options)}"] if startup.options else []
    if not startup.is_used_by(command):
        return steps
    script = f". {quote(startup.script)}"
    # Functions of zsh keep its options, and the command those of sh.
    return [*steps, f"emulate zsh -c {quote(script)}" if startup.shell == "zsh" else script]


def shell_environment(env: Mapping[str, str], *, cwd: str, session_id: str) -> dict[str, str]:
    """What a command of the model finds in its environment."""
    kept = {
        name: value
        for name, value in env.items()
        if name not in _CHANGE_THE_LANGUAGE and not name.startswith("BASH_FUNC_")
    }
    if is_on(env, _SCRUB):
        kept = {name: value for name, value in kept.items() if not _CREDENTIAL.fullmatch(name)}
    return {
        **kept,
        **child_markers("agent"),
        "PWD": cwd,
        "CLAUDE_CODE_SESSION_ID": session_id,
        "CLAUDE_CODE_CHILD_SESSION": "1",
        "CLAUDE_CODE_EXECPATH": own_program(),
        "CLAUDE_PID": str(os.getpid()),
        "GIT_EDITOR": "true",
    }


def child_markers(part: Literal["agent", "harness"]) -> dict[str, str]:
    """By which a program knows what has started it: a command of the model, or bridle on its own account."""
    return {"CLAUDECODE": "1", "AI_AGENT": f"bridle_{__version__.replace('.', '-')}_{part}"}


def own_program() -> str:
    """The program that this process was started with."""
    started = os.path.abspath(sys.argv[0]) if sys.argv and sys.argv[0] else ""
    return started if os.access(started, os.X_OK) and os.path.isfile(started) else sys.executable


def quote(text: str) -> str:
    """The text as one word of a shell."""
    return "'" + text.replace("'", "'\\''") + "'"
