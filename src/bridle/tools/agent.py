"""Hand work to another agent."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from bridle.types.block import ResultContent, text_block
from bridle.types.errors import ToolError
from bridle.types.services.delegation import AgentCompleted, AgentLaunched, Delegation
from bridle.types.services.session import DELEGATE
from bridle.types.tool import UNLISTED, ToolContext, ToolOutput, tool

_COUNTED: Mapping[str, str] = {
    "Read": "readCount",
    "Glob": "searchCount",
    "Grep": "searchCount",
    "Bash": "bashCount",
    "Edit": "editFileCount",
    "Write": "editFileCount",
    "NotebookEdit": "editFileCount",
}


class AgentInput(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    description: Annotated[str, Meta(description="The task in 3 to 5 words.")]
    prompt: Annotated[str, Meta(description="The whole task.")]
    subagent_type: Annotated[str | None, Meta(description="A listed type; default general-purpose.")] = None
    model: Annotated[
        Literal["sonnet", "opus", "haiku", "fable"] | None,
        Meta(description="Overrides the agent's model."),
    ] = None
    run_in_background: Annotated[bool | None, Meta(description="false waits for the report.")] = None
    name: Annotated[str | None, Meta(description="Name for SendMessage and TaskStop.")] = None
    isolation: Annotated[
        Literal["worktree", "remote"] | None,
        Meta(description="worktree: a copy of the repository on its own branch."),
    ] = None
    effort: Annotated[str | int | None, Meta(description="low, medium, high …")] = None
    team_name: Annotated[str | None, UNLISTED] = None
    mode: Annotated[str | None, UNLISTED] = None


def _check(input: AgentInput, ctx: ToolContext) -> None:
    del ctx
    if not input.prompt.strip():
        raise ToolError("The prompt is empty: describe the task.")
    if input.isolation == "remote":
        raise ToolError("Remote agents are not available here: use isolation worktree, or none.")


@tool(
    "Agent",
    AgentInput,
    subject=lambda input: input.subagent_type or "general-purpose",
    # The agent's own calls pass the gate.
    read_only=True,
    parallel=lambda _: True,
    check=_check,
)
async def TOOL(input: AgentInput, ctx: ToolContext) -> ToolOutput:
    """Start an agent for a task."""
    report = await ctx.need(DELEGATE)(
        Delegation(
            description=input.description,
            prompt=input.prompt,
            agent_type=input.subagent_type or None,
            model=input.model,
            effort=input.effort,
            background=input.run_in_background,
            name=input.name or None,
            isolation="worktree" if input.isolation == "worktree" else None,
        )
    )
    match report:
        case AgentCompleted():
            return _completed(report)
        case AgentLaunched():
            return _launched(report)


def _completed(report: AgentCompleted) -> ToolOutput:
    data: dict[str, Any] = {
        "status": "completed",
        "prompt": report.prompt,
        "agentId": report.agent_id,
        "agentType": report.agent_type,
        "toolsUsed": [*report.calls],
        "content": report.content,
        "resolvedModel": report.model,
        "totalDurationMs": report.duration_ms,
        "totalTokens": report.tokens,
        "totalToolUseCount": report.tool_uses,
        "toolStats": _stats(report),
        "canContinueAgent": True,
        "usage": report.usage,
    }
    if report.partial is not None:
        data["partial"] = True
    if report.worktree_path is not None:
        data["worktreePath"] = report.worktree_path
        data["worktreeBranch"] = report.worktree_branch
    content: list[ResultContent] = [text_block(report.text), text_block(f"agentId: {report.agent_id}")]
    return ToolOutput(content=content, data=data)


def _stats(report: AgentCompleted) -> dict[str, int]:
    """How often it has called tools of each kind, and the lines that it has changed."""
    counts: dict[str, int] = dict.fromkeys(_COUNTED.values(), 0)
    other = 0
    for name, count in report.calls.items():
        if (kind := _COUNTED.get(name)) is None:
            other += count
        else:
            counts[kind] += count
    lines = {"linesAdded": report.lines_added, "linesRemoved": report.lines_removed}
    return {**counts, **lines, "otherToolCount": other}


def _launched(report: AgentLaunched) -> ToolOutput:
    content = (
        f"The agent works in the background. agentId: {report.agent_id}\nYou will be notified with its "
        "report; until then work on something else, or end your turn. Do not do its work yourself and do "
        f"not guess its result. Output so far: {report.output_file}"
    )
    return ToolOutput(
        content=content,
        data={
            "status": "async_launched",
            "isAsync": True,
            "agentId": report.agent_id,
            "description": report.description,
            "prompt": report.prompt,
            "outputFile": report.output_file,
            "resolvedModel": report.model,
        },
    )
