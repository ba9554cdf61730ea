"""`bridle project purge`: delete what is kept on this machine about a project, and nothing in the project."""

import fcntl
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from bridle.cli.say import say, tell
from bridle.cli.subcommands.parser import ParsedArguments
from bridle.config.edit import update
from bridle.config.trust import revoke
from bridle.host.files import read_bytes
from bridle.host.paths import config_home, global_state_file, project_dir, projects_dir
from bridle.transcripts.line import is_uuid
from bridle.types.errors import ConfigError, UsageError

_BESIDE = ("file-history", "tasks", "todos", "session-env", "image-cache", "uploads", "debug", "plans")
"""Folders of the configuration that keep something for each session, under its id."""
_LARGEST = 256 * 1024 * 1024


class ProjectState(Struct, frozen=True):
    """What is kept about one project."""

    project: str
    """Its folder; empty where that is not known."""
    paths: tuple[str, ...]
    sessions: int
    in_state: bool


def purge(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Show what would be deleted, ask, and delete it.

    Raises:
        UsageError: a session of it is running, or not interactive.
        ConfigError: the state file cannot be changed.
    """
    if given.on("all") and given.has("path"):
        raise UsageError("name a folder or use --all, not both")
    found = list(_every(env)) if given.on("all") else [_of(_folder(given), env)]
    found = [each for each in found if each.paths or each.in_state]
    if not found:
        return say("Nothing is stored for this project.\n")
    if given.on("interactive"):
        found = [each for each in found if _describe([each]) == 0 and confirmed("Delete this?")]
        if not found:
            return say("Nothing was deleted.\n")
    elif code := _describe(found):
        return code
    if given.on("dry-run"):
        return say("Dry run: nothing was deleted.\n")
    if not given.on("yes") and not given.on("interactive") and not confirmed("Delete all of this?"):
        say("Nothing was deleted.\n")
        return 1
    for each in found:
        _require_idle(each)
    for each in found:
        _delete(each, env)
    return say("Deleted.\n")


def confirmed(question: str) -> bool:
    """Whether the user says yes.

    Raises:
        UsageError: there is no terminal to ask at.
    """
    if not sys.stdin.isatty():
        raise UsageError("not interactive: add --yes to continue, or --dry-run to preview")
    say(f"{question} [y/N] ")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _folder(given: ParsedArguments) -> str:
    return os.path.abspath(os.path.expanduser(given.text("path") or "."))


def _of(folder: str, env: Mapping[str, str]) -> ProjectState:
    return _kept(folder, project_dir(folder, env), env)


def _every(env: Mapping[str, str]) -> Iterator[ProjectState]:
    known = {project_dir(folder, env): folder for folder in _projects(env)}
    try:
        names = sorted(os.listdir(projects_dir(env)))
    except OSError:
        names = []
    for name in names:
        known.setdefault(os.path.join(projects_dir(env), name), "")
    for place, folder in known.items():
        yield _kept(folder, place, env)


def _kept(folder: str, place: str, env: Mapping[str, str]) -> ProjectState:
    sessions = [name.removesuffix(".jsonl") for name in _names(place) if name.endswith(".jsonl")]
    ids = [each for each in sessions if is_uuid(each)]
    beside = [os.path.join(config_home(env), kind, each) for kind in _BESIDE for each in ids]
    paths = [path for path in (place, *beside) if os.path.lexists(path)]
    return ProjectState(folder, tuple(paths), len(ids), folder in _projects(env))


def _projects(env: Mapping[str, str]) -> dict[str, Any]:
    try:
        state = msgspec.json.decode(read_bytes(global_state_file(env), _LARGEST), type=dict[str, Any])
    except (OSError, msgspec.DecodeError, RecursionError):
        return {}
    projects = state.get("projects")
    return projects if isinstance(projects, dict) else {}


def _names(folder: str) -> list[str]:
    if os.path.islink(folder):
        return []
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _describe(found: list[ProjectState]) -> int:
    lines: list[str] = []
    for each in found:
        count = f"{each.sessions} conversation{'' if each.sessions == 1 else 's'}"
        lines.append(f"{each.project or '(unknown folder)'}: {count}")
        lines += [f"  {path}" for path in each.paths]
        if each.in_state:
            lines.append("  its entry in the state file, with trust and approvals")
    return tell(*lines)


def _require_idle(kept: ProjectState) -> None:
    """Refuse while a session writes one of the transcripts."""
    for path in kept.paths[:1]:
        for name in _names(path):
            if not name.endswith(".jsonl"):
                continue
            try:
                with open(os.path.join(path, name), "rb") as file:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                session = name.removesuffix(".jsonl")
                raise UsageError(f"session {session} of this project is running: stop it first") from error
            except OSError:
                continue


def _delete(kept: ProjectState, env: Mapping[str, str]) -> None:
    for path in kept.paths:
        if os.path.islink(path) or not os.path.isdir(path):
            os.unlink(path)
        else:
            shutil.rmtree(path, ignore_errors=True)
        if os.path.lexists(path):
            raise ConfigError(f"{path} can't be deleted: check its permissions")
    if not kept.in_state:
        return

    def without(values: dict[str, Any]) -> dict[str, Any]:
        projects = values.get("projects")
        rest = {name: each for name, each in projects.items() if name != kept.project} if projects else {}
        return {**values, "projects": rest}

    try:
        revoke(env, kept.project)
        update(global_state_file(env), without, mode=0o600)
    except OSError as error:
        raise ConfigError(f"can't update the state file: {error.strerror}") from error
