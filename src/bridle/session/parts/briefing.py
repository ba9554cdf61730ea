"""Writes what the model reads before the first prompt."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from bridle.config.load import Config
from bridle.config.options import SessionOptions
from bridle.context.briefing import LoadReason, SessionBriefing
from bridle.context.environment import gather_environment
from bridle.context.instruction_scope import ALL_SOURCES, InstructionFile, Scope, open_scope
from bridle.context.prompt import Attribution, PromptInputs
from bridle.context.prompt_switches import read_switches
from bridle.context.sections import SECTIONS
from bridle.engine.hooks.lazy_hooks import LazyHooks
from bridle.engine.model_facts import Facts, has_small_window
from bridle.engine.permissions.notices import PermissionNotices
from bridle.host.git import repository
from bridle.session import choices, permission_choices
from bridle.session.parts.extensions import Style
from bridle.session.setup import Setup
from bridle.transcripts.session import Session
from bridle.types.errors import UsageError
from bridle.types.text import encodable

if TYPE_CHECKING:
    from bridle.session.base import SessionBase

AGREED = True
"""What is kept of an import that the user agreed to; False of one that they did not."""


async def brief(
    setup: Setup,
    session: Session,
    *,
    tools: tuple[str, ...],
    roots: tuple[str, ...],
    hooks: LazyHooks,
    listings: Sequence[Callable[[], str | None]] = (),
    style: Style,
    facts: Facts,
) -> SessionBriefing:
    options, settings, env = setup.options, setup.config.settings, setup.env
    switches = read_switches(env)
    bare = choices.is_closed(options, env)
    speaks_git = switches.git and settings.include_git_instructions is not False
    custom = _text_or_file(options.system_prompt, options.system_prompt_file, "system-prompt")
    if custom is None and setup.agent is not None:
        from bridle.features.agents.main_agent import agent_prompt

        custom = agent_prompt(setup.agent, cwd=setup.cwd, env=setup.env, trusted=setup.trusted)
    sections = SECTIONS
    if setup.lock is not None:
        from bridle.session.lock.locked import locked_sections

        sections = locked_sections(setup.lock)
    inputs = PromptInputs(
        sections=sections,
        environment=gather_environment(setup.cwd, model=setup.model, env=env, extra_roots=roots),
        tools=tools,
        person=options.is_attended,
        place=options.place,
        custom=custom,
        append=_appended(options),
        minimal=choices.is_bare(options, env) or switches.minimal_prompt,
        language=settings.language or "",
        style=style.text,
        coding=style.keeps_coding,
        git_advice=speaks_git,
        attribution=_attribution(setup.config),
        facts_apart=options.exclude_dynamic_system_prompt_sections,
    )
    scope = None if bare else instruction_scope(setup, roots)
    is_new = not len(session.history)
    wants_git = is_new and speaks_git and not bare
    return SessionBriefing(
        inputs,
        scope=scope,
        git=await repository.snapshot(setup.cwd, env) if wants_git else None,
        on_load=lambda file, reason: _tell_of_instructions(hooks, file, reason),
        listings=listings,
        is_small=has_small_window(facts),
    )


def permission_news(base: "SessionBase") -> PermissionNotices:
    """What tells the model under which permissions it works."""
    setup = base.setup
    inside = base.sandbox is not None and permission_choices.is_unasked_inside(setup.config)
    return PermissionNotices(
        base.session,
        base.workspace,
        attended=setup.options.is_attended,
        sandboxed=inside,
        silent=choices.is_bare(setup.options, setup.env),
    )


def _tell_of_instructions(hooks: LazyHooks, file: InstructionFile, reason: LoadReason) -> None:
    if not hooks.listens_to("InstructionsLoaded"):
        return
    from bridle.types.hooks.environment import InstructionsLoaded

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


def instruction_scope(setup: Setup, roots: tuple[str, ...]) -> Scope:
    """Which instruction files count, and what they may import."""
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
        imports=_agreed_imports(setup),
    )


def _agreed_imports(setup: Setup) -> frozenset[str]:
    if not setup.trusted:
        return frozenset()
    from bridle.config import approvals

    return approvals.approved_names(setup.env, setup.cwd, kind="import", definition=AGREED)


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


def _appended(options: SessionOptions) -> str:
    text, path = options.append_system_prompt, options.append_system_prompt_file
    return _text_or_file(text, path, "append-system-prompt") or ""


def _text_or_file(text: str | None, path: str | None, key: str) -> str | None:
    if text is not None and path is not None:
        raise UsageError(f"--{key} and --{key}-file can't be used together")
    if path is None:
        return None if text is None else encodable(text)
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--{key}-file: can't read {path}: {error}") from error
