"""Commands about where the session works."""

import os.path

from bridle.commands.context import CommandContext
from bridle.host.git import current_branch
from bridle.types.command import CommandResult, Says
from bridle.types.errors import UsageError
from bridle.types.hook import CwdChanged, DirectoryAdded


async def add_folder(arguments: str, context: CommandContext) -> CommandResult:
    path = _folder(arguments, context, usage="/add-dir <path>")
    workspace = context.workspace
    if any(_is_inside(path, root) for root in workspace.roots):
        return Says(f"{path} is a working folder already.")
    await _widen(path, context)
    return Says(f"Working in {path} as well, for this session.")


async def change_folder(arguments: str, context: CommandContext) -> CommandResult:
    path = _folder(arguments, context, usage="/cd <path>")
    workspace = context.workspace
    before = workspace.cwd
    if path == before:
        return Says(f"The session is in {path} already.")
    if not any(_is_inside(path, root) for root in workspace.roots):
        await _widen(path, context)
    workspace.cwd = path
    context.session.cwd = path
    context.session.git_branch = current_branch(path)
    hooks = context.runtime.hooks
    if hooks.hears("CwdChanged") or hooks.hears("FileChanged"):
        await hooks.fire(CwdChanged(old_cwd=before, new_cwd=path))
    return Says(f"Going on in {path}.")


async def _widen(path: str, context: CommandContext) -> None:
    context.workspace.roots = (*context.workspace.roots, path)
    if context.runtime.servers is not None:
        context.runtime.servers.roots_changed()
    if context.runtime.hooks.hears("DirectoryAdded"):
        await context.runtime.hooks.fire(DirectoryAdded(directory=path, source="slash_command"))


def _folder(named: str, context: CommandContext, *, usage: str) -> str:
    if not named:
        raise UsageError(f"Name a folder: {usage}.")
    path = context.workspace.resolve(named.strip("\"'"))
    if not os.path.isdir(path):
        raise UsageError(f"There is no folder {path}.")
    return path


def _is_inside(path: str, root: str) -> bool:
    real, base = os.path.realpath(path), os.path.realpath(root)
    return real == base or real.startswith(base.rstrip("/") + "/")
