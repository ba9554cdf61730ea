"""Puts the parts of a session together."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

import msgspec
from msgspec import Struct

from bridle.config.load import Config
from bridle.config.schema import Worktree
from bridle.config.state import installation_id
from bridle.context.briefing import SessionBriefing
from bridle.context.window import habits_from
from bridle.engine.agents import Agents
from bridle.engine.agents.means import AgentServers
from bridle.engine.hook_door import HookDoor
from bridle.engine.runtime import Asking, Runtime, Trees
from bridle.engine.turn import Turn
from bridle.host.programs import PROGRAMS
from bridle.host.stdio import complain
from bridle.session import choices, model_choices, permission_choices
from bridle.session.base import SessionBase
from bridle.session.conversation import checkpoints_of, recall_files, storage_of, transcript_of
from bridle.session.parts import memory as lasting
from bridle.session.parts import tools as toolboxes
from bridle.session.parts.agents import as_agent, make_agents
from bridle.session.parts.briefing import brief, permission_news
from bridle.session.parts.extensions import Extensions, chosen_style, open_extensions
from bridle.session.parts.features import session_features, with_features
from bridle.session.parts.mcp import Exchange, open_servers, relayed, sampler
from bridle.session.parts.mcp_servers import ServerDoor
from bridle.session.parts.plugins import open_plugins
from bridle.session.parts.provider import packages_of, session_provider, warm_up
from bridle.session.parts.teams import joined, member_tools, open_team
from bridle.session.parts.workflows import open_workflows
from bridle.session.setup import Setup
from bridle.sessions.session import Session
from bridle.types.agent import AgentDefinition
from bridle.types.channel import Channel
from bridle.types.command import Command
from bridle.types.errors import UsageError
from bridle.types.model import Provider
from bridle.types.permission import Ask, Case, Decision, PermissionUpdate
from bridle.types.sandbox import Sandbox
from bridle.types.task import Task, Tasks
from bridle.types.tool import Toolbox
from bridle.types.turn import Prompt
from bridle.types.workspace import Workspace

if TYPE_CHECKING:
    from bridle.engine.session_hooks import SessionHooks
    from bridle.host.background import BackgroundShells
    from bridle.mcp.attendant import Sampler
    from bridle.session.parts.packages import Packages
    from bridle.sessions.checkpoints import FileCheckpoints


def _warn(text: str) -> None:
    complain(f"warning: {text}")


class Brought(Struct, frozen=True, kw_only=True):
    """What a program around the session puts in place of what would be chosen, or beside it."""

    provider: Provider | None = None
    tools: toolboxes.Offer | None = None
    exchange: Exchange | None = None
    """Reaches MCP servers inside the program."""
    warn: Callable[[str], None] = _warn
    around: Callable[[Provider], Provider] | None = None
    """Wraps whoever answers, to record or to watch."""

    @property
    def answers(self) -> bool:
        """Whether no other process could ask whoever answers here."""
        return self.provider is not None or self.around is not None


class Parts(Struct, frozen=True, kw_only=True):
    """A session ready to run, and how to take it down."""

    runtime: Runtime
    hooks: HookDoor
    open_checkpoints: "Callable[[], FileCheckpoints | None]"
    """The kept files of the conversation as it is now; after a move to another one they are others."""
    commands: Callable[[], Sequence[Command]]
    """The slash commands of Python packages."""
    close: Callable[[], Awaitable[None]]


async def assemble(
    setup: Setup,
    session: Session,
    channel: Channel,
    *,
    on_task: Callable[[Task], None],
    wake: Callable[[Prompt], None] = lambda _: None,
    greets: bool = True,
    brought: Brought | None = None,
) -> Parts:
    """Choose the parts that the engine works with."""
    brought = brought or Brought()
    options, config, env, channel = (
        setup.options,
        setup.config,
        setup.env,
        joined(setup, session, channel, wake),
    )
    packages = packages_of(setup, brought.warn)
    provider = brought.provider or session_provider(setup, packages)
    provider = provider if brought.around is None else brought.around(provider)
    warming = asyncio.create_task(warm_up(provider, setup.model))
    storage = storage_of(setup, session)
    shells = _Shells(storage, on_task)
    roots = choices.choose_roots(options, config, setup.cwd, trusted=setup.trusted)
    PROGRAMS.watch(workspace := Workspace(setup.cwd, tasks=shells.make, extra_roots=roots))
    recall_files(session, workspace)
    base = SessionBase(
        setup=setup,
        session=session,
        channel=channel,
        workspace=workspace,
        hooks=HookDoor(lambda: _hooks(base, runtime)),
        sandbox=await _sandbox(setup, workspace, channel, brought.warn),
        plugins=await open_plugins(setup, warn=brought.warn),
        storage=storage,
        facts=model_choices.facts_of(options, config, env),
        wake=wake,
        warn=brought.warn,
    )
    hooks, plugins, sandbox = base.hooks, base.plugins, base.sandbox
    features = session_features(base)
    workflows = open_workflows(base, lambda: extensions)
    sample = sampler(lambda: (session, runtime))
    servers = open_servers(base, exchange=brought.exchange, sample=sample)
    deferring, tools = toolboxes.offered(
        base, with_features(brought.tools, features), packages, servers, workflows=workflows
    )
    provider = lasting.metered(setup, session, provider, base.facts)
    memory, notes = lasting.memory_of(setup), lasting.notes_of(setup)
    errands = lasting.errands_of(setup, memory=memory, notes=notes)
    extensions = open_extensions(base, offered=tools.names(), servers=servers)
    checkpoints = checkpoints_of(base)
    agents, tools = _agents(base, extensions, tools, sample)
    toolbox, permissions = toolboxes.fitted(tools, base.window), permission_news(base)

    async def brief_at(place: Setup) -> SessionBriefing:
        return await brief(
            place,
            session,
            tools=tools.names(),
            roots=roots,
            hooks=hooks,
            listings=(
                lambda: _agent_listing(agents, session) if "Agent" in toolbox.names() else None,
                lasting.memory_listing(memory),
                extensions.skill_listing,
                lambda: None if workflows is None else workflows.listing(toolbox.names()),
                permissions.opening,
            ),
            style=chosen_style(extensions, config.settings.output_style, warn=base.warn),
        )

    runtime = Runtime(
        provider=provider,
        channel=features.channel(relayed(channel, servers)),
        workspace=workspace,
        toolbox=toolbox,
        decide=lambda case: _decide(case, config),
        briefing=await brief_at(setup),
        facts=base.facts,
        asking=_named(model_choices.choose_asking(options, config, env, model=setup.model), env, session),
        storage=storage,
        earlier=base.earlier(),
        env=env,
        hooks=hooks,
        limits=choices.choose_limits(options, env),
        persist=lambda update: _persist(update, setup),
        modes=permission_choices.choose_modes(options, config, env),
        trusted=setup.trusted,
        judge=_judge_by(config),
        sandbox=sandbox,
        sandbox_allows=permission_choices.is_unasked_inside(config),
        checkpoints=checkpoints,
        habits=habits_from(
            env, enabled=config.settings.auto_compact_enabled, window=lasting.compact_at(setup)
        ),
        plans=lasting.plans_of(setup),
        planner=lasting.planner_of(setup),
        memory=memory,
        notes=notes,
        errands=errands,
        transcript=transcript_of(setup, session),
        servers=servers,
        news=toolboxes.news(deferring, servers, extensions.skills, permissions.news),
        restore=toolboxes.again(deferring, toolbox),
        agents=agents,
        skills=extensions.skills,
        plugins=plugins,
        styles=extensions.style_names,
        trees=_trees(setup),
        features=features,
        workflows=workflows,
    )

    team = await open_team(base, agents, runtime, is_whole=brought.answers)
    await _automate(session, runtime, servers)
    _listen(base, packages)

    async def close() -> None:
        warming.cancel()
        await asyncio.gather(warming, return_exceptions=True)
        await _close_each(errands, workflows, agents, team, features)
        await hooks.say_goodbye()
        await _close_each(hooks, shells, servers, plugins, sandbox, provider, checkpoints)
        if workspace.visit is not None:
            from bridle.session.parts.worktree import leave_worktree

            await leave_worktree(runtime, session)
        lasting.end(session, setup)

    if options.worktree is not None or session.worktree is not None:
        try:
            runtime = await _in_worktree(base, runtime, brief_at)
        except UsageError:
            await close()
            raise
    if greets and _has_hooks(hooks, setup):
        from bridle.session.parts.hooks import greet

        await greet(hooks.open(), setup, session)
    return Parts(
        runtime=runtime,
        hooks=hooks,
        open_checkpoints=lambda: checkpoints_of(base),
        commands=packages.commands if packages is not None else tuple,
        close=close,
    )


async def _in_worktree(
    base: SessionBase, runtime: Runtime, brief_at: Callable[[Setup], Awaitable[SessionBriefing]]
) -> Runtime:
    """The session moved to the work tree that the command line asks for, or in which it was left before.

    Raises:
        UsageError: there can be none.
    """
    from bridle.session.parts.worktree import enter_worktree, return_to_worktree

    setup, session = base.setup, base.session
    if _has_hooks(base.hooks, setup):
        base.hooks.open()
    if setup.options.worktree is not None or session.worktree is None:
        wanted = setup.options.worktree
        await enter_worktree(runtime, session, wanted if isinstance(wanted, str) else None, base.warn)
    else:
        await return_to_worktree(runtime, session, session.worktree, base.warn)
    there = msgspec.structs.replace(setup, cwd=runtime.workspace.cwd)
    return msgspec.structs.replace(runtime, briefing=await brief_at(there))


async def _automate(session: Session, runtime: Runtime, servers: ServerDoor | None) -> None:
    if servers is not None and runtime.env.get("ENABLE_EXPERIMENTAL_MCP_CLI"):
        from bridle.session.parts.mcp_endpoint import automate

        await automate(session, runtime, servers)


def _listen(base: SessionBase, packages: "Packages | None") -> None:
    if packages is not None:
        packages.listen(base.hooks)
    base.plugins.follow(base.hooks)


class _Closing(Protocol):
    async def close(self) -> None: ...


async def _close_each(*parts: _Closing | None) -> None:
    """One after the other, in this order."""
    for part in parts:
        if part is not None:
            await part.close()


def _trees(setup: Setup) -> Trees:
    wanted = setup.config.settings.worktree or Worktree()
    return Trees(
        base=wanted.base_ref or "fresh",
        sparse=wanted.sparse_paths or (),
        links=wanted.symlink_directories or (),
        spared=_spared(setup) if setup.options.job is not None else None,
    )


def _spared(setup: Setup) -> str | None:
    from bridle.session.parts.worktree import spared_checkout

    return spared_checkout(setup)


def _agent_listing(agents: Agents, session: Session) -> str | None:
    if not any(rule.tool == "Agent" for rule in session.state.rules):
        return agents.listing()
    from bridle.permissions.matching import denied_agents

    return agents.listing(denied_agents(session.state.rules))


def _agents(
    base: SessionBase, extensions: Extensions, toolbox: Toolbox, sample: "Sampler"
) -> tuple[Agents, Toolbox]:
    """Whom the session can hand work to, and its tools, fewer where it is an agent itself."""
    setup = base.setup
    agents = make_agents(
        setup,
        base.hooks,
        warn=base.warn,
        found=extensions.agents.definitions,
        skill=extensions.skill_text,
        toolbox=toolbox,
        open_servers=lambda definition, _: _agent_servers(base, definition, sample),
    )
    if setup.agent is None:
        return agents, toolbox
    if setup.member is not None:
        return agents, member_tools(toolbox, setup.agent, setup.member)
    toolbox, allowed = as_agent(toolbox, setup.agent)
    return Agents(agents.staff, allowed=allowed), toolbox


async def _agent_servers(
    base: SessionBase, definition: AgentDefinition, sample: "Sampler"
) -> AgentServers | None:
    if not definition.mcp_servers:
        return None
    from bridle.session.parts.agent_servers import open_agent_servers

    return await open_agent_servers(base, definition, sample=sample)


def _hooks(base: SessionBase, runtime: Runtime) -> "SessionHooks":
    """What runs hooks; imported only where there are any."""
    from bridle.session.parts.hooks import make_hooks

    tables = base.plugins.hook_tables()
    return make_hooks(base.setup, base.session, runtime, wake=base.wake, plugins=tables)


def _has_hooks(hooks: HookDoor, setup: Setup) -> bool:
    named = hooks.is_open or any(layer.values.get("hooks") for layer in setup.config.layers)
    return named and not choices.is_closed(setup.options, setup.env)


class _Shells:
    """The background jobs of a session; what runs them is imported with the first command."""

    def __init__(self, storage: str, on_change: Callable[[Task], None]) -> None:
        self._storage = storage
        self._on_change = on_change
        self._made: BackgroundShells | None = None

    def make(self) -> Tasks:
        from bridle.host.background import BackgroundShells

        self._made = BackgroundShells(self._storage, on_change=self._on_change)
        return self._made

    async def close(self) -> None:
        if self._made is not None:
            await self._made.close()


def _decide(case: Case, config: Config) -> Decision:
    """The gate; its rules are imported with the first call that needs them."""
    from bridle.session.parts.permissions import decide

    return decide(case, config)


def _judge_by(config: Config) -> Callable[[Turn, Case, Ask], Awaitable[Decision]]:
    async def answer(turn: Turn, case: Case, doubt: Ask) -> Decision:
        from bridle.session.parts.permissions import judge

        return await judge(turn, case, doubt, config)

    return answer


async def _persist(update: PermissionUpdate, setup: Setup) -> None:
    from bridle.session.parts.permissions import persist

    await persist(update, setup)


async def _sandbox(
    setup: Setup, workspace: Workspace, channel: Channel, warn: Callable[[str], None]
) -> Sandbox | None:
    """The boundary around commands; its code is imported only where the settings turn it on."""
    wanted = setup.config.settings.sandbox
    if wanted is None or not wanted.enabled:
        return None
    from bridle.session.parts.permissions import open_sandbox

    return await open_sandbox(setup, workspace, channel, warn)


def _named(asking: Asking, env: Mapping[str, str], session: Session) -> Asking:
    """Requests carry a name for the installation and the session, and nothing about the person."""
    user = f"user_{installation_id(env)}_session_{session.id}"
    return msgspec.structs.replace(asking, user_id=user)
