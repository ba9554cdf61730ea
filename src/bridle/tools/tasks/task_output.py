"""Look at a background task."""

from typing import Annotated

from msgspec import Meta, Struct

from bridle.types.errors import ToolError
from bridle.types.services.tasks import Task, Tasks
from bridle.types.tool import UNLISTED, ToolContext, ToolOutput, tool

_WAIT_MS = 30_000
_MOST_WAIT_MS = 600_000
_MOST_CHARS = 30_000


class TaskOutputInput(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    task_id: Annotated[str | None, Meta(description="The task's ID.")] = None
    block: Annotated[bool | None, Meta(description="Wait until it ends; default true.")] = None
    timeout: Annotated[int | None, Meta(description="Default 30000, at most 600000.")] = None
    bash_id: Annotated[str | None, UNLISTED] = None
    shell_id: Annotated[str | None, UNLISTED] = None


@tool(
    "TaskOutput",
    TaskOutputInput,
    subject=lambda input: _id(input) or "",
    read_only=True,
    max_result_chars=None,
)
async def TOOL(input: TaskOutputInput, ctx: ToolContext) -> ToolOutput:
    """Read what a background task has printed and how it stands."""
    tasks = ctx.workspace.tasks
    task = find_task(tasks, _id(input))
    if input.block is not False and task.status == "running":
        wait_ms = _WAIT_MS if input.timeout is None else min(max(input.timeout, 0), _MOST_WAIT_MS)
        task = await tasks.wait(task.id, wait_ms / 1000)
    if task.status != "running":
        tasks.tell(task.id)
    output = (task.result or task.error or tasks.read(task.id, _MOST_CHARS))[:_MOST_CHARS].rstrip()
    waited = "timeout" if input.block is not False else "not_ready"
    return ToolOutput(
        content=_describe(task, output),
        data={
            "retrieval_status": waited if task.status == "running" else "success",
            "task": {
                "task_id": task.id,
                "task_type": task.kind,
                "status": task.status,
                "description": task.description,
                "output": output,
                "exitCode": task.exit_code,
            },
        },
    )


def find_task(tasks: Tasks, task_id: str | None) -> Task:
    """The task that an input names.

    Raises:
        ToolError: no id was given, or no task has it.
    """
    if not task_id:
        raise ToolError(f"task_id is missing. {_known(tasks)}")
    if (task := tasks.find(task_id)) is None:
        raise ToolError(f"Unknown task {task_id}. {_known(tasks)}")
    return task


def _id(input: TaskOutputInput) -> str | None:
    return input.task_id or input.bash_id or input.shell_id


def _known(tasks: Tasks) -> str:
    known = tasks.all()
    if not known:
        return "This session has no background tasks."
    listed = ", ".join(f"{task.id} ({task.status})" for task in known[-20:])
    return f"Tasks: {listed}."


def _describe(task: Task, output: str) -> str:
    state = f"Task {task.id} ({task.description[:200]}): {task.status}"
    if task.exit_code is not None:
        state += f", exit code {task.exit_code}"
    if len(output) >= _MOST_CHARS - 1:
        state += f"\nOnly the latest output is shown; full output: {task.output_file}"
    return f"{state}\n\n{output or '(no output)'}"
