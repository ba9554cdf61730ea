"""Run a workflow: a script that puts many agents to work."""

import asyncio
import hashlib
import math
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct

from bridle.types.errors import ToolError
from bridle.types.services.workflows import WORKFLOWS, Launch, Launched, read_arguments
from bridle.types.tool import ToolContext, ToolOutput, tool

_LARGEST_SCRIPT = 1_000_000


class WorkflowInput(
    Struct,
    frozen=True,
    forbid_unknown_fields=True,
    kw_only=True,
    rename={"path": "scriptPath", "resume": "resumeFromRunId"},
):
    script: Annotated[
        str | None, Meta(description="The script; its first statement is export const meta.")
    ] = None
    name: Annotated[str | None, Meta(description="Or the name of a saved workflow.")] = None
    path: Annotated[str | None, Meta(description="Or a script file.")] = None
    args: Annotated[Any, Meta(description="JSON for the script's args.")] = None
    resume: Annotated[
        str | None,
        Meta(description="A run to resume; finished calls are reused. Alone: reruns its own script."),
    ] = None


def _subject(input: WorkflowInput) -> str:
    """A saved workflow by its name; a script that was written out stands for itself alone."""
    if input.name and input.name.strip():
        return input.name.removeprefix("/")
    if input.script and input.script.strip():
        return f"script:{hashlib.sha256(input.script.encode(errors='replace')).hexdigest()[:12]}"
    return input.path or f"run:{input.resume or ''}"


def _check(input: WorkflowInput, ctx: ToolContext) -> None:
    del ctx
    named = [each for each in (input.script, input.name, input.path) if each and each.strip()]
    if len(named) > 1:
        raise ToolError("Give only one of script, name and scriptPath.")
    if not named and not input.resume:
        raise ToolError("Give a script, the name of a saved workflow, or a scriptPath.")
    if len(input.script or "") > _LARGEST_SCRIPT:
        raise ToolError(f"The script has more than {_LARGEST_SCRIPT:,} characters.")


# The agents' own calls pass the gate; many agents cost money, so starting them is asked about.
@tool("Workflow", WorkflowInput, subject=_subject, check=_check, parallel=lambda _: True)
async def TOOL(input: WorkflowInput, ctx: ToolContext) -> ToolOutput:
    """Run a script that puts many agents to work, in the background."""
    launched = await ctx.need(WORKFLOWS).start(
        Launch(
            script=_meant(input.script),
            path=_meant(input.path),
            name=_meant(input.name),
            args=_arguments(input.args),
            resume=input.resume or None,
        )
    )
    if not launched.background:
        return await _awaited(launched, ctx)
    return ToolOutput(content=_told(launched), data=_data(launched))


def _meant(text: str | None) -> str | None:
    """Blanks name nothing, for rules as for what runs."""
    return text if text and text.strip() else None


async def _awaited(launched: Launched, ctx: ToolContext) -> ToolOutput:
    """The end of a run where background work is off; cancelling the wait stops the run."""
    tasks = ctx.workspace.tasks
    try:
        task = await tasks.wait(launched.run_id, math.inf)
    except asyncio.CancelledError:
        await tasks.stop(launched.run_id)
        raise
    if task.result is None:
        raise ToolError(task.error or "The run was stopped before it returned a result.")
    return ToolOutput(content=task.result, data={**_data(launched), "status": "completed"})


def _arguments(given: Any) -> Any:
    """Models write objects and lists as text now and then."""
    if given is None:
        return UNSET
    return read_arguments(given) if isinstance(given, str) else given


def _told(launched: Launched) -> str:
    known = f" Reused results: {launched.known}." if launched.known else ""
    return (
        f"The workflow {launched.name} runs in the background. runId and task id: "
        f"{launched.run_id}.{known}\nScript: {launched.script_path}\nProgress: "
        f"{launched.output_file}\nYou will be notified with its result; until then work on something "
        "else, or end your turn. Do not do its work yourself and do not guess its result. Stop it with "
        "TaskStop. To change it, edit the script and call Workflow with scriptPath and resumeFromRunId "
        f"{launched.run_id}: unchanged calls are reused."
    )


def _data(launched: Launched) -> dict[str, Any]:
    return {
        "status": "async_launched",
        "runId": launched.run_id,
        "taskId": launched.run_id,
        "taskType": "local_workflow",
        "workflowName": launched.name,
        "summary": launched.description,
        "scriptPath": launched.script_path,
        "outputFile": launched.output_file,
    }
