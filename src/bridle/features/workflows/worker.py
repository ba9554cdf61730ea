"""One agent of a run: started like any other, but its job belongs to the run."""

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import UNSET

from bridle.engine.assignment import Assignment
from bridle.engine.limits import is_overspent
from bridle.engine.turn import Turn
from bridle.engine.worktrees import open_agent_worktree
from bridle.features.agents.registry import Agents
from bridle.features.agents.start import gone, make_run
from bridle.transcripts.session import Session
from bridle.types.agent import AgentDefinition
from bridle.types.errors import ToolError
from bridle.types.services.delegation import AgentCompleted
from bridle.types.services.tasks import Task

_LONGEST_TEXT = 200_000
_CUT = "\n(truncated)"

WORKER = AgentDefinition(
    name="workflow-worker",
    description="Does one step of a workflow.",
    text="""\
You do one step of a larger piece of work that a program directs. It sees nothing of what you do \
except your last message, which it takes as the result: give exactly what was asked for, whole and without \
preamble. Use the tools to find out and to check instead of guessing. Change only what the task needs. \
You cannot ask questions: if something is unclear, choose the most likely meaning and say so. If the task \
cannot be done, say so and why.""",
)
"""Never listed: it is what `agent()` without an `agentType` means."""


async def work(
    agents: Agents,
    lead: Turn,
    assignment: Assignment,
    *,
    isolated: bool,
    on_task: Callable[[Task], None],
    opened: Callable[[Session], None],
) -> AgentCompleted:
    """Run an agent to its end; `on_task` gets its task at each change and `opened` its conversation.

    Raises:
        ToolError: it could not finish, and why.
    """
    if isolated:
        place = await open_agent_worktree(lead.runtime, f"agent-{assignment.agent_id[:9]}")
        assignment = msgspec.structs.replace(assignment, place=place)
    run = make_run(agents, lead, assignment, on_task=on_task)
    opened(run.session)
    agents.registry.running[assignment.agent_id] = run
    run.begin(_nobody_stops)
    try:
        done = await run.report()
    except asyncio.CancelledError:
        own = asyncio.current_task()
        if own is None or own.cancelling():
            raise
        raise ToolError("The agent was stopped before it could report.") from None
    finally:
        run.settle()
        gone(agents, run)
    if done.partial is not None and (overspent := is_overspent(lead.session, lead.runtime)) is not None:
        raise ToolError(f"{overspent}.")
    return done


def result_of(done: AgentCompleted, *, shaped: bool) -> Any:
    """What the script gets: the answer in its shape, or the text.

    Raises:
        ToolError: no answer came in the shape that was asked for.
    """
    if shaped:
        if done.structured is UNSET:
            raise ToolError("It ended without an answer that matches the schema.")
        return done.structured
    text = done.text
    return text if len(text) <= _LONGEST_TEXT else text[:_LONGEST_TEXT] + _CUT


async def _nobody_stops() -> None:
    """The run stops its agents itself."""
