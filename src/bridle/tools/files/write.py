"""Write: make a file hold exactly the given text."""

import asyncio
from typing import Annotated, Any

from msgspec import Meta, Struct

from bridle.host.safe_open import Location
from bridle.tools.files import patches, seen_files, text_files, unsaved
from bridle.tools.files.text_files import TextFile, TextForm
from bridle.types.errors import ToolError
from bridle.types.permission import Access
from bridle.types.tool import ToolContext, ToolOutput, tool
from bridle.types.workspace import FileState, Workspace

_MOST_BYTES = 64 * 1024 * 1024


class WriteInput(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    file_path: Annotated[str, Meta(description="Absolute path.")]
    content: Annotated[str, Meta(description="Full content.")]


class _Written(Struct, frozen=True, kw_only=True):
    before: TextFile | None
    text: str
    mtime_ns: int


def _access(input: WriteInput, workspace: Workspace) -> Access:
    return Access(writes=(workspace.resolve(input.file_path),))


def _check(input: WriteInput, ctx: ToolContext) -> None:
    location = text_files.locate(ctx, input.file_path)
    status = text_files.find_status(location)
    state = ctx.workspace.files.find(location.path)
    if status is not None and status.st_size > seen_files.MOST_CHECKED_BYTES:
        _require_whole(seen_files.require_seen(state, location.path), location.path)
    else:
        _existing(location, state, ctx.workspace)


@tool(
    "Write",
    WriteInput,
    subject=lambda input: input.file_path,
    access=_access,
    check=_check,
    interrupt="block",
)
async def write(input: WriteInput, ctx: ToolContext) -> ToolOutput:
    """Create a file or replace all that it holds."""
    location = text_files.locate(ctx, input.file_path)
    path = location.path
    if ctx.changes is not None:
        await ctx.changes.before_change(location.target)
    await unsaved.ask_editor(ctx, location)
    apply = _apply_shared if unsaved.is_shared(ctx) else _apply_here
    written = await apply(location, input.content, ctx)
    ctx.workspace.files.note(path, FileState(content=written.text, mtime_ns=written.mtime_ns))
    data = await asyncio.to_thread(_data, path, input.content, written)
    name = text_files.short_name(path, ctx.cwd)
    return ToolOutput(content=f"{'Replaced' if written.before else 'Created'} {name}.", data=data)


TOOL = write


async def _apply_here(location: Location, content: str, ctx: ToolContext) -> _Written:
    state = ctx.workspace.files.find(location.path)
    return await asyncio.to_thread(_apply, location, content, state, ctx.workspace)


async def _apply_shared(location: Location, content: str, ctx: ToolContext) -> _Written:
    state = ctx.workspace.files.find(location.path)
    before = await asyncio.to_thread(_existing, location, state, ctx.workspace)
    raw, form = _formed(content, before)
    stamp = before.stamp if before else None
    mtime_ns = await unsaved.put_shared(ctx, location, raw, form, stamp=stamp)
    return _Written(before=before, text=content.replace("\r\n", "\n"), mtime_ns=mtime_ns)


def _apply(location: Location, content: str, state: FileState | None, workspace: Workspace) -> _Written:
    before = _existing(location, state, workspace)
    raw, form = _formed(content, before)
    mtime_ns = seen_files.put(location, raw, form, stamp=before.stamp if before else None)
    return _Written(before=before, text=content.replace("\r\n", "\n"), mtime_ns=mtime_ns)


def _formed(content: str, before: TextFile | None) -> tuple[str, TextForm]:
    """The text with the line ends of the old file, and how it is encoded."""
    form = before.form if before else TextForm()
    raw = content
    if form.crlf:
        raw = content.replace("\r\n", "\n").replace("\n", "\r\n")
    return raw, form if _fits(raw, form) else TextForm(crlf=form.crlf)


def _existing(location: Location, state: FileState | None, workspace: Workspace) -> TextFile | None:
    """The file that is to be overwritten, if there is one.

    Raises:
        ToolError: the model has not seen all of it as it is now.
    """
    path = location.path
    if text_files.find_status(location) is None:
        return None
    state = seen_files.require_seen(state, path)
    try:
        file = unsaved.as_held(text_files.read_text(location, most_bytes=_MOST_BYTES), path, workspace)
    except FileNotFoundError:
        return None
    _require_whole(state, path)
    if seen_files.differs(state, file):
        raise seen_files.modified(path)
    return file


def _require_whole(state: FileState, path: str) -> None:
    if state.partial:
        raise ToolError(
            f"Only part of {path} has been read, and overwriting could lose the rest. Read all of it "
            "first, or change parts with Edit."
        )


def _fits(raw: str, form: TextForm) -> bool:
    """Whether the old file's encoding can hold the new text; if not, all of it becomes UTF-8."""
    if form.encoding != "latin-1":
        return True
    try:
        raw.encode("latin-1")
    except UnicodeEncodeError:
        return False
    return True


def _data(path: str, content: str, written: _Written) -> dict[str, Any]:
    before = written.before
    return {
        "type": "update" if before else "create",
        "filePath": path,
        "content": content,
        "structuredPatch": patches.structured_patch(before.text, written.text) if before else [],
        "originalFile": patches.original(before.text) if before else None,
        "userModified": False,
    }
