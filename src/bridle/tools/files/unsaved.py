"""Files that an editor has open: read and written as it holds them, where a session runs in one."""

import asyncio

from msgspec.structs import replace

from bridle.host.safe_open import Location
from bridle.tools.files import seen_files, text_files
from bridle.tools.files.text_files import TextFile, TextForm
from bridle.types.errors import ToolError
from bridle.types.services.editor import EDITOR_FILES
from bridle.types.tool import ToolContext
from bridle.types.workspace import Workspace

MOST_BYTES = 1024 * 1024
"""Larger files are taken from the disk alone."""


async def ask_editor(ctx: ToolContext, location: Location) -> None:
    """Note what an editor holds of a file and has not saved; without an editor there is nothing to note."""
    if ctx.workspace.is_draft or (editor := ctx.service(EDITOR_FILES)) is None:
        return
    text = await editor.read(location.target)
    unsaved, path = ctx.workspace.unsaved, location.path
    saved = await asyncio.to_thread(_saved, location)
    if text is None or saved is None or len(text) > MOST_BYTES or text == saved.raw:
        unsaved.pop(path, None)
    else:
        unsaved[path] = text


def as_held(file: TextFile, path: str, workspace: Workspace) -> TextFile:
    """The file with the text that an editor holds of it."""
    if (raw := workspace.unsaved.get(path)) is None:
        return file
    text = raw.replace("\r\n", "\n")
    crlf = text != raw and raw.count("\n") == len(raw) - len(text)
    return replace(file, raw=raw, text=text, form=replace(file.form, crlf=crlf))


def is_shared(ctx: ToolContext) -> bool:
    """Whether files are written elsewhere than on the disk: through an editor, or into a draft."""
    return ctx.workspace.is_draft or ctx.service(EDITOR_FILES) is not None


async def put_shared(
    ctx: ToolContext, location: Location, raw: str, form: TextForm, *, stamp: tuple[int, ...] | None
) -> int:
    """Like `seen_files.put`, by the editor where it can; what it does not save is saved here.

    Raises:
        ToolError: the file changed in between, or cannot be written.
    """
    editor = ctx.service(EDITOR_FILES)
    plain = form.encoding == "utf-8" and not form.bom
    if ctx.workspace.is_draft:
        if not plain or len(raw) > MOST_BYTES:
            raise ToolError(f"{location.path} cannot be changed in a draft.")
        ctx.workspace.unsaved[location.path] = raw
        return 0
    if editor is not None and plain and len(raw) <= MOST_BYTES and await editor.write(location.target, raw):
        ctx.workspace.unsaved.pop(location.path, None)
        saved = await asyncio.to_thread(_saved, location)
        if saved is not None and saved.raw == raw:
            return saved.mtime_ns
        stamp = None if saved is None else saved.stamp
    done = await asyncio.to_thread(seen_files.put, location, raw, form, stamp=stamp)
    ctx.workspace.unsaved.pop(location.path, None)
    return done


def _saved(location: Location) -> TextFile | None:
    try:
        return text_files.read_text(location, most_bytes=MOST_BYTES)
    except (ToolError, OSError):
        return None  # The tool itself says what is wrong with it.
