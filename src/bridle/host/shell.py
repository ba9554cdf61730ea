"""The shell that runs commands: which program, in what environment, with what around the command."""

import os
import os.path
import re
from collections.abc import Mapping

from bridle.host.programs import PROGRAMS
from bridle.types.variables import is_on

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


def command_line(
    bash: str,
    command: str,
    *,
    report_to: int | None = None,
    before: str | None = None,
    judged: bool = False,
    prefix: str = "",
) -> list[str]:
    """The arguments that run a command without anyone's aliases or functions.

    The directory where the shell ends is written to the descriptor `report_to`, ended by a NUL; `before` is a
    script to source first. A judged command gets what that exports as little as other variables. `prefix` is
    a program that runs the command, which it gets as one word.
    """
    steps: list[str] = []
    if before is not None:
        steps.append(f". {quote(before)}")
        if judged:
            from bridle.host.wall.environment import forgetting

            steps.append(forgetting())
    if report_to is not None:
        report = f"trap '' PIPE; builtin pwd -P >&{report_to}; builtin printf '\\0' >&{report_to}"
        steps.append(f"trap {quote(f'{{ {report}; }} 2>/dev/null')} EXIT")
    steps.append(f"{prefix} {quote(command)}" if prefix else f"eval -- {quote(command)}")
    # On one line, so that the shell counts the command's own lines in what it says about it.
    return [bash, "--norc", "--noprofile", "-c", "; ".join(steps), "bash"]


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
        "PWD": cwd,
        "CLAUDECODE": "1",
        "CLAUDE_CODE_SESSION_ID": session_id,
        "CLAUDE_CODE_CHILD_SESSION": "1",
        "CLAUDE_PID": str(os.getpid()),
        "GIT_EDITOR": "true",
    }


def quote(text: str) -> str:
    """The text as one word of a shell."""
    return "'" + text.replace("'", "'\\''") + "'"
