"""NotebookEdit: replace, insert or delete a cell of a Jupyter notebook."""

import asyncio
import os
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from bridle.host.safe_open import Location
from bridle.tools.files import patches, seen_files, text_files
from bridle.tools.files.text_files import TextFile
from bridle.tools.notebooks import notebook as notebooks
from bridle.tools.notebooks.notebook import Notebook
from bridle.types.errors import ToolError
from bridle.types.permission import Access
from bridle.types.tool import ToolContext, ToolOutput, tool
from bridle.types.workspace import FileState, Workspace

_EditMode = Literal["replace", "insert", "delete"]
_CellType = Literal["code", "markdown"]


class NotebookEditInput(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    notebook_path: Annotated[str, Meta(description="Absolute path of the .ipynb file.")]
    cell_id: (
        Annotated[
            str,
            Meta(
                description="The cell to replace or delete, or to insert after (none: at the beginning). "
                "An id from Read, or cell-N counted from 0."
            ),
        ]
        | None
    ) = None
    new_source: Annotated[str, Meta(description="The cell's source; ignored for delete.")]
    cell_type: (
        Annotated[_CellType, Meta(description="Required for insert; replace keeps the type by default.")]
        | None
    ) = None
    edit_mode: Annotated[_EditMode, Meta(description="Default replace.")] | None = None


class _Plan(Struct, frozen=True, kw_only=True):
    """A change that would succeed."""

    before: TextFile
    after: str
    """The new text of the file, with plain line feeds."""
    cell_id: str
    cell_type: str
    language: str
    partial: bool


def _access(input: NotebookEditInput, workspace: Workspace) -> Access:
    return Access(writes=(workspace.resolve(input.notebook_path),))


def _check(input: NotebookEditInput, ctx: ToolContext) -> None:
    location = text_files.locate(ctx, input.notebook_path)
    path = location.path
    _require_sense(input, path)
    status = text_files.find_status(location)
    if status is None:
        raise text_files.missing(path, ctx.workspace)
    state = seen_files.require_seen(ctx.workspace.files.find(path), path)
    if status.st_size <= seen_files.MOST_CHECKED_BYTES:
        _plan(input, location, state)


@tool(
    "NotebookEdit",
    NotebookEditInput,
    subject=lambda input: input.notebook_path,
    access=_access,
    check=_check,
    interrupt="block",
)
async def notebook_edit(input: NotebookEditInput, ctx: ToolContext) -> ToolOutput:
    """Replace, insert or delete a cell of a Jupyter notebook."""
    location = text_files.locate(ctx, input.notebook_path)
    path = location.path
    _require_sense(input, path)
    if text_files.find_status(location) is None:
        raise text_files.missing(path, ctx.workspace)
    seen = seen_files.require_seen(ctx.workspace.files.find(path), path)
    if ctx.changes is not None:
        await ctx.changes.before_change(location.target)
    plan, state = await asyncio.to_thread(_apply, input, location, seen)
    ctx.workspace.files.note(path, state)
    mode = input.edit_mode or "replace"
    done = {"replace": "Replaced", "insert": "Inserted", "delete": "Deleted"}[mode]
    return ToolOutput(
        content=f"{done} {plan.cell_type} cell {plan.cell_id} in {text_files.short_name(path, ctx.cwd)}.",
        data=_data(input, path, plan),
    )


TOOL = notebook_edit


def _require_sense(input: NotebookEditInput, path: str) -> None:
    if not path.endswith(".ipynb"):
        raise ToolError(f"{path} is not a notebook (.ipynb). Use Edit for other files.")
    mode = input.edit_mode or "replace"
    if mode == "insert" and input.cell_type is None:
        raise ToolError("insert requires cell_type: code or markdown.")
    if mode != "insert" and not input.cell_id:
        raise ToolError(f"{mode} requires cell_id; Read shows the ids.")


def _apply(input: NotebookEditInput, location: Location, state: FileState) -> tuple[_Plan, FileState]:
    plan = _plan(input, location, state)
    raw = plan.after.replace("\n", "\r\n") if plan.before.form.crlf else plan.after
    mtime_ns = seen_files.put(location, raw, plan.before.form, stamp=plan.before.stamp)
    return plan, notebooks.state(plan.after, mtime_ns, partial=plan.partial)


def _plan(input: NotebookEditInput, location: Location, state: FileState) -> _Plan:
    path = location.path
    try:
        file = text_files.read_text(location, most_bytes=notebooks.MOST_BYTES)
    except FileNotFoundError as error:
        raise seen_files.modified(path) from error
    if seen_files.differs(state, file):
        raise seen_files.modified(path)
    notebook = notebooks.parse(file.text, path)
    match input.edit_mode:
        case "insert":
            index = _insert(notebook, input)
            cell_id, cell_type = notebook.id_of(index), str(input.cell_type)
        case "delete":
            index = notebook.find(input.cell_id or "")
            cell_id = notebook.id_of(index)
            cell_type = str(notebook.cells.pop(index).get("cell_type"))
        case _:
            index = notebook.find(input.cell_id or "")
            _replace(notebook.cells[index], input)
            cell_id, cell_type = notebook.id_of(index), str(notebook.cells[index].get("cell_type"))
    return _Plan(
        before=file,
        after=notebook.dump(),
        cell_id=cell_id,
        cell_type=cell_type,
        language=notebook.language,
        partial=state.partial,
    )


def _insert(notebook: Notebook, input: NotebookEditInput) -> int:
    index = notebook.find(input.cell_id) + 1 if input.cell_id else 0
    cell: dict[str, Any] = {"cell_type": input.cell_type}
    if input.cell_type == "code":
        cell["execution_count"] = None
    if notebook.has_ids:
        cell["id"] = os.urandom(4).hex()
    cell["metadata"] = {}
    if input.cell_type == "code":
        cell["outputs"] = []
    cell["source"] = input.new_source.splitlines(keepends=True)
    notebook.cells.insert(index, cell)
    return index


def _replace(cell: dict[str, Any], input: NotebookEditInput) -> None:
    whole = isinstance(cell.get("source"), str)
    cell["source"] = input.new_source if whole else input.new_source.splitlines(keepends=True)
    if input.cell_type is not None:
        cell["cell_type"] = input.cell_type
    if cell.get("cell_type") == "code":
        # They belonged to the old source.
        cell["execution_count"] = None
        cell["outputs"] = []
        cell.pop("attachments", None)
    else:
        cell.pop("execution_count", None)
        cell.pop("outputs", None)


def _data(input: NotebookEditInput, path: str, plan: _Plan) -> dict[str, Any]:
    return {
        "new_source": input.new_source,
        "cell_id": plan.cell_id,
        "cell_type": plan.cell_type,
        "language": plan.language,
        "edit_mode": input.edit_mode or "replace",
        "error": "",
        "notebook_path": path,
        "original_file": patches.original(plan.before.text),
        "updated_file": patches.original(plan.after),
    }
