"""Variables by what setting them can do to the commands that follow."""

import re

from bridle.permissions.word_lists import listed

_HARMLESS = re.compile(
    r"NODE_ENV|CI|LANG|LANGUAGE|LC_[A-Z]+|TZ|NO_COLOR|FORCE_COLOR|CLICOLOR|CLICOLOR_FORCE|COLUMNS|LINES|TERM"
    r"|COLORTERM|LOG_LEVEL|RUST_LOG|RUST_BACKTRACE|CARGO_TERM_COLOR|GOOS|GOARCH|CGO_ENABLED|PYTHONUNBUFFERED"
    r"|PYTHONDONTWRITEBYTECODE|PYTHONIOENCODING|PYTHONUTF8|PYTHONHASHSEED|NODE_NO_WARNINGS|DO_NOT_TRACK"
    r"|NEXT_TELEMETRY_DISABLED|RAILS_ENV|RACK_ENV|APP_ENV|FLASK_ENV|DEBIAN_FRONTEND|PORT"
)
_DANGEROUS = re.compile(
    r"PATH|.*_PATH|.*PATH|LD_.*|DYLD_.*|BASH.*|ENV|IFS|PS\d|PROMPT_COMMAND|GIT_.*|.*EDITOR|VISUAL|.*PAGER|HOME"
    r"|PWD|OLDPWD|SHELL|SHELLOPTS|GLOBIGNORE|GLOBSORT|TMPDIR|TMP|TEMP|LESS.*|LOCPATH|NLSPATH|TERMINFO.*|XDG_.*"
    r"|SSH_.*|.*_PROXY|.*_proxy|PERL.*|RUBY.*|PYTHON.*|NODE_.*|NPM_.*|npm_.*|JAVA_.*|_JAVA.*|CLASSPATH|GREP_.*"
    r"|RIPGREP_.*|TAR_OPTIONS|POSIXLY_CORRECT|COMMAND_MODE|FCEDIT|HIST.*|INPUTRC|MAIL.*|OPT.*|TIMEFORMAT|EXECIGNORE"
    r"|FIGNORE|FUNCNEST|DIRSTACK|COMP.*|COPROC|CHILD_MAX|UID|EUID|PPID|_|JQ_.*|AWK.*|GAWK.*|DOCKER_.*|KUBE.*"
    r"|AWS_.*|GOFLAGS|GO.*|CARGO_.*|RUST.*|MAKE.*|CC|CXX|.*FLAGS|BROWSER|DISPLAY|CLAUDE.*|ANTHROPIC.*|BRIDLE.*"
)


_NAMES_FILES = re.compile(r"LANG|LANGUAGE|LC_[A-Z]+|TZ|TERM")
"""Libraries read files of that name, which may be any with a slash in it: catalogs hold printing formats."""
PAGERS = frozenset({"PAGER", "GIT_PAGER"})
"""Harmless where they name `cat`."""


def is_harmless(name: str) -> bool:
    """Whether a command may be started with this variable set and still be what it was."""
    return _HARMLESS.fullmatch(name) is not None


def is_harmless_as(name: str, value: str, *, literal: bool = True) -> bool:
    """Whether one value of a variable is harmless; of one that names files, it must be known and plain."""
    if name in PAGERS:
        return literal and value == "cat"
    if _NAMES_FILES.fullmatch(name) is not None:
        odd = "/" in value if name != "TZ" else value.startswith(("/", ":")) or ".." in value
        return literal and not odd
    return is_harmless(name)


def may_be_set(name: str) -> bool:
    """Whether a shell variable of this name changes no command that follows."""
    return is_harmless(name) or _DANGEROUS.fullmatch(name) is None


_SHOWN = listed("""
    HOME PWD OLDPWD USER LOGNAME SHELL PATH LANG TERM HOSTNAME UID EUID PPID RANDOM SECONDS LINENO
    BASH_VERSION OSTYPE MACHTYPE HOSTTYPE COLUMNS LINES IFS TMPDIR EDITOR REPLY BASHPID EPOCHSECONDS
""")


def may_be_shown(name: str) -> bool:
    """Whether a variable of the environment holds nothing that should not be printed."""
    return name in _SHOWN or is_harmless(name)
