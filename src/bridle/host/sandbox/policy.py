"""What a session lets its commands touch."""

import os.path
import sys
from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

FOLDERS = (
    ".git", ".claude", ".bridle", ".vscode", ".idea", ".husky", ".devcontainer", ".cargo", ".yarn", ".mvn",
    ".config/git",
)  # fmt: skip
"""Folders whose contents decide what runs later."""

FILES = (
    ".gitconfig", ".gitmodules", ".bashrc", ".bash_profile", ".bash_login", ".bash_aliases", ".bash_logout",
    ".zshrc", ".zprofile", ".zshenv", ".zlogin", ".zlogout", ".profile", ".envrc", ".npmrc", ".yarnrc",
    ".yarnrc.yml", ".pnp.cjs", ".pnpmfile.cjs", "bunfig.toml", ".bazelrc", ".pre-commit-config.yaml",
    "lefthook.yml", ".ripgreprc", ".mcp.json", ".claude.json", ".devcontainer.json",
)  # fmt: skip
"""Files of the same kind."""

FILES_WHEN_PRESENT = (
    ".pnp.loader.mjs", ".bunfig.toml", ".bazelversion", ".bazeliskrc", "lefthook.yaml", ".lefthook.yml",
    ".lefthook.yaml", "gradle-wrapper.properties", "maven-wrapper.properties", "pyrightconfig.json",
    "mise.toml", ".mise.toml", "mise.local.toml", ".mise.local.toml", ".tool-versions", ".direnvrc",
    ".kshrc", ".mkshrc", ".cshrc", ".tcshrc", ".login", ".logout", ".inputrc", ".xprofile", ".xinitrc",
    ".xsession", ".xsessionrc", ".vimrc", ".gvimrc", ".exrc", ".nvimrc", ".nvim.lua", ".emacs", ".gdbinit",
    ".lldbinit", ".pythonrc", ".pythonrc.py", ".pdbrc", ".pryrc", ".irbrc", ".rprofile", ".psqlrc",
    ".sqliterc", ".screenrc", ".tmux.conf", ".curlrc", ".wgetrc", ".netrc", ".pypirc",
)  # fmt: skip
"""Files that tools stumble over when an empty one keeps their place, so only existing ones are held."""

PACKAGES = ("node_modules", "site-packages", "__pycache__", ".venv", "venv", ".tox", "target")
"""Folders that installers fill with what others wrote, such names included; no one works in them."""

WORKTREES = ".claude/worktrees"
"""Made for editing, although it lies in a protected folder."""


class Network(Struct, frozen=True, kw_only=True):
    """Which hosts commands may reach; nothing else has a route."""

    mode: Literal["off", "proxy"] = "off"
    allowed: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()
    strict: bool = False
    """Hosts that no rule names are refused without asking."""
    all_unix_sockets: bool = False
    unix_sockets: tuple[str, ...] = ()
    """Paths; only macOS can tell one from another."""
    local_binding: bool = False
    """Listening on this machine; on Linux commands have a machine of their own for that."""
    mach_lookup: tuple[str, ...] = ()
    weaker: bool = False
    """On macOS, let programs use the system's certificate service."""
    http_port: int | None = None
    socks_port: int | None = None
    """Proxies of the user on this machine, to be used instead of ours."""


class Policy(Struct, frozen=True, kw_only=True):
    """All paths are absolute; where they lead is looked up when a command starts."""

    writable: tuple[str, ...] = ()
    """Besides the working directories and the session's temporary directory."""
    never_writable: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()
    readable_again: tuple[str, ...] = ()
    """Inside what is unreadable."""
    unwritable: tuple[str, ...] = ()
    """Regular expressions for whole paths, also for what is not there yet; held where calls are overseen."""
    hidden_variables: tuple[str, ...] = ()
    network: Network = Network()
    filesystem: bool = True
    """False when only the network is cut off."""
    weaker_nesting: bool = False
    """Do without what unprivileged containers forbid."""
    apple_events: bool = False


def is_within(path: str, folder: str) -> bool:
    """Whether a path is a folder or lies in it; both absolute and free of links."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def is_within_any(path: str, folders: Iterable[str]) -> bool:
    return any(is_within(path, folder) for folder in folders)


def real(paths: Iterable[str]) -> tuple[str, ...]:
    """Where paths lead, each place once."""
    return tuple(dict.fromkeys(os.path.realpath(path) for path in paths))


def own_files() -> tuple[str, ...]:
    """Our program and its Python: a command that can change what builds the walls is not held by them."""
    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    return (package, sys.prefix, sys.base_prefix)
