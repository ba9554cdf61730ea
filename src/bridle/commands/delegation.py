"""Runs what a command asks for in an agent of its own."""

from bridle.commands.context import CommandContext
from bridle.engine.turn import Turn
from bridle.features.agents.feature import AGENTS
from bridle.types.block import text_of
from bridle.types.command import Asks
from bridle.types.errors import ToolError
from bridle.types.ids import new_uuid
from bridle.types.services.delegation import AgentCompleted, AgentReport, Delegation
from bridle.types.turn import Prompt

_LONGEST_DESCRIPTION = 60


def runs_apart(asks: Asks, context: CommandContext) -> bool:
    """Whether a command wants an agent of its own, and agents are to be had."""
    return asks.agent is not None and context.runtime.features.find(AGENTS) is not None


async def run_apart(asks: Asks, context: CommandContext) -> str:
    """Let an agent do what a command asks for, and return its answer.

    Raises:
        ToolError: there is no such agent, or it could not finish.
    """
    delegation = Delegation(
        description=asks.shown[:_LONGEST_DESCRIPTION],
        prompt=asks.content if isinstance(asks.content, str) else text_of(asks.content),
        agent_type=asks.agent,
        model=asks.model,
        effort=asks.effort,
        background=asks.background,
        rules=asks.rules,
    )
    return report_text(await delegate(delegation, context))


async def delegate(delegation: Delegation, context: CommandContext) -> AgentReport:
    """Hand work to an agent.

    Raises:
        ToolError: there are no agents, or this one could not be started or finish.
    """
    agents = context.runtime.features.find(AGENTS)
    if agents is None:
        raise ToolError("This session has no agents.")
    turn = Turn(context.session, Prompt(content=delegation.prompt, origin=context.origin), context.runtime)
    return await agents.run(turn, delegation, call_id=f"command_{new_uuid()}")


def report_text(report: AgentReport) -> str:
    """What an agent has to say, for the user."""
    if isinstance(report, AgentCompleted):
        warning = f"\n\n{report.warning}" if report.warning else ""
        return text_of([*report.content]) + warning
    return f"{report.agent_type} is working on it in the background ({report.agent_id}). See /tasks."
