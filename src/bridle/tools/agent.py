"""Hand work to another agent."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from bridle.types.delegation import AgentCompleted, AgentLaunched, Delegation
from bridle.types.errors import ToolError
from bridle.types.tool import ToolContext, ToolOutput, tool


class AgentInput(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    description: Annotated[str, Meta(description="The task in three to five words.")]
    prompt: Annotated[str, Meta(description="The whole task: the agent knows nothing else of it.")]
    subagent_type: Annotated[str | None, Meta(description="The type of the agent.")] = None
    model: Annotated[
        Literal["sonnet", "opus", "haiku", "fable"] | None,
        Meta(description="Another model than the agent's own."),
    ] = None
    run_in_background: Annotated[
        bool | None, Meta(description="false waits for the report; otherwise a note brings it later.")
    ] = None
    name: Annotated[str | None, Meta(description="A name by which to stop it or talk to it.")] = None
    isolation: Annotated[
        Literal["worktree", "remote"] | None,
        Meta(description="worktree: the agent changes a copy of the repository on a branch of its own."),
    ] = None
    effort: Annotated[str | int | None, Meta(description="How hard to think: low, medium, high …")] = None
    team_name: Annotated[str | None, Meta(description="Not used.")] = None
    mode: Annotated[str | None, Meta(description="Not used.")] = None


def _check(input: AgentInput, ctx: ToolContext) -> None:
    del ctx
    if not input.prompt.strip():
        raise ToolError("The prompt is empty: say what the agent is to do.")
    if input.isolation == "remote":
        raise ToolError("There is no remote machine for agents here: use isolation worktree, or none.")


@tool(
    "Agent",
    AgentInput,
    subject=lambda input: input.subagent_type or "general-purpose",
    # Whatever the agent does passes the gate by itself.
    read_only=True,
    parallel=lambda _: True,
    check=_check,
)
async def TOOL(input: AgentInput, ctx: ToolContext) -> ToolOutput:
    """Start an agent for a task."""
    if ctx.delegate is None:
        raise ToolError("There are no agents in this session: do the work yourself.")
    report = await ctx.delegate(
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
        "content": report.content,
        "resolvedModel": report.model,
        "totalDurationMs": report.duration_ms,
        "totalTokens": report.tokens,
        "totalToolUseCount": report.tool_uses,
        "usage": report.usage,
    }
    if report.partial is not None:
        data["partial"] = True
    if report.worktree_path is not None:
        data["worktreePath"] = report.worktree_path
        data["worktreeBranch"] = report.worktree_branch
    return ToolOutput(content=f"{report.text}\n\nagentId: {report.agent_id}", data=data)


def _launched(report: AgentLaunched) -> ToolOutput:
    content = (
        f"The agent works in the background. agentId: {report.agent_id}\n"
        "A note will bring its report; until then go on with something else, or end your turn. Do not do its "
        f"work yourself and do not guess its result. It writes along to {report.output_file}"
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
