"""Puts the parts of a session together."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

import msgspec
from msgspec import Struct

from bridle.cli import choices, lasting
from bridle.cli.agenting import agent_prompt, as_agent, main_agent, make_agents
from bridle.cli.args import Args
from bridle.cli.extending import Extensions, Style, agent_files, chosen_style, open_extensions
from bridle.cli.plugging import OpenPlugins, early_roots, open_plugins
from bridle.cli.server_door import ServerDoor
from bridle.cli.serving import Exchange, open_servers
from bridle.cli.setup import Setup
from bridle.config.load import Config, environment, load
from bridle.config.state import installation_id, is_trusted
from bridle.context.briefing import LoadReason, SessionBriefing
from bridle.context.environment import gather_environment
from bridle.context.prompt import Attribution, PromptInputs
from bridle.context.scope import ALL_SOURCES, InstructionFile, Scope, open_scope
from bridle.context.switches import read_switches
from bridle.context.window import habits_from
from bridle.engine.agents import Agents
from bridle.engine.hook_door import HookDoor
from bridle.engine.runtime import Asking, Runtime
from bridle.engine.skills import SessionSkills
from bridle.engine.turn import Turn
from bridle.host import git
from bridle.host.paths import bridle_dir, config_home, project_dir
from bridle.providers.connect import provider_for
from bridle.providers.retry import WarmingProvider
from bridle.sessions import store
from bridle.sessions.session import Session
from bridle.sessions.transcript import Follow
from bridle.tools.toolbox import BuiltinToolbox, Deferral
from bridle.types.agent import AgentDefinition
from bridle.types.channel import Channel
from bridle.types.command import Command
from bridle.types.errors import ConfigError, ToolError, UsageError
from bridle.types.model import Provider
from bridle.types.permission import Ask, Case, Decision, Effect, PermissionUpdate
from bridle.types.question import Answer, NetworkQuestion, Permitted
from bridle.types.sandbox import Sandbox
from bridle.types.task import Task, Tasks
from bridle.types.text import encodable
from bridle.types.tool import Tool, Toolbox
from bridle.types.turn import Prompt
from bridle.types.workspace import Workspace

if TYPE_CHECKING:
    from bridle.cli.packaging import Packages
    from bridle.engine.session_hooks import SessionHooks
    from bridle.host.background import BackgroundShells
    from bridle.sessions.checkpoints import FileCheckpoints
    from bridle.tools.deferring import DeferringToolbox


def _warn(text: str) -> None:
    sys.stderr.write(f"warning: {text}\n")
    sys.stderr.flush()


class Brought(Struct, frozen=True, kw_only=True):
    """What a program around the session puts in place of what would be chosen, or beside it."""

    provider: Provider | None = None
    tools: Callable[[], Sequence[Tool]] | None = None
    """Looked up anew at each step, because they come and go."""
    exchange: Exchange | None = None
    """Reaches MCP servers inside the program."""
    warn: Callable[[str], None] = _warn
    around: Callable[[Provider], Provider] | None = None
    """Wraps whoever answers, to record or to watch."""


class Parts(Struct, frozen=True, kw_only=True):
    """A session ready to run, and how to take it down."""

    runtime: Runtime
    hooks: HookDoor
    open_checkpoints: "Callable[[], FileCheckpoints | None]"
    """The kept files of the conversation as it is now; after a move to another one they are others."""
    commands: Callable[[], Sequence[Command]]
    """The slash commands of Python packages."""
    close: Callable[[], Awaitable[None]]


def set_up(args: Args, env: Mapping[str, str], *, cwd: str | None = None) -> Setup:
    """Read flags and settings, for the folder of this process or another one.

    Raises:
        UsageError: flags contradict each other or cannot be used.
        ConfigError: the settings given on the command line cannot be used.
    """
    cwd = cwd or _current_folder()
    _check(args)
    sources = args.text("setting-sources")
    config = load(
        cwd=cwd,
        env=env,
        flag=args.text("settings"),
        setting_sources=None
        if sources is None
        else tuple(part.strip() for part in sources.split(",") if part.strip()),
    )
    trusted = is_trusted(env, cwd)
    merged = environment(config, env, trusted=trusted)
    rules, problems = choices.choose_rules(args, config, trusted=trusted)
    agent = _main_agent(args, config, merged, cwd=cwd, trusted=trusted)
    return Setup(
        args=args,
        config=config,
        env=merged,
        cwd=cwd,
        trusted=trusted,
        model=choices.choose_model(args, config, merged, agent=agent),
        rules=rules,
        problems=(*map(str, config.problems), *problems),
        agent=agent,
    )


def _main_agent(
    args: Args, config: Config, env: Mapping[str, str], *, cwd: str, trusted: bool
) -> AgentDefinition | None:
    if args.text("agent") is None and "agent" not in config.raw:
        return None
    plugins = early_roots(args, config, env, cwd=cwd, trusted=trusted)
    files = agent_files(config, env, cwd=cwd, closed=choices.is_closed(args, env), plugins=plugins)
    return main_agent(args, config, env, found=files.definitions)


def open_session(setup: Setup, *, warn: Callable[[str], None], follow: Follow | None = None) -> Session:
    """Begin a conversation, or go on with one.

    Raises:
        SessionError: there is no such conversation, or it cannot be opened.
    """
    args, env = setup.args, setup.env
    place = place_of(setup, warn=warn, follow=follow)
    if args.on("continue") or args.has("resume"):
        session = _continue(setup, place)
    else:
        session = store.begin(place, session_id=args.text("session-id"))
    mode = choices.choose_mode(args, setup.config, env)
    session.swap(model=setup.model, mode=mode, rules=setup.rules)
    if mode == "auto":
        from bridle.permissions.auto_grants import entry_notice

        if (notice := entry_notice(setup.rules)) is not None:
            warn(notice)
    if (name := args.text("name")) is not None:
        _name(session, name)
    return session


def place_of(setup: Setup, *, warn: Callable[[str], None], follow: Follow | None = None) -> store.Place:
    """Where the conversations of a session are kept."""
    args, env = setup.args, setup.env
    return store.Place(
        cwd=setup.cwd,
        env=env,
        warn=warn,
        git_branch=git.current_branch(setup.cwd),
        entrypoint=env.get("CLAUDE_CODE_ENTRYPOINT") or ("cli" if args.on("interactive") else "sdk-cli"),
        persist=not (args.on("no-session-persistence") or env.get("CLAUDE_CODE_SKIP_PROMPT_HISTORY")),
        follow=follow,
    )


def _name(session: Session, title: str) -> None:
    session.note({"type": "custom-title", "customTitle": title[:200], "sessionId": session.id})


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
    args, config, env = setup.args, setup.config, setup.env
    packages = _packages(setup, brought)
    provider = _provider(setup, brought, packages)
    warming = asyncio.create_task(_warm_up(provider, setup.model))
    storage = storage_of(setup, session)
    shells = _Shells(storage, on_task)
    roots = choices.choose_roots(args, config, setup.cwd, trusted=setup.trusted)
    own_tools = choices.choose_tools(args, env, session.state.rules)
    workspace = Workspace(setup.cwd, tasks=shells.make, extra_roots=roots)
    _recall_files(session, workspace)
    sandbox = await _sandbox(setup, workspace, channel, brought.warn)
    plugins = await open_plugins(setup, warn=brought.warn)
    hooks = HookDoor(lambda: _hooks(setup, session, runtime, wake, plugins))
    servers = open_servers(
        setup,
        channel=channel,
        workspace=workspace,
        hooks=hooks,
        sandbox=sandbox,
        exchange=brought.exchange,
        warn=brought.warn,
        wake=wake,
        plugins=plugins.servers(),
    )
    facts = choices.facts_of(args, config, env)
    deferring = _deferring(
        own_tools,
        _foreign(_with_packages(brought, packages, own_tools.names()), servers, session),
        deferral=choices.choose_deferral(args, env, session.state.rules),
        window=lambda: facts(session.state.model).context_window,
        session=session,
        servers=servers,
    )
    toolbox: Toolbox = deferring or own_tools
    provider = lasting.metered(setup, session, provider, facts)
    memory = lasting.memory_of(setup)
    notes = lasting.notes_of(setup, storage)
    errands = lasting.errands_of(setup, memory=memory, notes=notes)
    extensions = open_extensions(
        setup,
        workspace=workspace,
        hooks=hooks,
        storage=storage,
        offered=toolbox.names(),
        window=lambda: facts(session.state.model).context_window,
        plugins=plugins.roots,
        warn=brought.warn,
    )
    news, again = _news(deferring, servers, extensions.skills), _again(deferring, extensions.skills)
    checkpoints = _checkpoints(setup, session, workspace, storage)
    agents, toolbox = _agents(setup, hooks, extensions, toolbox)
    toolbox = _fitted(toolbox, facts(setup.model).context_window)

    async def brief(place: Setup) -> SessionBriefing:
        return await _brief(
            place,
            session,
            tools=toolbox.names(),
            roots=roots,
            hooks=hooks,
            listings=(
                lambda: agents.listing() if "Agent" in toolbox.names() else None,
                lasting.memory_listing(memory),
                extensions.skill_listing,
            ),
            style=chosen_style(extensions, config.settings.output_style),
        )

    runtime = Runtime(
        provider=provider,
        channel=channel,
        workspace=workspace,
        toolbox=toolbox,
        decide=lambda case: _decide(case, config),
        briefing=await brief(setup),
        facts=facts,
        asking=_named(choices.choose_asking(args, config, env, model=setup.model), env, session),
        storage=storage,
        env=env,
        hooks=hooks,
        limits=choices.choose_limits(args, env),
        persist=lambda update: _persist(update, setup),
        modes=choices.choose_modes(args, config, env),
        trusted=setup.trusted,
        judge=_judge_by(config),
        sandbox=sandbox,
        sandbox_allows=_is_unasked_inside(config),
        checkpoints=checkpoints,
        habits=habits_from(
            env, enabled=config.settings.auto_compact_enabled, window=lasting.compact_at(setup)
        ),
        plans=lasting.plans_of(setup),
        planner=lasting.planner_of(setup),
        memory=memory,
        notes=notes,
        errands=errands,
        transcript=_transcript(setup, session),
        servers=servers,
        news=news,
        restore=again,
        agents=agents,
        skills=extensions.skills,
        plugins=plugins,
        styles=extensions.style_names,
        tree_links=_tree_links(config),
    )

    await _automate(setup, session, runtime, servers)
    _listen(hooks, packages, plugins)

    async def close() -> None:
        warming.cancel()
        await asyncio.gather(warming, return_exceptions=True)
        await _close_each(errands, agents)
        await hooks.say_goodbye()
        await _close_each(hooks, shells, servers, sandbox, provider, checkpoints)
        await _leave_worktree(runtime)
        session.close()

    if args.has("worktree"):
        try:
            await _enter_worktree(runtime, hooks, setup, brought.warn)
        except UsageError:
            await close()
            raise
        there = msgspec.structs.replace(setup, cwd=workspace.cwd)
        runtime = msgspec.structs.replace(runtime, briefing=await brief(there))
    if greets:
        await _greet(hooks, setup, session)
    return Parts(
        runtime=runtime,
        hooks=hooks,
        open_checkpoints=lambda: _checkpoints(setup, session, workspace, storage),
        commands=packages.commands if packages is not None else tuple,
        close=close,
    )


class _Closing(Protocol):
    async def close(self) -> None: ...


async def _close_each(*parts: _Closing | None) -> None:
    """One after the other, in this order."""
    for part in parts:
        if part is not None:
            await part.close()


def _tree_links(config: Config) -> tuple[str, ...]:
    wanted = config.settings.worktree
    return () if wanted is None else wanted.symlink_directories or ()


async def _enter_worktree(
    runtime: Runtime, hooks: HookDoor, setup: Setup, warn: Callable[[str], None]
) -> None:
    """Move to the work tree that was asked for on the command line.

    Raises:
        UsageError: there can be none.
    """
    from bridle.engine.session_worktree import begin_in_worktree

    if _has_hooks(hooks, setup):
        hooks.open()
    try:
        for note in await begin_in_worktree(runtime, setup.args.text("worktree")):
            warn(note)
    except ToolError as error:
        raise UsageError(f"--worktree: {error}") from error


async def _leave_worktree(runtime: Runtime) -> None:
    if runtime.workspace.visit is not None:
        from bridle.engine.session_worktree import SessionWorktree

        await SessionWorktree(runtime).close()


def _packages(setup: Setup, brought: Brought) -> "Packages | None":
    """What Python packages bring; they are looked for once the user has approved one."""
    closed = choices.is_closed(setup.args, setup.env)
    if closed or not os.path.exists(os.path.join(bridle_dir(setup.env), "packages.json")):
        return None
    from bridle.cli.packaging import load_packages

    return load_packages(setup.env, warn=brought.warn)


def _listen(hooks: HookDoor, packages: "Packages | None", plugins: OpenPlugins) -> None:
    if packages is not None:
        packages.listen(hooks)
    plugins.follow(hooks)


def _provider(setup: Setup, brought: Brought, packages: "Packages | None") -> Provider:
    """Who answers: what the program around the session brings, a package, or the service of the model."""
    config, env = setup.config, setup.env
    provider = brought.provider
    if provider is None and packages is not None:
        provider = packages.provider(setup.model, env)
    if provider is None:
        provider = provider_for(
            setup.model,
            env,
            fallbacks=choices.choose_fallbacks(setup.args, config, env),
            own_models=config.raw.get("bridleModels") or {},
            names=config.settings.model_overrides,
            helper=config.settings.api_key_helper,
        )
    return provider if brought.around is None else brought.around(provider)


def _agents(
    setup: Setup, hooks: HookDoor, extensions: Extensions, toolbox: Toolbox
) -> tuple[Agents, Toolbox]:
    """Whom the session can hand work to, and its tools, fewer where it is an agent itself."""
    agents = make_agents(setup, hooks, found=extensions.agents.definitions, skill=extensions.skill_text)
    if setup.agent is None:
        return agents, toolbox
    toolbox, allowed = as_agent(toolbox, setup.agent)
    return Agents(agents.staff, allowed=allowed), toolbox


async def _warm_up(provider: Provider, model: str) -> None:
    """Connect ahead of the first request, where there is something to connect to."""
    if isinstance(provider, WarmingProvider):
        await provider.warm_up(model)


def _with_packages(brought: Brought, packages: "Packages | None", taken: Sequence[str]) -> Brought:
    if packages is None:
        return brought
    tools, own = packages.tools(taken), brought.tools
    if not tools:
        return brought
    every = (lambda: tools) if own is None else lambda: (*own(), *tools)
    return msgspec.structs.replace(brought, tools=every)


def _foreign(
    brought: Brought, servers: ServerDoor | None, session: Session
) -> Callable[[], Sequence[Tool]] | None:
    """The tools that come from outside, without those that are denied as a whole.

    They are asked for at every step, so the same answer is the same object until something changes.
    """
    if servers is None and brought.tools is None:
        return None
    from bridle.permissions.matching import names

    own = brought.tools or (lambda: ())
    known: list[tuple[object, object, object, Sequence[Tool]]] = []

    def offered() -> Sequence[Tool]:
        first, second = own(), servers.tools() if servers is not None else ()
        rules = session.state.rules
        if known and known[0][0] is first and known[0][1] is second and known[0][2] is rules:
            return known[0][3]
        denied = [rule for rule in rules if rule.effect is Effect.DENY and rule.content is None]
        every = (*first, *second)
        kept = [tool for tool in every if not any(names(rule, tool.name) for rule in denied)]
        known[:] = [(first, second, rules, kept if denied else every)]
        return known[0][3]

    return offered


def _deferring(
    own: BuiltinToolbox,
    others: Callable[[], Sequence[Tool]] | None,
    *,
    deferral: Deferral,
    window: Callable[[], int],
    session: Session,
    servers: ServerDoor | None,
) -> "DeferringToolbox | None":
    """The tools of the session where some come later; None where all are told at once from the start."""
    if others is None and (deferral.when != "always" or not own.deferred()):
        return None
    from bridle.tools.deferring import DeferringToolbox
    from bridle.tools.tool_search import found_before

    results = [entry.get("toolUseResult") for entry in session.entries if entry["type"] == "user"]
    return DeferringToolbox(
        own,
        others or _none,
        deferral=deferral,
        window=window,
        loaded=found_before(results),
        waiting=lambda: () if servers is None else servers.waiting(),
    )


def _fitted(toolbox: Toolbox, window: int) -> Toolbox:
    """The tools as a model with this window can take them."""
    if window >= choices.SMALL_WINDOW:
        return toolbox
    from bridle.providers.trimming import SlimToolbox

    return SlimToolbox(toolbox, window)


def _has_small_window(setup: Setup) -> bool:
    window = choices.facts_of(setup.args, setup.config, setup.env)(setup.model).context_window
    return window < choices.SMALL_WINDOW


def _none() -> Sequence[Tool]:
    return ()


async def _automate(setup: Setup, session: Session, runtime: Runtime, servers: ServerDoor | None) -> None:
    """Let scripts use the servers, where a variable asks for that."""
    if servers is None or not setup.env.get("ENABLE_EXPERIMENTAL_MCP_CLI"):
        return
    from bridle.cli.mcp_endpoint import Automation, is_enabled
    from bridle.cli.outside_calls import OutsideCalls

    if is_enabled(setup.env):
        calls = OutsideCalls(session, runtime)
        automation = Automation(servers, calls, env=setup.env, session_id=session.id)
        await automation.open()
        servers.before_close(automation.close)


def _again(
    deferring: "DeferringToolbox | None", skills: SessionSkills | None
) -> tuple[Callable[[], str | None], ...]:
    """What the model must be told again after a compaction."""
    used = () if skills is None else (skills.restored,)
    return used if deferring is None else (deferring.again, *used)


def _news(
    deferring: "DeferringToolbox | None", servers: ServerDoor | None, skills: SessionSkills | None
) -> Callable[[Session], str | None] | None:
    """What the model should learn before a step: tools that are there, what servers say, skills that came."""
    sources: list[Callable[[Session], str | None]] = []
    if deferring is not None:
        sources.append(deferring.news)
    if servers is not None:
        sources.append(servers.news)
    if skills is not None:
        sources.append(skills.news)
    if not sources:
        return None
    return lambda session: "\n\n".join(filter(None, (source(session) for source in sources))) or None


def _transcript(setup: Setup, session: Session) -> str | None:
    if setup.args.on("no-session-persistence"):
        return None
    return store.transcript_path(session.id, setup.cwd, setup.env)


def _hooks(
    setup: Setup,
    session: Session,
    runtime: Runtime,
    wake: Callable[[Prompt], None],
    plugins: OpenPlugins,
) -> "SessionHooks":
    """What runs hooks; imported only where there are any."""
    from bridle.cli.hooking import make_hooks

    return make_hooks(setup, session, runtime, wake=wake, plugins=plugins.hook_tables())


def _has_hooks(hooks: HookDoor, setup: Setup) -> bool:
    named = hooks.is_open or any(layer.values.get("hooks") for layer in setup.config.layers)
    return named and not choices.is_bare(setup.args, setup.env) and not choices.is_safe(setup.args, setup.env)


async def _greet(hooks: HookDoor, setup: Setup, session: Session) -> None:
    """Tell hooks that the session begins, and let them set the project up first where that was asked for."""
    args = setup.args
    if not _has_hooks(hooks, setup):
        return
    opened = hooks.open()
    if args.on("init") or args.on("init-only") or args.on("maintenance"):
        from bridle.types.hook import Setup as SettingUp

        trigger = "maintenance" if args.on("maintenance") else "init"
        await opened.prepare(SettingUp(trigger=trigger))
    resumed = bool(session.entries)
    await opened.greet("fork" if resumed and args.on("fork-session") else "resume" if resumed else "startup")


def _checkpoints(
    setup: Setup, session: Session, workspace: Workspace, storage: str
) -> "FileCheckpoints | None":
    """Who keeps what files held; the code is imported only where that is wanted."""
    if not choices.keeps_files(setup.config, setup.env, interactive=setup.args.on("interactive")):
        return None
    from bridle.sessions.checkpoints import Surroundings
    from bridle.sessions.file_history import open_checkpoints

    around = Surroundings(
        note=session.note, roots=lambda: workspace.roots, seen=workspace.files.paths, env=setup.env
    )
    kept_nowhere = setup.args.on("no-session-persistence")
    return open_checkpoints(session, around, env=setup.env, storage=storage if kept_nowhere else None)


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


async def _sandbox(
    setup: Setup, workspace: Workspace, channel: Channel, warn: Callable[[str], None]
) -> Sandbox | None:
    """The boundary around commands; its code is imported only where the settings turn it on."""
    wanted = setup.config.settings.sandbox
    if wanted is None or not wanted.enabled:
        return None
    from bridle.config.sandboxing import make_sandbox

    return await make_sandbox(
        setup.config,
        cwd=setup.cwd,
        env=setup.env,
        roots=lambda: workspace.roots,
        ask=lambda question: _ask_about_host(question, channel, setup, warn),
        warn=warn,
    )


async def _ask_about_host(
    question: NetworkQuestion, channel: Channel, setup: Setup, warn: Callable[[str], None]
) -> Answer:
    """Whether a host may be reached; what is meant to last is written down."""
    from bridle.permissions.updates import PERSISTENT, read_update

    answer = await channel.ask(question)
    for given in answer.updates if isinstance(answer, Permitted) else ():
        try:
            if (update := read_update(given))["destination"] in PERSISTENT:
                await _persist(update, setup)
        except (ConfigError, OSError, ValueError) as error:
            warn(f"The host may be reached in this session only: {error}")
    return answer


def _is_unasked_inside(config: Config) -> bool:
    wanted = config.settings.sandbox
    if wanted is None:
        return True
    only_network = wanted.filesystem is not None and wanted.filesystem.disabled is True
    return wanted.auto_allow_bash_if_sandboxed is not False and not only_network


def storage_of(setup: Setup, session: Session) -> str:
    """Where large outputs go: beside the transcript, or below the temporary folder when there is none."""
    if setup.args.on("no-session-persistence"):
        base = setup.env.get("CLAUDE_CODE_TMPDIR") or setup.env.get("TMPDIR") or "/tmp"
        # Nobody else can know the name before the folder is there.
        return os.path.join(base, f"bridle-{session.id}")
    return os.path.join(project_dir(setup.cwd, setup.env), session.id)


async def _brief(
    setup: Setup,
    session: Session,
    *,
    tools: tuple[str, ...],
    roots: tuple[str, ...],
    hooks: HookDoor,
    listings: Sequence[Callable[[], str | None]] = (),
    style: Style,
) -> SessionBriefing:
    args, settings, env = setup.args, setup.config.settings, setup.env
    switches = read_switches(env)
    bare = choices.is_bare(args, env) or choices.is_safe(args, env)
    speaks_git = switches.git and settings.include_git_instructions is not False
    custom = _text_or_file(args, "system-prompt")
    if custom is None and setup.agent is not None:
        custom = agent_prompt(setup.agent, setup)
    inputs = PromptInputs(
        environment=gather_environment(setup.cwd, model=setup.model, env=env, extra_roots=roots),
        tools=tools,
        person=choices.is_attended(args),
        custom=custom,
        append=_text_or_file(args, "append-system-prompt") or "",
        minimal=choices.is_bare(args, env) or switches.minimal_prompt or _has_small_window(setup),
        language=settings.language or "",
        style=style.text,
        coding=style.keeps_coding,
        git_advice=speaks_git,
        attribution=_attribution(setup.config),
        facts_apart=args.on("exclude-dynamic-system-prompt-sections"),
    )
    scope = None if bare else _instruction_scope(setup, roots)
    is_new = not len(session.history)
    wants_git = is_new and speaks_git and not bare
    return SessionBriefing(
        inputs,
        scope=scope,
        git=await git.snapshot(setup.cwd, env) if wants_git else None,
        on_load=lambda file, reason: _tell_of_instructions(hooks, file, reason),
        listings=listings,
    )


def _tell_of_instructions(hooks: HookDoor, file: InstructionFile, reason: LoadReason) -> None:
    if not hooks.hears("InstructionsLoaded"):
        return
    from bridle.types.hook import InstructionsLoaded

    hooks.notify(
        InstructionsLoaded(
            file_path=file.path,
            memory_type=file.kind,
            load_reason=reason,
            globs=file.globs or None,
            trigger_file_path=file.trigger,
            parent_file_path=file.parent,
        )
    )


def _instruction_scope(setup: Setup, roots: tuple[str, ...]) -> Scope:
    settings = setup.config.settings
    chosen = setup.config.inputs.setting_sources
    return open_scope(
        setup.cwd,
        env=setup.env,
        managed_dir=setup.config.inputs.managed_dir,
        managed_text=settings.claude_md or "",
        sources=ALL_SOURCES if chosen is None else frozenset(chosen),
        excludes=settings.claude_md_excludes or (),
        extra_dirs=roots,
    )


def _attribution(config: Config) -> Attribution:
    given = config.settings.attribution
    usual = Attribution()
    if config.settings.include_co_authored_by is False:
        usual = Attribution("", "")
    if given is None:
        return usual
    return Attribution(
        usual.commit if given.commit is None else given.commit,
        usual.pull_request if given.pr is None else given.pr,
    )


def _named(asking: Asking, env: Mapping[str, str], session: Session) -> Asking:
    """Requests carry a name for the installation and the session, and nothing about the person."""
    user = f"user_{installation_id(env)}_session_{session.id}"
    return msgspec.structs.replace(asking, user_id=user)


def _text_or_file(args: Args, key: str) -> str | None:
    text, path = args.text(key), args.text(f"{key}-file")
    if text is not None and path is not None:
        raise UsageError(f"--{key} and --{key}-file cannot be used together")
    if path is None:
        return None if text is None else encodable(text)
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--{key}-file: {path} cannot be read: {error}") from error


def _continue(setup: Setup, place: store.Place) -> Session:
    """Go on with a conversation; without one to continue, a new one begins."""
    from bridle.sessions import resume

    args = setup.args
    if args.on("resume"):
        raise UsageError("--resume needs the id of a conversation in print mode; --continue takes the newest")
    wanted = args.text("resume")
    path = (
        resume.newest(setup.cwd, setup.env) if wanted is None else resume.find(wanted, setup.cwd, setup.env)
    )
    if path is None:
        return store.begin(place, session_id=args.text("session-id"))
    return resume.resume(
        path,
        place,
        fork=args.on("fork-session"),
        session_id=args.text("session-id"),
        at=args.text("resume-session-at"),
        drops_turn=args.text("resume-drops-turn"),
    )


def _recall_files(session: Session, workspace: Workspace) -> None:
    """A resumed conversation may go on editing what it has read."""
    results = [entry.get("toolUseResult") for entry in session.entries if entry["type"] == "user"]
    if any(results):
        from bridle.tools.remembered import remember

        remember(workspace.files, results)


def _decide(case: Case, config: Config) -> Decision:
    """The gate; its rules are imported with the first call that needs them."""
    from bridle.permissions.policy import decide

    if case.mode != "auto":
        return decide(case)
    from bridle.permissions.auto import screen
    from bridle.permissions.auto_rules import merged

    return screen(decide, merged(config.settings.auto_mode))(case)


def _judge_by(config: Config) -> Callable[[Turn, Case, Ask], Awaitable[Decision]]:
    """Auto mode's answer to what would be asked."""

    async def judge(turn: Turn, case: Case, doubt: Ask) -> Decision:
        from bridle.engine.judge import make_judge

        during_plan = config.settings.use_auto_mode_during_plan is not False
        return await make_judge(config.settings.auto_mode, during_plan=during_plan)(turn, case, doubt)

    return judge


async def _persist(update: PermissionUpdate, setup: Setup) -> None:
    """Write an update into the settings file that it names.

    Raises:
        ConfigError: the file does not parse.
        OSError: the file cannot be written.
    """
    from bridle.config.edit import update as edit
    from bridle.permissions.updates import changed_settings

    folder, name = os.path.join(setup.cwd, ".claude"), "settings.json"
    match update["destination"]:
        case "userSettings":
            folder = config_home(setup.env)
        case "localSettings":
            name = "settings.local.json"
        case _:
            pass
    await asyncio.to_thread(edit, os.path.join(folder, name), lambda values: changed_settings(values, update))


def _check(args: Args) -> None:
    continues = args.on("continue") or args.has("resume")
    if args.on("continue") and args.has("resume"):
        raise UsageError("--continue and --resume cannot be used together")
    if args.has("session-id") and continues and not args.on("fork-session"):
        raise UsageError(
            "--session-id can only be used with --continue or --resume together with --fork-session"
        )
    if args.on("fork-session") and not continues:
        raise UsageError("--fork-session needs --continue or --resume")
    output, input = args.text("output-format") or "text", args.text("input-format") or "text"
    if output == "stream-json" and not args.on("verbose"):
        raise UsageError("--output-format stream-json needs --verbose")
    if input == "stream-json" and output != "stream-json":
        raise UsageError("--input-format stream-json needs --output-format stream-json")
    asked = args.text("permission-prompt-tool")
    if asked not in (None, "stdio") and (not asked.startswith("mcp__") or asked.count("__") < 2):
        raise UsageError(f"--permission-prompt-tool takes stdio or mcp__server__tool, not {asked!r}")
    for flag in ("include-partial-messages", "replay-user-messages"):
        if args.on(flag) and output != "stream-json":
            raise UsageError(f"--{flag} needs --output-format stream-json")


def _current_folder() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError as error:
        raise UsageError("the current folder does not exist any more: change to another one") from error
