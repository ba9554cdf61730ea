"""Reads the flags and settings of a session."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from bridle.config.load import Config, environment, load
from bridle.config.options import SessionOptions
from bridle.config.source_limits import UNTRUSTED
from bridle.config.state import is_trusted, trust_root
from bridle.extensions.roots import Kind, Root
from bridle.host.programs import PROGRAMS
from bridle.host.secrets import SECRETS
from bridle.session import choices, model_choices, permission_choices
from bridle.session.parts.extensions import agent_files
from bridle.session.parts.plugins import early_plugins
from bridle.session.setup import Setup
from bridle.types.agent import AgentDefinition
from bridle.types.errors import UsageError
from bridle.types.variables import ENTRYPOINT, own_entrypoint

if TYPE_CHECKING:
    from bridle.extensions.plugins.plugin import Plugins


def set_up(options: SessionOptions, env: Mapping[str, str], *, cwd: str | None = None) -> Setup:
    """Read flags and settings, for the folder of this process or another one.

    Raises:
        UsageError: flags contradict each other or cannot be used.
        ConfigError: the settings given on the command line cannot be used.
    """
    cwd = cwd or _current_folder()
    if options.trust:
        env = {**env, "BRIDLE_TRUST_FOLDER": trust_root(env, cwd)}
    PROGRAMS.keep_out_of((cwd,))
    _check(options)
    sources = options.setting_sources
    config = load(
        cwd=cwd,
        env=env,
        flag=options.settings,
        parent=options.managed_settings,
        setting_sources=None
        if sources is None
        else tuple(part.strip() for part in sources.split(",") if part.strip()),
    )
    if config.settings.required_minimum_version or config.settings.required_maximum_version:
        from bridle.config.version_limits import check_version  # Few administrators set one.

        check_version(config.settings)
    trusted = is_trusted(env, cwd)
    lock = None
    if options.locked:
        from bridle.session.lock.locked import lock_for, with_models  # Few sessions are locked.

        lock = lock_for(cwd, trusted=trusted)
        config = with_models(config, lock)
    if trusted:
        # Where it was trusted before contents were recorded, they are now.
        adopt(env, cwd)
    merged = environment(config, env, trusted=trusted)
    merged[ENTRYPOINT] = own_entrypoint(merged, interactive=options.interactive)
    SECRETS.learn_environment(merged)
    rules, problems = permission_choices.choose_rules(options, config, trusted=trusted)
    early = early_plugins(options, config, merged, cwd=cwd, trusted=trusted)
    agent = _main_agent(options, config, merged, cwd=cwd, plugins=early.plugins)
    advisor, doubts = _advisor(options, config, merged)
    left_out = tuple(each for each in config.problems if each.message == UNTRUSTED)
    lost = (f"--add-dir: no such folder: {path}" for path in choices.missing_roots(options, cwd))
    model = model_choices.choose_model(options, config, merged, agent=agent)
    if options.offline or (config.settings.network and config.settings.network.mode == "offline"):
        from bridle.session.offline import go_offline  # Few sessions are.

        go_offline(config, merged, model)
    return Setup(
        options=options,
        config=config,
        env=merged,
        inherited=env,
        cwd=cwd,
        trusted=trusted,
        model=model,
        rules=rules,
        problems=(*map(str, config.problems), *lost, *problems, *doubts),
        left_out=left_out,
        agent=agent,
        advisor=advisor,
        early=early,
        lock=lock,
    )


def adopt(env: Mapping[str, str], cwd: str) -> None:
    """Bind what a trusted folder brings to its content, where that is not done yet."""
    from bridle.config import trust  # Most folders are not trusted.

    trust.adopt(env, cwd)


def _main_agent(
    options: SessionOptions, config: Config, env: Mapping[str, str], *, cwd: str, plugins: "Plugins | None"
) -> AgentDefinition | None:
    named = options.agent is not None or "agent" in config.raw
    proposed = () if named or plugins is None else plugins.agents()
    if not named and not proposed and "CLAUDE_CODE_COORDINATOR_MODE" not in env:
        return None
    from bridle.features.agents.main_agent import coordinator, main_agent

    if not named and not proposed:
        return coordinator(env)
    roots = _no_roots if plugins is None else plugins.roots
    files = agent_files(config, env, cwd=cwd, closed=choices.is_closed(options, env), plugins=roots)
    return main_agent(options, config, env, found=files.definitions, proposed=proposed)


def _advisor(
    options: SessionOptions, config: Config, env: Mapping[str, str]
) -> tuple[str | None, tuple[str, ...]]:
    if options.advisor is None and not config.settings.advisor_model:
        return None, ()
    from bridle.features.advisor.choice import choose_advisor

    return choose_advisor(options.advisor, config, env)


def _no_roots(_: Kind) -> tuple[Root, ...]:
    return ()


def _check(options: SessionOptions) -> None:
    if options.continue_newest and options.resume is not None:
        raise UsageError("--continue and --resume can't be used together")
    if options.session_id is not None and options.continues and not options.fork_session:
        raise UsageError(
            "--session-id can only be used with --continue or --resume together with --fork-session"
        )
    if options.fork_session and not options.continues:
        raise UsageError("--fork-session needs --continue or --resume")
    output, input = options.output_format or "text", options.input_format or "text"
    if output == "stream-json" and not options.verbose:
        raise UsageError("--output-format stream-json needs --verbose")
    if input == "stream-json" and output != "stream-json":
        raise UsageError("--input-format stream-json needs --output-format stream-json")
    asked = options.permission_prompt_tool
    if asked not in (None, "stdio") and (not asked.startswith("mcp__") or asked.count("__") < 2):
        raise UsageError(f"--permission-prompt-tool takes stdio or mcp__server__tool, not {asked!r}")
    for field in ("include_partial_messages", "replay_user_messages"):
        if getattr(options, field) and output != "stream-json":
            raise UsageError(f"--{field.replace('_', '-')} needs --output-format stream-json")


def _current_folder() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError as error:
        raise UsageError("the current folder no longer exists: change to another one") from error
