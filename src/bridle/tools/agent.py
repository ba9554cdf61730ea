"""Hand work to another agent."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from bridle.types.errors import ToolError
from bridle.types.services.delegation import AgentCompleted, AgentLaunched, Delegation
from bridle.types.services.session import DELEGATE
from bridle.types.tool import UNLISTED, ToolContext, ToolOutput, tool


class AgentInput(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    description: Annotated[str, Meta(description="The task in 3 to 5 words.")]
    prompt: Annotated[str, Meta(description="The whole task.")]
    subagent_type: Annotated[str | None, Meta(description="A listed type; general-purpose by default.")] = (
        None
    )
    model: Annotated[
        Literal["sonnet", "opus", "haiku", "fable"] | None,
        Meta(description="Instead of the agent's own model."),
    ] = None
    run_in_background: Annotated[bool | None, Meta(description="false waits for the report.")] = None
    name: Annotated[str | None, Meta(description="To stop it or send it messages by.")] = None
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
        raise ToolError("The prompt is empty: say what the agent is to do.")
    if input.isolation == "remote":
        raise ToolError("There is no remote machine for agents here: use isolation worktree, or none.")


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
        "You are notified with its report; until then work on something else, or end your turn. Do not do "
        f"its work yourself and do not guess its result. Its output so far is in {report.output_file}"
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
