"""What an agent works with: the parts of the session, with others in the place of those that are its own."""

from collections.abc import Callable, Sequence

import msgspec
from msgspec import Struct

from bridle.engine.assignment import Assignment
from bridle.engine.cache_watch import CacheWatch
from bridle.engine.null_parts import NO_ARRIVALS
from bridle.engine.runtime import Arrivals, Briefing, Limits, Records, Runtime
from bridle.engine.side_calls import charged_to
from bridle.features.agents.channel import AgentView, SharedCheckpoints
from bridle.features.agents.memory import memory_prompt
from bridle.features.agents.records import most_depth, transcript_path
from bridle.features.agents.tools import AgentPosition, AgentToolbox, select
from bridle.tools.toolbox import JoinedToolbox
from bridle.types.channel import Channel
from bridle.types.hooks.events import Stop, SubagentStop
from bridle.types.hooks.outcome import AgentState
from bridle.types.tool import Tool, Toolbox
from bridle.types.workspace import Workspace


class AgentParts(Struct, frozen=True, kw_only=True):
    """The parts of the runtime that belong to one agent."""

    channel: Channel
    stopped: Callable[[Stop], SubagentStop]
    """Its stop as that of a subagent."""
    arrivals: Arrivals = NO_ARRIVALS
    toolbox: Toolbox | None = None
    """What it chooses its tools from, where that is not what the lead has."""
    extra_tools: Callable[[], Sequence[Tool]] | None = None
    planning: bool = False
    mode: Callable[[], str] = lambda: "default"
    """Its permission mode now."""
    appended: str = ""
    """The end of its system prompt."""


def agent_runtime(lead: Runtime, work: Assignment, own: AgentParts) -> Runtime:
    """The runtime of an agent that works for `lead`."""
    definition = work.definition
    base = own.toolbox or lead.toolbox
    if own.extra_tools is not None:
        base = JoinedToolbox(base, own.extra_tools)
    selection = select(
        definition,
        AgentPosition(
            background=work.background,
            teammate=work.team is not None,
            planning=own.planning,
            may_start=work.depth < most_depth(lead.env),
        ),
    )
    workspace = _workspace(lead, work)
    hooks = lead.hooks.for_agent(
        work.agent_id,
        definition.name,
        workspace=workspace,
        standing=lambda: AgentState(own.mode(), _effort(lead, work)),
    )
    habits = lead.habits
    if definition.auto_compact_window is not None:
        habits = msgspec.structs.replace(habits, window=definition.auto_compact_window)
    toolbox = base if work.fork else _tools(AgentToolbox(base, selection.takes), work)
    return lead.replaced(
        provider=charged_to(lead.provider, definition.name),
        channel=own.channel,
        workspace=workspace,
        toolbox=toolbox,
        briefing=lead.briefing
        if work.fork
        else _briefing(lead, work, own, cwd=workspace.cwd, toolbox=toolbox),
        asking=lead.asking.for_agent(work.effort, work.shape),
        host=lead.host.for_agent(own.arrivals),
        sources=lead.sources.for_agent(),
        hooks=AgentView(hooks, own.stopped, reminder=definition.reminder),
        limits=Limits(
            max_turns=definition.max_turns,
            max_budget_usd=lead.limits.max_budget_usd,
            parallel_calls=lead.limits.parallel_calls,
            message_result_chars=lead.limits.message_result_chars,
        ),
        records=_records(lead, work),
        habits=habits,
        watch=CacheWatch(),
        features=lead.features.for_agent(work),
    )


def _records(lead: Runtime, work: Assignment) -> Records:
    kept, shared = lead.records, lead.records.checkpoints
    return Records(
        storage=kept.storage,
        earlier=kept.earlier,
        transcript=None if kept.transcript is None else transcript_path(lead, work.agent_id),
        checkpoints=None if shared is None else SharedCheckpoints(shared),
    )


def _tools(own: Toolbox, work: Assignment) -> Toolbox:
    """Its tools, and the one that takes its answer where that must have a shape."""
    return JoinedToolbox(own, lambda: work.shape.tools) if work.shape.tools else own


def _effort(lead: Runtime, work: Assignment) -> str | None:
    """The effort of its model, if the model supports it."""
    return work.effort if work.effort in lead.facts(work.model).efforts else None


def _briefing(lead: Runtime, work: Assignment, own: AgentParts, *, cwd: str, toolbox: Toolbox) -> Briefing:
    definition = work.definition
    remembered = memory_prompt(definition, cwd=lead.workspace.start, env=lead.env, trusted=lead.gate.trusted)
    appended = f"\n\n{own.appended}" if own.appended else ""
    return lead.briefing.for_agent(
        f"{definition.prompt.strip()}{remembered}{appended}",
        cwd=cwd,
        model=work.model,
        instructions=not definition.omit_instructions,
        listings=lead.features.agent_listings(toolbox),
    )


def _workspace(lead: Runtime, work: Assignment) -> Workspace:
    """A place of the agent's own; the jobs stay those of the session."""
    before = lead.workspace
    cwd = before.cwd if work.place is None else work.place.path
    start = before.start if work.place is None else work.place.path
    workspace = Workspace(start, tasks=lambda: before.tasks, extra_roots=before.roots[1:])
    workspace.cwd = cwd
    workspace.refused_calls = before.refused_calls
    workspace.origins = before.origins if start == before.start else (*before.origins, before.start)
    if work.place is None:
        for path, state in reversed(before.files.newest()):
            workspace.files.note(path, state)
    return workspace
