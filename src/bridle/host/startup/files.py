"""Which start-up files a shell reads, and what tells one state of them from another."""

import hashlib
import os
import os.path
import re
from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

from bridle.host.files import read_bytes

Shell: TypeAlias = Literal["bash", "zsh"]

_LOGIN = (".bash_profile", ".bash_login", ".profile")
"""Bash reads the first of these that it finds."""
_BASH = (*_LOGIN, ".bashrc", ".bash_aliases", ".aliases", ".bash_functions")
_ZSH = (".zshenv", ".zprofile", ".zshrc", ".zlogin", ".zsh_aliases", ".aliases")
_FOLDERS = {"bash": (".bashrc.d", ".config/bash"), "zsh": (".zshrc.d", ".config/zsh", ".oh-my-zsh/custom")}
_SYSTEM = {
    "bash": ("/etc/profile", "/etc/bash.bashrc", "/etc/bashrc"),
    "zsh": (
        "/etc/zsh/zshenv", "/etc/zsh/zprofile", "/etc/zsh/zshrc", "/etc/zshenv", "/etc/zprofile",
        "/etc/zshrc",
    ),
}  # fmt: skip
_SOURCES = re.compile(
    r"(?:^|[;&|]|\bthen|\bdo|\belse)[ \t]*(?:\.|source)[ \t]+(\"[^\"\n]*\"|'[^'\n]*'|[^\s;&|]+)", re.MULTILINE
)
_HOME = re.compile(r"^~(?=/)|\$\{?HOME\}?|\$\{?ZDOTDIR(?::-(?:\$HOME|~|\$\{HOME\}))?\}?")
_MOST_FILES = 64
_MOST_BYTES = 1 << 20
_DEEPEST = 3


def own_files(shell: Shell, home: str, folder: str) -> list[str]:
    """The user's start-up files that exist, with those that their text names; `folder` is that of zsh."""
    names = _BASH if shell == "bash" else _ZSH
    found: dict[str, None] = {}
    for name in names:
        _follow(os.path.join(folder if shell == "zsh" else home, name), home, found)
    for name in _FOLDERS[shell]:
        for file in _entries(os.path.join(home, name)):
            _follow(file, home, found)
    return list(found)


def system_files(shell: Shell) -> list[str]:
    """Those of the machine."""
    more = _entries("/etc/profile.d") if shell == "bash" else ()
    return [path for path in (*_SYSTEM[shell], *more) if os.path.isfile(path)]


def fingerprint(program: str, files: Sequence[str]) -> str:
    """A name for the content of these files as this shell reads it."""
    found = hashlib.sha256(f"1\0{program}\0{_stamp(program)}".encode())
    for path in files:
        text = _content(path)
        found.update(f"\0{path}\0{len(text)}\0".encode("utf-8", "surrogateescape"))
        found.update(text)
    return found.hexdigest()[:32]


def bashrc_left_out(home: str) -> str:
    """The `.bashrc` that a login shell would not read, because the login files do not mention it."""
    path = os.path.join(home, ".bashrc")
    if not os.path.isfile(path):
        return ""
    login = next((file for name in _LOGIN if os.path.isfile(file := os.path.join(home, name))), None)
    return path if login is None or b"bashrc" not in _content(login) else ""


def _follow(path: str, home: str, found: dict[str, None], depth: int = 0) -> None:
    if path in found or len(found) >= _MOST_FILES or depth > _DEEPEST or not os.path.isfile(path):
        return
    found[path] = None
    for named in _SOURCES.findall(_content(path).decode("utf-8", "replace")):
        word = _HOME.sub(lambda _: home, named.strip("\"'"))
        if os.path.isabs(word) and not set(word) & set("$*?`"):
            _follow(os.path.normpath(word), home, found, depth + 1)


def _entries(folder: str) -> Iterator[str]:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return
    for name in names[:_MOST_FILES]:
        if os.path.isfile(path := os.path.join(folder, name)):
            yield path


def _content(path: str) -> bytes:
    try:
        return read_bytes(path, _MOST_BYTES)
    except OSError:
        return _stamp(path).encode()


def _stamp(path: str) -> str:
    try:
        facts = os.stat(path)
    except OSError:
        return ""
    return f"{facts.st_size} {facts.st_mtime_ns}"
