"""Looks for files of the user that others can read or change."""

import os
import stat
from collections.abc import Iterator, Mapping

from msgspec import Struct

from bridle.host.paths import bridle_dir, config_home, global_state_file, projects_dir

_MOST = 20_000
"""The most files that are checked; the first findings are enough to act on."""
_PRIVATE_FOLDERS = ("debug", "file-history", "history", "jobs", "shell-snapshots", "tasks", "teams")
_SETTINGS = ("settings.json", "settings.local.json", "keybindings.json", "CLAUDE.md")
_CREDENTIALS = (".credentials.json", "credentials.json")


class FileCheck(Struct, frozen=True):
    count: int
    wrong: tuple[tuple[str, str, str], ...]
    """Path, what is wrong, and what to do about it."""


def look(env: Mapping[str, str], cwd: str) -> FileCheck:
    """Transcripts, logs, state and credentials must be the user's alone; settings theirs alone to change."""
    wrong: list[tuple[str, str, str]] = []
    count = 0
    for path, private in _places(env, cwd):
        try:
            status = os.lstat(path)
        except OSError:
            continue
        count += 1
        if (problem := _problem(status, private=private)) is not None:
            wrong.append((path, *problem))
    return FileCheck(count, tuple(wrong))


def _places(env: Mapping[str, str], cwd: str) -> Iterator[tuple[str, bool]]:
    home, own = config_home(env), bridle_dir(env)
    yield from ((os.path.join(home, name), False) for name in _SETTINGS)
    yield from ((os.path.join(cwd, ".claude", name), False) for name in _SETTINGS[:2])
    yield from ((os.path.join(folder, name), True) for folder in (home, own) for name in _CREDENTIALS)
    yield global_state_file(env), True
    yield home, False
    left = _MOST
    for folder in (projects_dir(env), own, *(os.path.join(home, name) for name in _PRIVATE_FOLDERS)):
        for path in _below(folder):
            left -= 1
            if left < 0:
                return
            yield path, True


def _below(folder: str) -> Iterator[str]:
    """Files whose folders do not keep others out already."""
    for parent, folders, names in os.walk(folder):
        try:
            if not os.stat(parent).st_mode & 0o077:
                folders.clear()
                continue
        except OSError:
            continue
        yield from (os.path.join(parent, name) for name in names)


def _problem(status: os.stat_result, *, private: bool) -> tuple[str, str] | None:
    """What is wrong, and what to do about it."""
    if stat.S_ISLNK(status.st_mode):
        return None  # Where it leads to is the user's choice.
    if status.st_uid not in (0, os.geteuid()):
        return f"belongs to user {status.st_uid}", "change its owner with chown"
    if status.st_mode & 0o022:
        return "writable by others", f"run chmod {'go=' if private else 'go-w'}"
    if private and status.st_mode & 0o077:
        return "readable by others", "run chmod go="
    return None
