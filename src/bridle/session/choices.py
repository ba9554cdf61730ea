"""What flags, variables and settings choose beside models and permissions, one function for each question."""

import os
from collections.abc import Callable, Collection, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from bridle.config.load import Config
from bridle.config.options import SessionOptions
from bridle.context.window import read_window
from bridle.engine.runtime import Limits
from bridle.permissions.rules import split_rules
from bridle.tools.catalog import CATALOG, names_in
from bridle.tools.toolbox import OPT_IN, BuiltinToolbox, Deferral, choose
from bridle.types.errors import UsageError
from bridle.types.on_demand import CALL, SEARCH
from bridle.types.permission import Effect, Rule
from bridle.types.variables import is_off, is_on, whole_number

if TYPE_CHECKING:
    from bridle.types.model import ToolDefinition

_BARE_TOOLS = tuple(listing.name for listing in CATALOG if listing.bare)
_SHARED = ("projectSettings", "localSettings")
_NOTHING: frozenset[str] = frozenset()
_USUAL_FEATURES = names_in("workflows")
_FOR_FEATURES = _USUAL_FEATURES | names_in("browser")
_LANGUAGE_TOOLS = names_in("languages")
_TASK_TOOLS, _TODO_TOOLS = names_in("tasks"), names_in("todos")
_TEAMS = ("CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS", "CLAUDE_CODE_COORDINATOR_MODE")
"""Members of a team share a list of tasks."""


def is_bare(options: SessionOptions, env: Mapping[str, str]) -> bool:
    """Whether only the bones are wanted: three tools, no instructions, nothing discovered."""
    return options.bare or is_on(env, "CLAUDE_CODE_SIMPLE")


def is_safe(options: SessionOptions, env: Mapping[str, str]) -> bool:
    """Whether everything that users and projects add is left out."""
    return options.safe_mode or is_on(env, "CLAUDE_CODE_SAFE_MODE")


def is_closed(options: SessionOptions, env: Mapping[str, str]) -> bool:
    """Whether nothing of files counts that extends bridle."""
    return is_bare(options, env) or is_safe(options, env)


def keeps_files(config: Config, env: Mapping[str, str], *, interactive: bool = False) -> bool:
    """Whether files are kept before they change: always at a terminal, and where a host asks for it."""
    if config.settings.file_checkpointing_enabled is False or is_on(
        env, "CLAUDE_CODE_DISABLE_FILE_CHECKPOINTING"
    ):
        return False
    return interactive or is_on(env, "CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING")


def choose_tools(
    options: SessionOptions,
    env: Mapping[str, str],
    rules: tuple[Rule, ...],
    *,
    languages: Callable[[], bool] = lambda: True,
    advised: Callable[[], bool] = lambda: False,
    enabled: Callable[[], frozenset[str]] = lambda: _USUAL_FEATURES,
    known: "Mapping[str, ToolDefinition] | None" = None,
) -> BuiltinToolbox:
    """The tools to offer; one that is denied as a whole is not mentioned at all.

    While there are no `languages` there is no language server that could be asked, and while the session is
    not `advised` no other model. A tool that needs a feature is absent while none has it `enabled`.
    """
    removed = {rule.tool for rule in rules if rule.effect is Effect.DENY and rule.content is None}
    if not options.interactive:
        removed |= {listing.name for listing in CATALOG if listing.needs_terminal}
    if is_on(env, "CLAUDE_CODE_DISABLE_CRON"):
        removed |= names_in("schedules")
    listed = options.tools
    base: tuple[str, ...] | None = None
    if listed is not None:
        names = tuple(name for part in listed for name in split_rules(part))
        base = None if "default" in names else names
    elif is_bare(options, env):
        base = _BARE_TOOLS
    if base is None:
        # One list of things to do is enough; who names the other one gets it.
        removed |= _TASK_TOOLS if is_off(env, "CLAUDE_CODE_ENABLE_TASKS") else _TODO_TOOLS
        removed |= _without_use(options, env, rules)
    return choose(
        base=base,
        removed=removed,
        with_person=options.is_attended,
        rare=_rarely_used(options, env),
        absent=lambda: _absent(languages=bool(languages()), advised=bool(advised()), enabled=enabled()),
        known=known,
    )


def _rarely_used(options: SessionOptions, env: Mapping[str, str]) -> Collection[str]:
    """Task list tools that are loaded on demand: the model sees their names only."""
    if options.place == "print":
        return _TASK_TOOLS  # No one follows the list.
    # The model knows the list that it keeps; members of a team must look what others have done.
    if any(is_on(env, name) for name in _TEAMS):
        return ()
    return [listing.name for listing in CATALOG if listing.for_members]


def _without_use(options: SessionOptions, env: Mapping[str, str], rules: tuple[Rule, ...]) -> set[str]:
    """The tools that are left out where only answers are printed, unless a flag or rule names them."""
    if options.place != "print" or options.is_hosted:
        return set()
    asked = {rule.tool for rule in rules if rule.effect is Effect.ALLOW}
    if env.get("CLAUDE_CODE_ENABLE_TASKS") or any(is_on(env, name) for name in _TEAMS):
        asked |= _TASK_TOOLS | _TODO_TOOLS
    return {listing.name for listing in CATALOG if listing.for_watcher} - asked


@lru_cache(maxsize=8)
def _absent(*, languages: bool, advised: bool, enabled: frozenset[str]) -> frozenset[str]:
    """The tools whose means are not there; asked for at each call."""
    found = _NOTHING if languages else _LANGUAGE_TOOLS
    return found | (_NOTHING if advised else OPT_IN) | (_FOR_FEATURES - enabled)


def choose_deferral(options: SessionOptions, env: Mapping[str, str], rules: tuple[Rule, ...]) -> Deferral:
    """When tools are loaded on demand; never where the tool that finds them is not offered."""
    listed = options.tools
    named = None if listed is None else [name for part in listed for name in split_rules(part)]
    removed = any(
        rule.tool in ("*", SEARCH, CALL)
        for rule in rules
        if rule.effect is Effect.DENY and rule.content is None
    )
    if removed or is_bare(options, env) or (named is not None and not {"default", SEARCH} & set(named)):
        return Deferral(when="never")
    return Deferral.of(env)


def missing_roots(options: SessionOptions, cwd: str) -> tuple[str, ...]:
    """The folders of --add-dir that are not there."""
    return tuple(path for path in _given_roots(options, cwd) if not os.path.isdir(path))


def _given_roots(options: SessionOptions, cwd: str) -> list[str]:
    return [os.path.normpath(os.path.join(cwd, os.path.expanduser(given))) for given in options.add_dir]


def choose_roots(options: SessionOptions, config: Config, cwd: str, *, trusted: bool) -> tuple[str, ...]:
    """Working folders besides the current one.

    One of the command line that is not there is left out; `missing_roots` names it.
    """
    roots = [path for path in _given_roots(options, cwd) if os.path.isdir(path)]
    for layer in config.layers:
        if layer.source in _SHARED and not trusted:
            continue
        permissions: Mapping[str, Any] = layer.values.get("permissions") or {}
        for given in permissions.get("additionalDirectories") or ():
            path = os.path.normpath(os.path.join(cwd, os.path.expanduser(given)))
            if os.path.isdir(path):
                roots.append(path)
    return tuple(dict.fromkeys(roots))


def choose_limits(options: SessionOptions, env: Mapping[str, str]) -> Limits:
    turns = options.max_turns or whole_number(env, "CLAUDE_CODE_MAX_TURNS")
    return Limits(
        max_turns=turns,
        max_budget_usd=options.max_budget_usd,
        max_total_tokens=options.max_total_tokens,
        parallel_calls=whole_number(env, "CLAUDE_CODE_MAX_TOOL_USE_CONCURRENCY") or 10,
    )


def compact_at(options: SessionOptions, config: Config) -> int | None:
    """The window that the user chose for compaction; the flag counts more than the setting.

    Raises:
        UsageError: the flag is no window.
    """
    if (given := options.autocompact) is None:
        return config.settings.auto_compact_window
    try:
        return read_window(given)
    except ValueError as error:
        raise UsageError(f"--autocompact: {error}") from error
