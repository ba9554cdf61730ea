"""Stop a background task."""

from typing import Annotated

from msgspec import Meta, Struct

from bridle.tools.tasks.task_output import find_task
from bridle.types.errors import ToolError
from bridle.types.tool import UNLISTED, ToolContext, ToolOutput, tool


class TaskStopInput(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    task_id: Annotated[str | None, Meta(description="The task's ID.")] = None
    shell_id: Annotated[str | None, UNLISTED] = None


@tool(
    "TaskStop",
    TaskStopInput,
    subject=lambda input: input.task_id or input.shell_id or "",
    # It undoes what this session was allowed to start, so it needs no approval.
    read_only=True,
    parallel=lambda _: False,
)
async def TOOL(input: TaskStopInput, ctx: ToolContext) -> ToolOutput:
    """End a background task and everything it started."""
    tasks = ctx.workspace.tasks
    task = find_task(tasks, input.task_id or input.shell_id)
    if task.status != "running" and not task.resident:
        raise ToolError(f"Task {task.id} is not running (status: {task.status}).")
    tasks.tell(task.id)
    task = await tasks.stop(task.id)
    message = f"Stopped task {task.id} ({task.command[:200] or task.description[:200]})."
    return ToolOutput(
        content=message,
        data={"message": message, "task_id": task.id, "task_type": task.kind, "command": task.command},
    )
