"""The command that connects a session to an editor."""

import asyncio
import os.path

from bridle.commands.context import CommandContext
from bridle.features.editors.connector import EditorRow
from bridle.features.editors.feature import EDITORS
from bridle.features.editors.session import SessionEditors
from bridle.host.editors import find_editors
from bridle.types.command import CommandResult, Says, Shows
from bridle.types.errors import UsageError

_NONE = "No editor found. bridle docs editors explains how to set one up."
_NO_PLACE = "This session cannot connect to an editor: start bridle with --ide, and without --bare."


async def ide(arguments: str, context: CommandContext) -> CommandResult:
    """List the running editors, connect to one, disconnect, or show a file in the connected one."""
    word, _, rest = arguments.strip().partition(" ")
    if not word:
        return Shows(view="ide", text=listing(await rows_of(context)))
    editors = _editors(context)
    match word:
        case "off" | "disconnect":
            before = await editors.disconnect()
            return Says("No editor is connected." if before is None else f"Disconnected from {before.name}.")
        case "open":
            return Says(await _open(rest, context, editors))
        case _:
            editor = await editors.connect(arguments)
            return Says(f"Connected to {editor.name}.")


async def rows_of(context: CommandContext) -> tuple[EditorRow, ...]:
    """The running editors, and the state of the connection to each."""
    if (editors := context.runtime.features.find(EDITORS)) is not None:
        return await editors.rows()
    found = await asyncio.to_thread(find_editors, context.env, context.workspace.start)
    return tuple(EditorRow(editor=each) for each in found)


def listing(rows: tuple[EditorRow, ...]) -> str:
    """The editors as text."""
    if not rows:
        return _NONE
    lines = [f"- {row.editor.name} ({row.editor.port}): {state_text(row)}" for row in rows]
    return "\n".join([*lines, "", "Connect with /ide <editor>, disconnect with /ide off."])


def state_text(row: EditorRow) -> str:
    """The state of an editor in a few words."""
    folders = ", ".join(row.editor.folders[:3]) or "no folder"
    match row.state:
        case "connected":
            return f"connected, in {folders}"
        case "connecting":
            return f"connecting, in {folders}"
        case "waiting":
            return f"not connected, {row.problem or 'retrying soon'}"
        case "off":
            return f"in {folders}" if row.editor.fits else f"in another folder: {folders}"


def complete(context: CommandContext) -> tuple[str, ...]:
    """Editors to connect to."""
    found = find_editors(context.env, context.workspace.start)
    names = [each.name for each in found]
    return tuple(each.name if names.count(each.name) == 1 else str(each.port) for each in found)


async def _open(name: str, context: CommandContext, editors: SessionEditors) -> str:
    path = context.workspace.resolve(name.strip()) if name.strip() else ""
    if not os.path.isfile(path):
        raise UsageError("Use /ide open with a file that exists.")
    return f"Opened {path} in {await editors.open_file(path)}."


def _editors(context: CommandContext) -> SessionEditors:
    if (editors := context.runtime.features.find(EDITORS)) is None:
        raise UsageError(_NO_PLACE)
    return editors
