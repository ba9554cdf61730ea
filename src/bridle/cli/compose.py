"""Puts the parts of a session together."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from bridle.cli import choices
from bridle.cli.args import Args
from bridle.cli.setup import Setup
from bridle.config.load import Config, environment, load
from bridle.config.state import installation_id, is_trusted
from bridle.context.briefing import SessionBriefing
from bridle.context.environment import gather_environment
from bridle.context.prompt import Attribution, PromptInputs
from bridle.context.scope import ALL_SOURCES, Scope, open_scope
from bridle.context.switches import read_switches
from bridle.engine.runtime import Asking, Runtime
from bridle.engine.turn import Turn
from bridle.host import git
from bridle.host.paths import config_home, project_dir
from bridle.providers.connect import provider_for
from bridle.sessions import store
from bridle.sessions.session import Session
from bridle.types.block import text_block
from bridle.types.channel import Channel
from bridle.types.errors import UsageError
from bridle.types.hook_outcome import NoHooks
from bridle.types.permission import Ask, Case, Decision, PermissionUpdate
from bridle.types.sandbox import Sandbox
from bridle.types.task import Task, Tasks
from bridle.types.text import encodable
from bridle.types.workspace import Workspace

if TYPE_CHECKING:
    from bridle.cli.hooking import SessionHooks
    from bridle.host.background import BackgroundShells


class Parts(Struct, frozen=True, kw_only=True):
    """A session ready to run, and how to take it down."""

    runtime: Runtime
    close: Callable[[], Awaitable[None]]


def set_up(args: Args, env: Mapping[str, str]) -> Setup:
    """Read flags and settings.

    Raises:
        UsageError: flags contradict each other or cannot be used.
        ConfigError: the settings given on the command line cannot be used.
    """
    cwd = _current_folder()
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
    return Setup(
        args=args,
        config=config,
        env=merged,
        cwd=cwd,
        trusted=trusted,
        model=choices.choose_model(args, config, merged),
        rules=rules,
        problems=(*map(str, config.problems), *problems),
    )


def open_session(setup: Setup, *, warn: Callable[[str], None]) -> Session:
    """Begin a conversation, or go on with one.

    Raises:
        SessionError: there is no such conversation, or it cannot be opened.
    """
    args, env = setup.args, setup.env
    place = store.Place(
        cwd=setup.cwd,
        env=env,
        warn=warn,
        git_branch=git.current_branch(setup.cwd),
        entrypoint=env.get("CLAUDE_CODE_ENTRYPOINT") or "sdk-cli",
        persist=not (args.on("no-session-persistence") or env.get("CLAUDE_CODE_SKIP_PROMPT_HISTORY")),
    )
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


def _name(session: Session, title: str) -> None:
    session.note({"type": "custom-title", "customTitle": title[:200], "sessionId": session.id})


async def assemble(
    setup: Setup, session: Session, channel: Channel, *, on_task: Callable[[Task], None]
) -> Parts:
    """Choose the parts that the engine works with."""
    args, config, env = setup.args, setup.config, setup.env
    own_models = config.raw.get("bridleModels") or {}
    provider = provider_for(
        setup.model, env, fallbacks=choices.choose_fallbacks(args, config, env), own_models=own_models
    )
    warming = asyncio.create_task(provider.warm_up(setup.model))
    storage = storage_of(setup, session)
    shells = _Shells(storage, on_task)
    roots = choices.choose_roots(args, config, setup.cwd, trusted=setup.trusted)
    toolbox = choices.choose_tools(args, env, session.state.rules)
    asking = choices.choose_asking(args, config, env, model=setup.model)
    workspace = Workspace(setup.cwd, tasks=shells.make, extra_roots=roots)
    _recall_files(session, workspace)
    sandbox = await _sandbox(setup, workspace, channel)
    hooks = _hooks(setup, session, workspace=workspace, channel=channel, storage=storage, sandbox=sandbox)
    runtime = Runtime(
        provider=provider,
        channel=channel,
        workspace=workspace,
        toolbox=toolbox,
        decide=lambda case: _decide(case, config),
        briefing=await _brief(setup, session, tools=toolbox.names(), roots=roots),
        facts=choices.facts_of(args, config, env),
        asking=_named(asking, env, session),
        storage=storage,
        env=env,
        hooks=hooks or NoHooks(),
        limits=choices.choose_limits(args, env),
        persist=lambda update: _persist(update, setup),
        modes=choices.choose_modes(args, config, env),
        trusted=setup.trusted,
        judge=_judge_by(config),
        sandbox=sandbox,
        sandbox_allows=_is_unasked_inside(config),
    )

    async def close() -> None:
        warming.cancel()
        await asyncio.gather(warming, return_exceptions=True)
        if hooks is not None:
            await hooks.say_goodbye()
            await hooks.close()
        await shells.close()
        if sandbox is not None:
            await sandbox.close()
        await provider.close()
        session.close()

    if hooks is not None:
        await _greet(hooks, setup, session)
    return Parts(runtime=runtime, close=close)


def _hooks(
    setup: Setup,
    session: Session,
    *,
    workspace: Workspace,
    channel: Channel,
    storage: str,
    sandbox: Sandbox | None,
) -> "SessionHooks | None":
    """The hooks of the settings files; their code is imported only where there are any."""
    named = any(layer.values.get("hooks") for layer in setup.config.layers)
    if not named or choices.is_bare(setup.args, setup.env) or choices.is_safe(setup.args, setup.env):
        return None
    from bridle.cli.hooking import SessionHooks

    boundary = None
    if sandbox is not None:
        from bridle.config.sandboxing import sandbox_for_programs

        boundary = sandbox_for_programs(setup.config, sandbox)
    return SessionHooks(
        setup, session, workspace=workspace, channel=channel, storage=storage, sandbox=boundary
    )


async def _greet(hooks: "SessionHooks", setup: Setup, session: Session) -> None:
    """Tell hooks that the session begins, and the model what they have to say."""
    args = setup.args
    resumed = bool(session.entries)
    source = "fork" if resumed and args.on("fork-session") else "resume" if resumed else "startup"
    from bridle.types.hook import SessionStart

    said = await hooks.fire(SessionStart(source=source, model=session.state.model))
    if said.context:
        session.say_user([text_block(text) for text in said.context], meta=True)
    if said.session_title is not None:
        session.note(
            {"type": "custom-title", "customTitle": said.session_title[:200], "sessionId": session.id}
        )


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


async def _sandbox(setup: Setup, workspace: Workspace, channel: Channel) -> Sandbox | None:
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
        ask=channel.ask,
        warn=_warn,
    )


def _warn(text: str) -> None:
    sys.stderr.write(f"warning: {text}\n")
    sys.stderr.flush()


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
    setup: Setup, session: Session, *, tools: tuple[str, ...], roots: tuple[str, ...]
) -> SessionBriefing:
    args, settings, env = setup.args, setup.config.settings, setup.env
    switches = read_switches(env)
    bare = choices.is_bare(args, env) or choices.is_safe(args, env)
    speaks_git = switches.git and settings.include_git_instructions is not False
    custom = _text_or_file(args, "system-prompt")
    inputs = PromptInputs(
        environment=gather_environment(setup.cwd, model=setup.model, env=env, extra_roots=roots),
        tools=tools,
        custom=custom,
        append=_text_or_file(args, "append-system-prompt") or "",
        minimal=choices.is_bare(args, env) or switches.minimal_prompt,
        language=settings.language or "",
        git_advice=speaks_git,
        attribution=_attribution(setup.config),
        facts_apart=args.on("exclude-dynamic-system-prompt-sections"),
    )
    scope = None if bare else _instruction_scope(setup, roots)
    is_new = not len(session.history)
    wants_git = is_new and speaks_git and not bare
    return SessionBriefing(inputs, scope=scope, git=await git.snapshot(setup.cwd, env) if wants_git else None)


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

        return await make_judge(config.settings.auto_mode)(turn, case, doubt)

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
    for flag in ("include-partial-messages", "replay-user-messages"):
        if args.on(flag) and output != "stream-json":
            raise UsageError(f"--{flag} needs --output-format stream-json")


def _current_folder() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError as error:
        raise UsageError("the current folder does not exist any more: change to another one") from error
