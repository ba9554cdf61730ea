"""Move the session back out of a work tree."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from bridle.types.errors import ToolError
from bridle.types.services.session import WORKTREES
from bridle.types.tool import ToolContext, ToolOutput, tool


class ExitWorktreeInput(Struct, frozen=True, forbid_unknown_fields=True):
    action: Annotated[
        Literal["keep", "remove"],
        Meta(description="keep: leave the folder and branch; remove: delete both."),
    ]
    discard_changes: Annotated[
        bool,
        Meta(description="Also discard unmerged work. Only after the user agrees."),
    ] = False


def _subject(input: ExitWorktreeInput) -> str:
    return f"{input.action} discard" if input.discard_changes else input.action


def _check(input: ExitWorktreeInput, ctx: ToolContext) -> None:
    if ctx.workspace.worktree is None:
        raise ToolError("The session is not in a worktree.")
    if input.discard_changes and input.action == "keep":
        raise ToolError("discard_changes only works with the action remove.")


@tool(
    "ExitWorktree",
    ExitWorktreeInput,
    subject=_subject,
    parallel=lambda _: False,
    check=_check,
)
async def exit_worktree(input: ExitWorktreeInput, ctx: ToolContext) -> ToolOutput:
    """Go back to where the session was before it entered a work tree."""
    visit, gone = await ctx.need(WORKTREES).leave(
        remove=input.action == "remove", discard=input.discard_changes
    )
    fate = "was removed" if gone else "was kept"
    message = f"The session is back in {visit.cwd}. The worktree {visit.path} {fate}."
    data = {
        "action": "remove" if gone else "keep",
        "originalCwd": visit.cwd,
        "worktreePath": visit.path,
        "worktreeBranch": visit.branch,
        "message": message,
    }
    return ToolOutput(content=message, data=data)


TOOL = exit_worktree
