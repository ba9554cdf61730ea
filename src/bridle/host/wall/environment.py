"""The environment of a judged command: what programs need to work and to look right, and no secrets."""

import re
from collections.abc import Mapping, Sequence

_KEPT = frozenset({
    "HOME", "PWD", "OLDPWD", "USER", "LOGNAME", "SHELL", "PATH", "LANG", "LANGUAGE", "TERM",
    "COLORTERM", "TERM_PROGRAM", "HOSTNAME", "TZ", "COLUMNS", "LINES", "TMPDIR", "EDITOR", "VISUAL",
    "SHLVL", "UID", "EUID", "OSTYPE", "MACHTYPE", "HOSTTYPE", "IFS", "REPLY", "MAIL", "NO_COLOR",
    "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "LS_COLORS", "LSCOLORS", "GREP_COLORS", "GREP_COLOR",
    "JQ_COLORS", "TREE_COLORS", "GCC_COLORS", "TIME_STYLE", "QUOTING_STYLE", "BLOCK_SIZE", "BLOCKSIZE",
    "TABSIZE", "POSIX_ME_HARDER", "NODE_ENV", "CI", "LOG_LEVEL", "RUST_LOG", "RUST_BACKTRACE",
    "CARGO_TERM_COLOR", "GOOS", "GOARCH", "CGO_ENABLED", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE",
    "PYTHONIOENCODING", "PYTHONUTF8", "PYTHONHASHSEED", "NODE_NO_WARNINGS", "DO_NOT_TRACK",
    "NEXT_TELEMETRY_DISABLED", "RAILS_ENV", "RACK_ENV", "APP_ENV", "FLASK_ENV", "DEBIAN_FRONTEND",
    "PORT", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_DATA_DIRS",
    "XDG_CONFIG_DIRS", "VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV", "CONDA_EXE",
    "CONDA_PYTHON_EXE", "PYENV_ROOT", "PYENV_VERSION", "PYENV_SHELL", "NVM_DIR", "NVM_BIN", "NVM_INC",
    "RBENV_ROOT", "RBENV_VERSION", "ASDF_DIR", "ASDF_DATA_DIR", "MISE_DATA_DIR", "VOLTA_HOME",
    "PNPM_HOME", "BUN_INSTALL", "DENO_INSTALL", "JAVA_HOME", "GOPATH", "GOROOT", "CARGO_HOME",
    "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "PYTHONPATH", "PYTHONHOME", "PYTHONUSERBASE", "PERL5LIB",
    "RUBYLIB", "GEM_HOME", "GEM_PATH", "MANPATH", "INFOPATH", "LD_LIBRARY_PATH", "LOCALE_ARCHIVE",
    "LOCPATH", "NLSPATH", "TERMINFO", "TERMINFO_DIRS", "NIX_PATH", "NIX_PROFILES", "HOMEBREW_PREFIX",
    "HOMEBREW_CELLAR", "HOMEBREW_REPOSITORY", "MAGIC", "RIPGREP_CONFIG_PATH", "TZDIR",
    "DF_BLOCK_SIZE", "DU_BLOCK_SIZE", "LS_BLOCK_SIZE", "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE",
    "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM", "GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM", "GIT_EDITOR",
    "CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_CHILD_SESSION", "CLAUDE_PROJECT_DIR",
})  # fmt: skip
"""Every variable that the gate lets a command show, and what programs and their runtimes are found by."""
_KEPT_KINDS = re.compile(r"LC_[A-Z]+")
_SEARCHED = ("PATH", "LD_LIBRARY_PATH", "PYTHONPATH", "PERL5LIB", "RUBYLIB")
_MENTIONS_CONFIGURATION = re.compile(r"\bconfig\b")

_QUIET = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    "NO_UPDATE_NOTIFIER": "1",
    "npm_config_update_notifier": "false",
    "npm_config_logs_max": "0",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "PIP_NO_CACHE_DIR": "1",
    "PIP_CONFIG_FILE": "/dev/null",
    "npm_config_userconfig": "/dev/null",
    "AWS_CONFIG_FILE": "/dev/null",
    "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
}
"""Keeps programs from writing what they could do without, such as caches, logs and refreshed indexes, and
from reading configuration that holds credentials and says nothing about what is asked."""
_ELSEWHERE = {"npm_config_cache": "npm", "DOCKER_CONFIG": "docker", "GH_CONFIG_DIR": "gh"}
"""Variables that are set to folders that do not exist."""


def judged_environment(
    env: Mapping[str, str], *, command: str, temporary: str, roots: Sequence[str]
) -> dict[str, str]:
    """What of an environment a judged command gets."""
    kept = {name: value for name, value in env.items() if is_kept(name)}
    for name in _SEARCHED:
        if name in kept:
            kept[name] = ":".join(_absolute(kept[name], roots if name == "LD_LIBRARY_PATH" else ()))
    if not kept.get("LD_LIBRARY_PATH", "x"):
        del kept["LD_LIBRARY_PATH"]
    if "TMPDIR" not in command:
        kept["TMPDIR"] = temporary
    kept |= {**_QUIET, **{name: f"{temporary}/{folder}" for name, folder in _ELSEWHERE.items()}}
    if not _MENTIONS_CONFIGURATION.search(command):
        # A file system monitor is a program that the repository names, or a server that would be started.
        kept |= {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.fsmonitor", "GIT_CONFIG_VALUE_0": "false"}
    return kept


def is_kept(name: str) -> bool:
    """Whether a variable reaches judged commands."""
    return name in _KEPT or _KEPT_KINDS.fullmatch(name) is not None


def forgetting() -> str:
    """A step of the shell that forgets what a script has exported and a judged command may not have."""
    names = "|".join(sorted((*_KEPT, *_QUIET, *_ELSEWHERE, "LC_*", "GIT_CONFIG_*")))
    return (
        f'for __name in $(compgen -e); do case $__name in {names}) ;; *) unset -v "$__name" ;; esac; done '
        "2>/dev/null; unset -v __name"
    )


def _absolute(path: str, roots: Sequence[str]) -> list[str]:
    """The folders of a path that are named whole, and in none of the working folders."""
    whole = (folder for folder in path.split(":") if folder.startswith("/"))
    return [
        each for each in whole if not any(f"{each}/".startswith(f"{root.rstrip('/')}/") for root in roots)
    ]
