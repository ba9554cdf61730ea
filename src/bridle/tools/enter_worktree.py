"""Move the session to a work tree."""

from typing import Annotated

from msgspec import Meta, Struct

from bridle.types.errors import ToolError
from bridle.types.permission import Access
from bridle.types.services.session import WORKTREES
from bridle.types.tool import ToolContext, ToolOutput, tool
from bridle.types.workspace import Workspace


class EnterWorktreeInput(Struct, frozen=True, forbid_unknown_fields=True):
    name: Annotated[
        str | None,
        Meta(description="A name for the new worktree: letters, digits, dot, _ and -."),
    ] = None
    path: Annotated[
        str | None,
        Meta(description="An existing worktree of this repository, instead of a new one."),
    ] = None


def _access(input: EnterWorktreeInput, workspace: Workspace) -> Access:
    return Access() if input.path is None else Access(writes=(workspace.resolve(input.path),))


def _check(input: EnterWorktreeInput, ctx: ToolContext) -> None:
    if input.name is not None and input.path is not None:
        raise ToolError("Give the name of a new worktree or the path of an existing one, not both.")
    if ctx.workspace.worktree is not None:
        raise ToolError(
            f"The session is already in the worktree {ctx.workspace.worktree.path}: leave it first."
        )


@tool(
    "EnterWorktree",
    EnterWorktreeInput,
    subject=lambda input: input.path or input.name or "",
    access=_access,
    parallel=lambda _: False,
    check=_check,
)
async def enter_worktree(input: EnterWorktreeInput, ctx: ToolContext) -> ToolOutput:
    """Continue in a copy of the repository on a branch of its own."""
    visit, notes = await ctx.need(WORKTREES).enter(name=input.name, path=input.path)
    branch = "" if visit.branch is None else f" on the branch {visit.branch}"
    message = (
        f"The session now works in {visit.path}{branch}. Earlier paths are in {visit.start}: use the "
        "matching paths in the new folder, and read files again before you change them."
    )
    return ToolOutput(
        content="\n".join((message, *notes)),
        data={"worktreePath": visit.path, "worktreeBranch": visit.branch, "message": message},
    )


TOOL = enter_worktree
