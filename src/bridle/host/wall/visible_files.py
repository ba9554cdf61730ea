"""Which files a judged command can see: the working folders, the system, and the programs on its path."""

import os
import os.path
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache

from msgspec import Struct

from bridle.host.wall import git_paths
from bridle.host.wall.closed_files import ClosedFiles
from bridle.host.wall.landlock import CHANGE, RUN, SEE, USE
from bridle.types.sandbox import View

_PROGRAMS = (
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store", "/gnu/store",
    "/snap", "/run/current-system", "/run/wrappers", "/home/linuxbrew/.linuxbrew", "/opt/homebrew",
)  # fmt: skip
_FACTS = (
    "/proc", "/sys", "/run/utmp", "/var/run/utmp", "/var/lib/sss/mc", "/var/cache/nscd", "/var/db/timezone",
    "/var/cache/ldconfig", "/var/lib/dpkg",
)  # fmt: skip
_CONFIGURATION = (
    "alternatives", "ca-certificates", "ca-certificates.conf", "crypto-policies", "debian_version",
    "default/locale", "gai.conf", "gitattributes", "gitconfig", "group", "host.conf", "hosts", "inputrc",
    "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "ld.so.preload", "locale.alias", "locale.conf",
    "localtime", "lsb-release", "magic", "magic.mime", "mailcap", "mime.types", "my.cnf", "mysql",
    "networks", "npmrc", "nsswitch.conf", "openssl", "os-release", "passwd", "pip.conf", "pki/ca-trust",
    "pki/tls/certs", "pki/tls/openssl.cnf", "profiles", "protocols", "redhat-release", "rpc", "services",
    "shells", "ssl/certs", "ssl/openssl.cnf", "static", "terminfo", "timezone", "vim", "wgetrc",
    "xattr.conf",
)  # fmt: skip
"""Below /etc: what programs read to start and to show names, times and versions; nothing that is a secret."""
_LANGUAGES = ("java", "perl", "php", "python")
"""Beginnings of file names, for those that hold a version."""
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_RUNTIMES = (
    ".asdf", ".bun", ".deno", ".dotnet", ".fnm", ".ghcup", ".goenv", ".jenv", ".juliaup", ".nodenv",
    ".nvm", ".pyenv", ".rbenv", ".rustup", ".rvm", ".sdkman", ".volta", ".cargo/bin", ".local/bin",
    ".local/lib", ".local/pipx", ".local/share/fnm", ".local/share/mise", ".local/share/nvm",
    ".local/share/pipx", ".local/share/pnpm", ".local/share/uv", ".local/share/virtualenv", ".linuxbrew",
    ".nix-profile", ".local/state/nix", "go", "miniconda3", "anaconda3", "miniforge3", "mambaforge",
    ".conda", "bin", ".terminfo", ".python-version", ".tool-versions", ".node-version", ".nvmrc", ".jq",
    ".magic", ".magic.mgc", ".inputrc", ".ripgreprc", ".config/ripgrep", ".config/bat",
)  # fmt: skip
"""Below the home: programs, what they are made of, and what says how they show things."""
_RUNTIME_VARIABLES = (
    "ASDF_DIR", "ASDF_DATA_DIR", "CONDA_PREFIX", "GOROOT", "JAVA_HOME", "MISE_DATA_DIR", "NVM_DIR",
    "PNPM_HOME", "PYENV_ROOT", "RBENV_ROOT", "RIPGREP_CONFIG_PATH", "RUSTUP_HOME", "VIRTUAL_ENV",
    "VOLTA_HOME",
)  # fmt: skip
_LASTS = 10.0


class VisibleFiles:
    """Finds the places; what the system and the programs have is looked for again now and then only."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._programs: tuple[float, object, dict[str, int]] = (0.0, None, {})

    def find(
        self, view: View, *, cwd: str, env: Mapping[str, str], temporary: str, git: bool
    ) -> "VisiblePaths":
        """Every place that a command has a right to, with the right; links are followed.

        The repository around the working folders is seen by commands that run git only.
        """
        home = env.get("HOME") or "/nonexistent"
        roots = [os.path.realpath(root) for root in view.roots]
        usual = self._usual(env, home, roots)
        found: dict[str, int] = {temporary: SEE | CHANGE}
        for root in roots:
            found[root] = usual.get(root, 0) | SEE | (CHANGE if view.level == "edit" else 0)
        for named in (*view.readable, *(git_paths.around(cwd, roots, home, env) if git else ())):
            path = os.path.realpath(named)
            found[path] = found.get(path, usual.get(path, 0)) | SEE
        return VisiblePaths(usual=usual, own=tuple(sorted(found.items())))

    def _usual(self, env: Mapping[str, str], home: str, roots: Sequence[str]) -> dict[str, int]:
        when, known, found = self._programs
        variables = tuple(env.get(name, "") for name in ("PATH", *_RUNTIME_VARIABLES))
        asked, now = (variables, home, tuple(roots)), self._clock()
        if asked != known or now - when > _LASTS:
            found = dict(_system()) | dict.fromkeys(_programs(env, home, roots), RUN)
            self._programs = (now, asked, found)
        return found


class VisiblePaths(Struct, frozen=True):
    """Places with the rights to them."""

    usual: dict[str, int]
    """Of the system and the programs; the same value until it is looked for again."""
    own: tuple[tuple[str, int], ...]
    """Of this command."""
    closed: ClosedFiles | None = None
    """What rules close of it."""
    closed_paths: tuple[str, ...] | None = ()
    """What there is of that; None when it is too much to know."""

    def shows(self, path: str) -> bool:
        """Whether a path without links may be read."""
        return bool(self._rights(path) & SEE) and not self._closes(path)

    def apart_from(self, roots: Sequence[str]) -> tuple[str, ...]:
        """Every place whose files may be read and that is in none of these folders, nor around one."""
        given = {**self.usual, **dict(self.own)}
        places = [path for path, rights in sorted(given.items()) if rights & SEE & USE]
        apart = (each for path in places for each in _outside(path, roots))
        return tuple(dict.fromkeys(apart))

    def runs(self, path: str) -> bool:
        """Whether a program may be started."""
        return bool(self._rights(path) & RUN & ~SEE)

    def closed_name(self, path: str) -> str:
        """The path of the same file that a rule names: its other names are closed with it."""
        if self.closed is None or self.closed.covers(path):
            return path
        named = (each for each in self.closed_paths or () if self.closed.covers(each))
        return next((each for each in named if _is_same_file(each, path)), path)

    def _closes(self, path: str) -> bool:
        if self.closed is not None and self.closed.covers(path):
            return True
        return any(_within(path, closed) for closed in self.closed_paths or ())

    def _rights(self, path: str) -> int:
        rights, own = 0, dict(self.own)
        while True:
            rights |= own.get(path, 0) | self.usual.get(path, 0)
            if path == "/":
                return rights
            path = os.path.dirname(path)


@cache
def _system() -> tuple[tuple[str, int], ...]:
    found = dict.fromkeys(_real(_PROGRAMS), RUN)
    languages = (name for name in _listed("/etc") if name.startswith(_LANGUAGES))
    found |= dict.fromkeys(_real((*_FACTS, *(f"/etc/{name}" for name in (*_CONFIGURATION, *languages)))), SEE)
    found |= {f"/dev/{name}": USE for name in _DEVICES}
    return tuple(found.items())


def _programs(env: Mapping[str, str], home: str, roots: Sequence[str]) -> Iterator[str]:
    """Folders of programs outside of the working folders: nothing that a command could have made is run."""
    named = [path for path in env.get("PATH", "").split(":") if path.startswith("/")]
    named += [env[name] for name in _RUNTIME_VARIABLES if env.get(name, "").startswith("/")]
    closed = (*roots, os.path.realpath(home))
    for path in _real((*named, *_environments(named), *(f"{home}/{name}" for name in _RUNTIMES))):
        # A folder above the working folders or the home would open far more than programs.
        if any(_within(each, path) for each in closed) or any(_within(path, root) for root in roots):
            continue
        yield path


def _environments(folders: Iterable[str]) -> Iterator[str]:
    """What belongs to a folder of programs: the libraries of a virtual environment or a toolchain."""
    for folder in folders:
        above, name = os.path.split(folder.rstrip("/"))
        if name == "shims" or (name == "bin" and os.path.isfile(os.path.join(above, "pyvenv.cfg"))):
            yield above
        elif name == "bin" and os.path.isdir(os.path.join(above, "lib")):
            yield os.path.join(above, "lib")


def _outside(path: str, roots: Sequence[str]) -> Iterator[str]:
    """What there is of a place besides these folders."""
    if any(_within(path, root) for root in roots):
        return
    if not any(_within(root, path) for root in roots):
        yield path
        return
    for name in _listed(path):
        below = os.path.join(path, name)
        if not os.path.islink(below):
            yield from _outside(below, roots)


def _real(paths: Iterable[str]) -> Iterator[str]:
    for path in dict.fromkeys(paths):
        if os.path.exists(path):
            yield os.path.realpath(path)


def _listed(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _is_same_file(path: str, other: str) -> bool:
    try:
        return os.path.samefile(path, other)
    except OSError:
        return False


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
