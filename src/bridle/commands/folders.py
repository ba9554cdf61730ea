"""Commands about where the session works."""

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Literal

import msgspec

from bridle.commands.context import CommandContext
from bridle.engine.runtime import Runtime
from bridle.engine.server import Server
from bridle.host.git.repository import current_branch
from bridle.transcripts.session import Session
from bridle.transcripts.store import transcript_path
from bridle.types.command import CommandResult, Says
from bridle.types.errors import UsageError
from bridle.types.hooks.environment import CwdChanged, DirectoryAdded

Destination = Literal["userSettings", "projectSettings", "localSettings"]

_DESTINATIONS: Mapping[str, Destination] = {
    "user": "userSettings",
    "project": "projectSettings",
    "local": "localSettings",
}


async def add_folder(arguments: str, context: CommandContext) -> CommandResult:
    """Work in one more folder: in this session, or with `--user`, `--project` or `--local` from now on."""
    scope, named = _scope(arguments)
    path = _folder(named, context, usage="/add-dir [--user|--project|--local] <path>")
    known = any(_is_inside(path, root) for root in context.workspace.roots)
    if known and scope is None:
        return Says(f"{path} is already a working directory.")
    if not known:
        await _widen(path, context.runtime)
    if scope is None:
        return Says(f"Added {path} for this session.")
    await _persist("addDirectories", path, _DESTINATIONS[scope], context)
    return Says(f"Added {path} for this and later sessions.")


async def remove_folder(arguments: str, context: CommandContext) -> CommandResult:
    """Work no longer in a folder that was added; the one where the session began stays.

    Raises:
        UsageError: it is none of those folders.
    """
    if not arguments:
        raise UsageError("Name a folder: /remove-dir <path>.")
    workspace = context.workspace
    path = workspace.resolve(arguments.strip("\"'"))
    added = workspace.roots[1:]
    if path not in added:
        there = f"added: {', '.join(added)}" if added else "none is"
        raise UsageError(f"{path} is not an added directory ({there}).")
    workspace.roots = (workspace.roots[0], *(root for root in added if root != path))
    context.runtime.servers.roots_changed()
    for destination in _kept_in(path, context):
        await _persist("removeDirectories", path, destination, context)
    return Says(f"Removed {path}.")


async def change_folder(arguments: str, context: CommandContext) -> CommandResult:
    path = _folder(arguments, context, usage="/cd <path>")
    if path == context.workspace.cwd:
        return Says(f"Already in {path}.")
    await enter_folder(path, context.session, context.runtime)
    return Says(f"Changed to {path}.")


async def enter_folder(path: str, session: Session, runtime: Runtime) -> None:
    """Let the session continue in another folder, which becomes a working folder where it is none yet."""
    workspace, hooks = runtime.workspace, runtime.hooks
    before = workspace.cwd
    if not is_working_folder(path, runtime):
        await _widen(path, runtime)
    workspace.cwd = path
    session.cwd = path
    session.git_branch = current_branch(path)
    if hooks.listens_to("CwdChanged") or hooks.listens_to("FileChanged"):
        await hooks.fire(CwdChanged(old_cwd=before, new_cwd=path))


def move_files(session: Session, server: Server, *, tell_hooks: Callable[[str], None]) -> bool:
    """Keep transcript and storage with the project of the session's folder; whether they are there now.

    The old place of the storage leads to the new one, because the model knows paths in it.
    """
    records = server.runtime.records
    if records.transcript is None:
        return False
    path = transcript_path(session.id, session.cwd, server.runtime.env)
    if path == records.transcript:
        return True
    if not session.relocate(path):
        return False
    storage = path.removesuffix(".jsonl")
    # A folder that cannot move is still used under its old name.
    with suppress(OSError):
        os.rename(records.storage, storage)
        os.symlink(storage, records.storage)
    earlier = tuple(dict.fromkeys((records.storage, *records.earlier)))
    server.change(records=msgspec.structs.replace(records, transcript=path, storage=storage, earlier=earlier))
    tell_hooks(path)
    return True


def is_working_folder(path: str, runtime: Runtime) -> bool:
    """Whether a folder is one that the session works in, or inside one."""
    return any(_is_inside(path, root) for root in runtime.workspace.roots)


async def _persist(
    deed: Literal["addDirectories", "removeDirectories"],
    path: str,
    destination: Destination,
    context: CommandContext,
) -> None:
    await context.runtime.gate.persist({"type": deed, "directories": [path], "destination": destination})
    context.settings.refresh()


def _kept_in(path: str, context: CommandContext) -> list[Destination]:
    """The settings files of the user that name a folder."""
    found: list[Destination] = []
    for layer in context.settings.config().layers:
        permissions = layer.values.get("permissions")
        named = permissions.get("additionalDirectories") if isinstance(permissions, dict) else None
        places: list[Destination] = [each for each in _DESTINATIONS.values() if each == layer.source]
        if places and isinstance(named, list) and path in map(context.workspace.resolve, named):
            found += places
    return found


def _scope(arguments: str) -> tuple[str | None, str]:
    first, _, rest = arguments.strip().partition(" ")
    scope = first.removeprefix("--")
    return (scope, rest.strip()) if first.startswith("--") and scope in _DESTINATIONS else (None, arguments)


async def _widen(path: str, runtime: Runtime) -> None:
    runtime.workspace.roots = (*runtime.workspace.roots, path)
    runtime.servers.roots_changed()
    if runtime.hooks.listens_to("DirectoryAdded"):
        await runtime.hooks.fire(DirectoryAdded(directory=path, source="slash_command"))


def _folder(named: str, context: CommandContext, *, usage: str) -> str:
    if not named:
        raise UsageError(f"Name a folder: {usage}.")
    path = context.workspace.resolve(named.strip("\"'"))
    if not os.path.isdir(path):
        raise UsageError(f"Folder {path} does not exist.")
    return path


def _is_inside(path: str, root: str) -> bool:
    real, base = os.path.realpath(path), os.path.realpath(root)
    return real == base or real.startswith(base.rstrip("/") + "/")
