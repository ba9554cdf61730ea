"""Edit: replace an exact piece of a file."""

import asyncio
from typing import Annotated

from msgspec import Meta, Struct

from bridle.host.safe_open import Location
from bridle.tools.files import patches, seen_files, text_files, unsaved
from bridle.tools.files.replacements import Replaced, find_replacement, hint, replace
from bridle.tools.files.text_files import TextFile, TextForm
from bridle.types.errors import ToolError
from bridle.types.permission import Access
from bridle.types.tool import ToolContext, ToolOutput, tool
from bridle.types.workspace import FileState, Workspace

_MOST_BYTES = 1024**3
_LONGEST_MARK = 3
"""A file without text holds a byte order mark at most."""


class EditInput(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    file_path: Annotated[str, Meta(description="Absolute path.")]
    old_string: Annotated[str, Meta(description="Exact text to replace.")]
    new_string: Annotated[str, Meta(description="Its replacement.")]
    replace_all: Annotated[bool, Meta(description="Replace every occurrence.")] | None = None


class _Plan(Struct, frozen=True, kw_only=True):
    """An edit that would succeed."""

    before: TextFile | None
    """None when the file is to be created."""
    after: Replaced
    old: str
    new: str
    state: FileState
    """What the model will have seen once it is done; the time is still to come."""
    foreign: bool = False
    """Someone else has changed the file, elsewhere, since it was read."""


def _access(input: EditInput, workspace: Workspace) -> Access:
    return Access(writes=(workspace.resolve(input.file_path),))


def _check(input: EditInput, ctx: ToolContext) -> None:
    location = text_files.locate(ctx, input.file_path)
    path = location.path
    _require_sense(input, path)
    status = text_files.find_status(location)
    if status is not None and status.st_size > seen_files.MOST_CHECKED_BYTES and input.old_string:
        seen_files.require_seen(ctx.workspace.files.find(path), path)
    else:
        _plan(input, location, ctx.workspace, ctx.workspace.files.find(path))


@tool(
    "Edit",
    EditInput,
    subject=lambda input: input.file_path,
    access=_access,
    check=_check,
    interrupt="block",
)
async def edit(input: EditInput, ctx: ToolContext) -> ToolOutput:
    """Replace an exact piece of a file."""
    location = text_files.locate(ctx, input.file_path)
    path = location.path
    _require_sense(input, path)
    if ctx.changes is not None:
        await ctx.changes.before_change(location.target)
    await unsaved.ask_editor(ctx, location)
    apply = _apply_shared if unsaved.is_shared(ctx) else _apply_here
    plan, mtime_ns = await apply(input, location, ctx)
    state = FileState(content=plan.state.content, mtime_ns=mtime_ns, partial=plan.state.partial)
    ctx.workspace.files.note(path, state)
    return await asyncio.to_thread(_report, input, path, plan, cwd=ctx.cwd)


TOOL = edit


def _require_sense(input: EditInput, path: str) -> None:
    if input.old_string == input.new_string:
        raise ToolError("Nothing to change: old_string and new_string are the same.")
    if path.endswith(".ipynb"):
        raise ToolError(f"{path} is a notebook. Change its cells with NotebookEdit.")


async def _apply_here(input: EditInput, location: Location, ctx: ToolContext) -> tuple[_Plan, int]:
    state = ctx.workspace.files.find(location.path)
    return await asyncio.to_thread(_apply, input, location, ctx.workspace, state)


async def _apply_shared(input: EditInput, location: Location, ctx: ToolContext) -> tuple[_Plan, int]:
    state = ctx.workspace.files.find(location.path)
    plan = await asyncio.to_thread(_plan, input, location, ctx.workspace, state)
    form = plan.before.form if plan.before else TextForm()
    stamp = plan.before.stamp if plan.before else None
    return plan, await unsaved.put_shared(ctx, location, plan.after.raw, form, stamp=stamp)


def _apply(
    input: EditInput, location: Location, workspace: Workspace, state: FileState | None
) -> tuple[_Plan, int]:
    plan = _plan(input, location, workspace, state)
    form = plan.before.form if plan.before else TextForm()
    stamp = plan.before.stamp if plan.before else None
    return plan, seen_files.put(location, plan.after.raw, form, stamp=stamp)


def _plan(input: EditInput, location: Location, workspace: Workspace, state: FileState | None) -> _Plan:
    if not input.old_string:
        return _plan_new(input, location, workspace)
    path = location.path
    if text_files.find_status(location) is None:
        raise text_files.missing(path, workspace)
    state = seen_files.require_seen(state, path)
    file = _read(location, workspace)
    foreign = seen_files.differs(state, file)
    found = find_replacement(
        file, input.old_string, input.new_string, replace_all=bool(input.replace_all) and not foreign
    )
    if foreign and (found is None or not found.exact):
        raise seen_files.modified(path)
    if found is None:
        raise ToolError(f"old_string was not found in {path}.{hint(file.text, input.old_string)}")
    after = replace(file, found)
    if after.raw == file.raw:
        raise ToolError(f"Nothing to change: {path} already contains this text.")
    first = found.changes[0]
    partial = state.partial or foreign
    return _Plan(
        before=file,
        after=after,
        old=file.text[first.start : first.end],
        new=first.new,
        state=FileState(content="" if partial else after.text, mtime_ns=0, partial=partial),
        foreign=foreign,
    )


def _plan_new(input: EditInput, location: Location, workspace: Workspace) -> _Plan:
    before: TextFile | None = None
    if (status := text_files.find_status(location)) is not None:
        before = _read(location, workspace) if status.st_size <= _LONGEST_MARK else None
        if before is None or before.text:
            raise ToolError(
                f"{location.path} already exists and is not empty; name the text to replace in old_string."
            )
    new = input.new_string
    after = Replaced(raw=new, text=new.replace("\r\n", "\n"), start=0, length=len(new))
    state = FileState(content=after.text, mtime_ns=0)
    return _Plan(before=before, after=after, old="", new=new, state=state)


def _read(location: Location, workspace: Workspace) -> TextFile:
    try:
        file = text_files.read_text(location, most_bytes=_MOST_BYTES)
        return unsaved.as_held(file, location.path, workspace)
    except FileNotFoundError as error:
        raise text_files.missing(location.path, workspace) from error


def _report(input: EditInput, path: str, plan: _Plan, *, cwd: str) -> ToolOutput:
    name = text_files.short_name(path, cwd)
    before = plan.before.text if plan.before else ""
    if plan.before is None:
        sentence = f"Created {name}."
    else:
        shown = patches.snippet(plan.after.text, start=plan.after.start, length=plan.after.length)
        kept = ", which changed since it was read; the other changes are kept"
        sentence = f"Changed {name}{kept if plan.foreign else ''}. It now reads:\n{shown}"
    return ToolOutput(
        content=sentence,
        data={
            "filePath": path,
            "oldString": plan.old,
            "newString": plan.new,
            "originalFile": patches.original(before) if plan.before else None,
            "structuredPatch": patches.structured_patch(before, plan.after.text),
            "userModified": False,
            "replaceAll": bool(input.replace_all),
        },
    )
