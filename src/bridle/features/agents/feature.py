"""Agents as a feature; what runs them is imported with the first."""

from collections.abc import Callable, Collection
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import msgspec

from bridle.engine.feature import Feature
from bridle.features.agents.registry import AgentRegistry, Agents, AgentSetup
from bridle.features.context import FeatureContext
from bridle.types.agent import AGENT_TOOL
from bridle.types.errors import ConfigError
from bridle.types.services.service import Service
from bridle.types.variables import is_hosted

if TYPE_CHECKING:
    from bridle.engine.assignment import Assignment
    from bridle.engine.calls.call import Call
    from bridle.engine.turn import Turn
    from bridle.permissions.preparation import SessionPosition
    from bridle.transcripts.session import Session
    from bridle.types.agent import AgentDefinition
    from bridle.types.tool import Toolbox

AGENTS: Service[Agents] = Service("agents", missing="There are no agents in this session.")
_STRICT_MODES = (None, "plan", "dontAsk")


class AgentsFeature(Feature):
    """The agents that one thread of a session can start."""

    name = "agents"

    def __init__(
        self,
        agents: Agents,
        *,
        session: "Session | None" = None,
        narrow: "Callable[[Toolbox], tuple[Toolbox, tuple[str, ...] | None]] | None" = None,
        leads: bool = False,
        own: "AgentDefinition | None" = None,
        in_worktree: bool = False,
    ) -> None:
        self.agents = agents
        self._session = session
        """Its rules may keep some agents away."""
        self._narrow = narrow
        """Where the main thread is an agent itself: its tools, and the agents that it may start."""
        self._leads = leads
        """The main thread leaves all work to agents, which have the tools that it does without."""
        self._own = own
        """What the thread itself runs as, if it is an agent."""
        self._in_worktree = in_worktree

    def part(self, key: Service[Any]) -> Any:
        return self.agents if key is AGENTS else None

    def offer(self, key: Service[Any], call: "Call", turn: "Turn") -> Any:
        from bridle.types.services.session import DELEGATE

        if key is DELEGATE:
            return partial(self.agents.run, turn, call_id=call.id)
        return self.part(key)

    def toolbox(self, toolbox: "Toolbox") -> "Toolbox":
        if self._narrow is None:
            return toolbox
        if self._leads:
            self.agents.registry.workers = toolbox
        toolbox, allowed = self._narrow(toolbox)
        self.agents = Agents(self.agents.registry, allowed=allowed)
        return toolbox

    def listing(self, tools: Collection[str]) -> str | None:
        """The agents, without those that rules deny."""
        if AGENT_TOOL not in tools:
            return None
        rules = () if self._session is None else self._session.state.rules
        if not any(rule.tool == AGENT_TOOL for rule in rules):
            return self.agents.listing()
        from bridle.permissions.matching import denied_agents

        return self.agents.listing(denied_agents(rules))

    def mention(self, name: str) -> str | None:
        agent = name.removeprefix("agent-")
        known = any(each.name == agent for each in self.agents.definitions())
        return f"The user wants the agent {agent} for this task." if known else None

    def standing(self, turn: "Turn", standing: "SessionPosition") -> "SessionPosition":
        """An agent may write its own memory."""
        definition = self._own
        if definition is None or definition.memory is None:
            return standing
        if definition.source == "project" and not standing.trusted:
            return standing
        from bridle.features.agents.memory import kept_folder

        workspace = turn.runtime.workspace
        # The memory of an agent in a tree of its own is that of the folder it was started from.
        start = workspace.origins[-1] if self._in_worktree and workspace.origins else workspace.start
        folder = kept_folder(definition.name, definition.memory, cwd=start, env=turn.runtime.env)
        return msgspec.structs.replace(standing, own=(*standing.own, folder))

    def expect_call(self, tool: str) -> None:
        if tool == AGENT_TOOL:
            import_module("bridle.features.agents.start")

    def move_to_background(self, call_id: str | None = None) -> int:
        return self.agents.move_to_background(call_id)

    def interrupt(self) -> int:
        return self.agents.interrupt()

    def for_agent(self, work: "Assignment") -> Feature:
        """An agent may start those that its definition names, and is no deeper than the session allows."""
        from bridle.features.agents.tools import AgentPosition, select

        return AgentsFeature(
            self.agents.below(select(work.definition, AgentPosition()).agents),
            own=None if work.fork else work.definition,
            in_worktree=work.place is not None,
        )

    async def close(self) -> None:
        """The end of an agent ends no other: those that it started are the session's."""
        if self.agents.depth == 0:
            await self.agents.close()


def open_agents(context: FeatureContext) -> AgentsFeature:
    """The agents of a session.

    Raises:
        UsageError: `--agents` cannot be read.
    """
    options, env, files = context.options, context.env, context.extension_files
    given: tuple[AgentDefinition, ...] = ()
    if options.agents is not None:
        if context.settings.disable_sideload_flags:
            raise ConfigError("--agents is turned off by the managed setting disableSideloadFlags.")
        from bridle.features.agents.main_agent import flag_agents

        given = flag_agents(options.agents)
    as_approved = _Approved(context)
    setup = AgentSetup(
        found=lambda: (*map(as_approved, () if files is None else files.agents.definitions()), *given),
        resolve_model=context.resolve_model,
        may_choose=context.may_choose_for_agent,
        add_hooks=partial(_add_hooks, context),
        open_servers=context.open_agent_servers,
        skill=context.skill_text,
        appended=options.append_subagent_system_prompt or "",
        interactive=options.has_person,
        hosted=is_hosted(env),
        texts=context.agent_texts,
    )
    agents = Agents(AgentRegistry(setup, env))
    return AgentsFeature(
        agents,
        session=context.session,
        narrow=_narrow(context),
        leads=_leads(context),
        own=context.agent,
    )


def _leads(context: FeatureContext) -> bool:
    if context.agent is None:
        return False
    from bridle.features.agents.main_agent import coordinator

    return coordinator(context.env) == context.agent


def _narrow(
    context: FeatureContext,
) -> "Callable[[Toolbox], tuple[Toolbox, tuple[str, ...] | None]] | None":
    """Chooses tools and agents for a main thread that is an agent; None where it is none."""
    definition, member = context.agent, context.member
    if definition is None:
        return None
    from bridle.features.agents.tools import AgentPosition, AgentToolbox, select

    position = AgentPosition(main=True)
    if member is not None:
        # A teammate has the tools that it would have in the process of its leader.
        planning = member.launch.mode == "plan"
        position = AgentPosition(background=True, teammate=True, planning=planning, may_start=False)
    selection = select(definition, position)
    allowed = selection.agents if member is None else None
    return lambda toolbox: (AgentToolbox(toolbox, selection.takes), allowed)


class _Approved:
    """Leaves out the mode of an agent of the project whose file has changed since it was approved."""

    def __init__(self, context: FeatureContext) -> None:
        self._context = context
        self._reported: set[str] = set()

    def __call__(self, definition: "AgentDefinition") -> "AgentDefinition":
        context, file = self._context, definition.file or ""
        if definition.source != "project" or definition.permission_mode in _STRICT_MODES:
            return definition
        if not context.trusted or context.is_approved(file):
            return definition
        from bridle.config.source_limits import CHANGED

        if file not in self._reported:
            self._reported.add(file)
            mode = definition.permission_mode
            context.warn(
                f"the agent {definition.name} runs without its permissionMode {mode}: its file {CHANGED}"
            )
        return msgspec.structs.replace(definition, permission_mode=None)


def _add_hooks(context: FeatureContext, definition: "AgentDefinition", agent_id: str) -> Callable[[], None]:
    if not definition.hooks or context.closed or context.hooks is None:
        return lambda: None
    from bridle.hooks.handler import Origin
    from bridle.hooks.table import from_values

    origin = Origin(
        source="agent",
        file=definition.file or "",
        owner=definition.name,
        shared=definition.source == "project",
    )
    return context.hooks.open().add(from_values(definition.hooks, origin, scope=agent_id).entries)
