"""What flags, variables and settings together choose, one function for each question."""

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from bridle.cli.args import Args
from bridle.cli.flags import EFFORTS
from bridle.config.load import Config
from bridle.engine.runtime import Asking, Limits, ModelFacts
from bridle.permissions.layers import rules_of
from bridle.permissions.rules import parse, split_rules
from bridle.providers import catalog
from bridle.providers.catalog import Model
from bridle.tools.toolbox import OPT_IN, SEARCH, BuiltinToolbox, Deferral, choose
from bridle.types.agent import AgentDefinition
from bridle.types.errors import UsageError
from bridle.types.model import Thinking
from bridle.types.permission import Effect, Mode, Rule, RuleSource
from bridle.types.usage import Usage

if TYPE_CHECKING:
    from bridle.providers.user_command import CloudCommands

SMALL_WINDOW = 16_384
"""A model with fewer tokens than this gets a short prompt and few tools."""
_BARE_TOOLS = ("Bash", "Edit", "Read")
_USABLE_MODES: Mapping[str, Mode] = {
    "acceptEdits": "acceptEdits",
    "plan": "plan",
    "dontAsk": "dontAsk",
    "bypassPermissions": "bypassPermissions",
}
_SHARED = ("projectSettings", "localSettings")
_NOTHING: frozenset[str] = frozenset()
_LSP = frozenset(("LSP",))
_CRON_TOOLS = {"CronCreate", "CronDelete", "CronList", "ScheduleWakeup"}
_TASK_TOOLS = {"TaskCreate", "TaskGet", "TaskList", "TaskUpdate"}


def choose_model(
    args: Args, config: Config, env: Mapping[str, str], *, agent: AgentDefinition | None = None
) -> str:
    """The full id of the model to start with: flag, agent, variable, setting, default, in this order.

    Raises:
        UsageError: the setting availableModels leaves it out.
    """
    own = None if agent is None or agent.model == "inherit" else agent.model
    named = args.text("model") or own or env.get("ANTHROPIC_MODEL") or config.settings.model or "default"
    if config.settings.available_models is not None:
        named = _available(named, config, env)
    return catalog.resolve(named, env, own=config.raw.get("bridleModels"))


def _available(named: str, config: Config, env: Mapping[str, str]) -> str:
    from bridle.providers.offers import Choice, is_available, settled

    choice = Choice(settings=config.settings, own=config.raw.get("bridleModels") or {}, env=env)
    if not is_available(named := settled(named, choice), choice):
        allowed = ", ".join(config.settings.available_models or ())
        raise UsageError(f"the model {named} is not among availableModels: {allowed}")
    return named


def choose_fallbacks(args: Args, config: Config, env: Mapping[str, str]) -> tuple[str, ...]:
    listed = args.text("fallback-model")
    names = listed.split(",") if listed is not None else config.settings.fallback_model or ()
    own = config.raw.get("bridleModels")
    return tuple(catalog.resolve(name.strip(), env, own=own) for name in names if name.strip())


def choose_commands(config: Config) -> "CloudCommands | None":
    """The commands that bring credentials of clouds, None when the settings have none."""
    settings = config.settings
    if not (settings.aws_auth_refresh or settings.aws_credential_export or settings.gcp_auth_refresh):
        return None
    from bridle.providers.user_command import CloudCommands

    return CloudCommands(
        aws_refresh=settings.aws_auth_refresh,
        aws_export=settings.aws_credential_export,
        gcp_refresh=settings.gcp_auth_refresh,
    )


def choose_mode(args: Args, config: Config, env: Mapping[str, str]) -> Mode:
    """The permission mode to start in.

    Raises:
        UsageError: a mode is asked for on the command line, or bypassing anywhere, and cannot be had.
    """
    permissions = config.settings.permissions
    named = args.text("permission-mode") or (permissions.default_mode if permissions else None) or "default"
    if args.on("dangerously-skip-permissions"):
        named = "bypassPermissions"
    if named == "bypassPermissions":
        _require_bypass(config, env)
    if named == "auto":
        reason = _why_not_auto(args, config, env)
        if reason is not None and args.has("permission-mode"):
            raise UsageError(f"--permission-mode auto cannot be used: {reason}")
        return "default" if reason is not None else "auto"
    return _USABLE_MODES.get(named, "default")


def choose_rules(args: Args, config: Config, *, trusted: bool) -> tuple[tuple[Rule, ...], tuple[str, ...]]:
    """Every rule that counts, and sentences about those that do not.

    Raises:
        UsageError: a rule on the command line cannot be read.
    """
    rules: list[Rule] = []
    problems: list[str] = []
    for layer in config.layers:
        found, wrong = rules_of(layer)
        problems += wrong
        if layer.source == "projectSettings" and not trusted:
            kept = tuple(rule for rule in found if rule.effect is not Effect.ALLOW)
            if len(kept) < len(found):
                problems.append(
                    f"{layer.path}: its allow rules do not count, because this folder is not trusted yet"
                )
            found = kept
        rules += found
    if config.settings.allow_managed_permission_rules_only:
        rules = [rule for rule in rules if rule.source == "policySettings"]
    rules += _flag_rules(args, "allowedTools", Effect.ALLOW)
    rules += _flag_rules(args, "disallowedTools", Effect.DENY)
    return tuple(rules), tuple(problems)


def refresh_rules(
    args: Args, config: Config, current: tuple[Rule, ...], *, trusted: bool
) -> tuple[tuple[Rule, ...], tuple[str, ...]]:
    """The rules after settings have changed on disk; what was granted in the session stays.

    Raises:
        UsageError: a rule on the command line cannot be read.
    """
    fresh, problems = choose_rules(args, config, trusted=trusted)
    known = {(rule.effect, rule.tool, rule.content, rule.source) for rule in fresh}
    granted = (
        rule
        for rule in current
        if rule.file is None and (rule.effect, rule.tool, rule.content, rule.source) not in known
    )
    return (*fresh, *granted), problems


def choose_modes(args: Args, config: Config, env: Mapping[str, str]) -> tuple[Mode, ...]:
    """The permission modes that the session may be switched to while it runs."""
    usual: tuple[Mode, ...] = ("default", "acceptEdits", "plan", "dontAsk")
    if _why_not_auto(args, config, env) is None:
        usual = (*usual, "auto")
    asked = args.on("allow-dangerously-skip-permissions") or args.on("dangerously-skip-permissions")
    if not asked and args.text("permission-mode") != "bypassPermissions":
        return usual
    try:
        _require_bypass(config, env)
    except UsageError:
        return usual
    return (*usual, "bypassPermissions")


def is_bare(args: Args, env: Mapping[str, str]) -> bool:
    """Whether only the bones are wanted: three tools, no instructions, nothing discovered."""
    return args.on("bare") or _on(env, "CLAUDE_CODE_SIMPLE")


def is_safe(args: Args, env: Mapping[str, str]) -> bool:
    """Whether everything that users and projects add is left out."""
    return args.on("safe-mode") or _on(env, "CLAUDE_CODE_SAFE_MODE")


def is_closed(args: Args, env: Mapping[str, str]) -> bool:
    """Whether nothing of files counts that extends bridle."""
    return is_bare(args, env) or is_safe(args, env)


def keeps_files(config: Config, env: Mapping[str, str], *, interactive: bool = False) -> bool:
    """Whether files are kept before they change: always at a terminal, and where a host asks for it."""
    if config.settings.file_checkpointing_enabled is False or _on(
        env, "CLAUDE_CODE_DISABLE_FILE_CHECKPOINTING"
    ):
        return False
    return interactive or _on(env, "CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING")


def choose_tools(
    args: Args,
    env: Mapping[str, str],
    rules: tuple[Rule, ...],
    *,
    languages: Callable[[], bool] = lambda: True,
    advised: Callable[[], bool] = lambda: False,
) -> BuiltinToolbox:
    """The tools to offer; one that is denied as a whole is not mentioned at all.

    While there are no `languages` there is no language server that could be asked, and while the session is
    not `advised` no other model.
    """
    removed = {rule.tool for rule in rules if rule.effect is Effect.DENY and rule.content is None}
    removed |= set() if args.on("interactive") else {"EndConversation"}
    removed |= _CRON_TOOLS if _on(env, "CLAUDE_CODE_DISABLE_CRON") else set()
    listed = args.many("tools")
    base: tuple[str, ...] | None = None
    if listed is not None:
        names = tuple(name for part in listed for name in split_rules(part))
        base = None if "default" in names else names
    elif is_bare(args, env):
        base = _BARE_TOOLS
    if base is None:
        # One list of things to do is enough; who names the other one gets it.
        removed |= {"TodoWrite"} if env.get("CLAUDE_CODE_ENABLE_TASKS") not in ("0", "false") else _TASK_TOOLS
    return choose(
        base=base,
        removed=removed,
        with_person=is_attended(args),
        absent=lambda: (_NOTHING if languages() else _LSP) | (_NOTHING if advised() else OPT_IN),
    )


def choose_deferral(args: Args, env: Mapping[str, str], rules: tuple[Rule, ...]) -> Deferral:
    """When tools are told by name alone; never where the tool that finds them is not offered."""
    listed = args.many("tools")
    named = None if listed is None else [name for part in listed for name in split_rules(part)]
    removed = any(
        rule.tool in ("*", SEARCH) for rule in rules if rule.effect is Effect.DENY and rule.content is None
    )
    if removed or is_bare(args, env) or (named is not None and not {"default", SEARCH} & set(named)):
        return Deferral(when="never")
    return Deferral.of(env)


def is_attended(args: Args) -> bool:
    """Whether somebody answers questions while the session runs."""
    if args.on("interactive"):
        return True
    return args.has("permission-prompt-tool") and args.text("permission-prompts") != "none"


def choose_roots(args: Args, config: Config, cwd: str, *, trusted: bool) -> tuple[str, ...]:
    """Working folders besides the current one.

    Raises:
        UsageError: one given on the command line is not there.
    """
    roots: list[str] = []
    for given in args.many("add-dir") or ():
        path = os.path.normpath(os.path.join(cwd, os.path.expanduser(given)))
        if not os.path.isdir(path):
            raise UsageError(f"--add-dir: there is no folder {path}")
        roots.append(path)
    for layer in config.layers:
        if layer.source in _SHARED and not trusted:
            continue
        permissions: Mapping[str, Any] = layer.values.get("permissions") or {}
        for given in permissions.get("additionalDirectories") or ():
            path = os.path.normpath(os.path.join(cwd, os.path.expanduser(given)))
            if os.path.isdir(path):
                roots.append(path)
    return tuple(dict.fromkeys(roots))


def choose_limits(args: Args, env: Mapping[str, str]) -> Limits:
    turns = args.whole("max-turns") or _whole(env, "CLAUDE_CODE_MAX_TURNS")
    return Limits(
        max_turns=turns,
        max_budget_usd=args.amount("max-budget-usd"),
        max_total_tokens=args.whole("max-total-tokens"),
        parallel_calls=_whole(env, "CLAUDE_CODE_MAX_TOOL_USE_CONCURRENCY") or 10,
    )


def choose_asking(args: Args, config: Config, env: Mapping[str, str], *, model: str) -> Asking:
    """How requests are made.

    Raises:
        UsageError: a value cannot be used.
    """
    main = catalog.find(model, config.raw.get("bridleModels"))
    betas = [name for part in args.many("betas") or () for name in split_rules(part)]
    betas += split_rules(env.get("ANTHROPIC_BETAS", ""))
    effort = args.text("effort") or env.get("CLAUDE_CODE_EFFORT_LEVEL") or config.settings.effort_level
    return Asking(
        small_model=model if main.dialect == "offline" else catalog.small_model(env, main),
        effort=None if effort == "auto" else {"ultracode": "xhigh"}.get(effort or "", effort),
        task_budget=args.whole("task-budget"),
        betas=tuple(dict.fromkeys(betas)),
        cache=not _on(env, "DISABLE_PROMPT_CACHING"),
        extra=_extra_body(env),
        max_tokens=_whole(env, "CLAUDE_CODE_MAX_OUTPUT_TOKENS"),
    )


def facts_of(args: Args, config: Config, env: Mapping[str, str]) -> Callable[[str], ModelFacts]:
    """What the engine must know of any model, looked up once each."""
    own = catalog.with_declared(config.raw.get("bridleModels") or {}, env)
    override = _thinking(args, config, env)
    fixed = _on(env, "CLAUDE_CODE_DISABLE_ADAPTIVE_THINKING")
    window = _whole(env, "CLAUDE_CODE_MAX_CONTEXT_TOKENS")
    lenient = _on(env, "CLAUDE_CODE_DISABLE_UNKNOWN_MODEL_WINDOW_ENFORCEMENT")
    always = _on(env, "CLAUDE_CODE_ALWAYS_ENABLE_EFFORT")
    known: dict[str, ModelFacts] = {}

    def facts(name: str) -> ModelFacts:
        if name not in known:
            model = catalog.find(name, own)

            def cost(usage: Usage) -> float:
                return catalog.cost(model, usage)

            thinks = model.thinking != "none"
            known[name] = ModelFacts(
                context_window=window or model.context_window,
                window_enforced=not lenient or window is not None or model.window_known,
                max_output=model.max_output,
                max_tokens=model.max_tokens,
                thinking=(override or _usual_thinking(model, fixed=fixed)) if thinks else None,
                efforts=EFFORTS if always else model.efforts,
                cost=cost,
            )
        return known[name]

    return facts


def _usual_thinking(model: Model, *, fixed: bool) -> Thinking | None:
    """How a model thinks when nobody said otherwise; `fixed` is for those that can do with a budget too."""
    budgeted = fixed and catalog.normal(model.id).endswith("-4-6")
    return Thinking("enabled") if budgeted else model.default_thinking()


def _thinking(args: Args, config: Config, env: Mapping[str, str]) -> Thinking | None:
    display = args.text("thinking-display")
    shown = "summarized" if display == "summarized" else "omitted" if display == "omitted" else None
    budget = args.whole("max-thinking-tokens", least=0)
    if budget is None:
        budget = _whole(env, "MAX_THINKING_TOKENS", least=0)
    off = config.settings.always_thinking_enabled is False or _on(env, "CLAUDE_CODE_DISABLE_THINKING")
    match args.text("thinking"):
        case "disabled":
            return Thinking("disabled")
        case "adaptive":
            return Thinking("adaptive", display=shown)
        case "enabled":
            return Thinking("enabled", budget, shown)
        case _ if budget is not None:
            return Thinking("enabled", budget, shown) if budget else Thinking("disabled")
        case _:
            return Thinking("disabled") if off else None


def _why_not_auto(args: Args, config: Config, env: Mapping[str, str]) -> str | None:
    """Why no model can judge calls, in one sentence; None when one can."""
    if catalog.find(choose_model(args, config, env)).dialect == "offline":
        return "the offline model cannot judge calls"
    settings, permissions = config.settings, config.settings.permissions
    if "disable" in (settings.disable_auto_mode, permissions.disable_auto_mode if permissions else None):
        return "the setting disableAutoMode turns it off"
    return None


def _require_bypass(config: Config, env: Mapping[str, str]) -> None:
    permissions = config.settings.permissions
    if permissions is not None and permissions.disable_bypass_permissions_mode == "disable":
        raise UsageError("bypassPermissions is forbidden by permissions.disableBypassPermissionsMode")
    if os.geteuid() == 0 and env.get("IS_SANDBOX") != "1":
        raise UsageError(
            "bypassPermissions is refused for root: run as another user, or set IS_SANDBOX=1 in a sandbox"
        )


def _flag_rules(args: Args, key: str, effect: Effect) -> list[Rule]:
    source: RuleSource = "cliArg"
    texts = [text for part in args.many(key) or () for text in split_rules(part)]
    # `*` and `mcp__*` name every tool, which only makes sense when taking away.
    try:
        return [parse(text, effect, source) for text in texts]
    except ValueError as error:
        raise UsageError(f"--{key}: {error}") from error


def _extra_body(env: Mapping[str, str]) -> Mapping[str, Any]:
    if not (text := env.get("CLAUDE_CODE_EXTRA_BODY")):
        return {}
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise UsageError(f"CLAUDE_CODE_EXTRA_BODY is not a JSON object: {error}") from error


def _on(env: Mapping[str, str], name: str) -> bool:
    return env.get(name, "").lower() in ("1", "true", "yes", "on")


def _whole(env: Mapping[str, str], name: str, *, least: int = 1) -> int | None:
    """A number from a variable; what is not one is as if it were not set."""
    text = env.get(name, "")
    return int(text) if text.isdecimal() and int(text) >= least else None


def is_unasked_inside(config: Config) -> bool:
    """Whether commands within the boundary run without a question."""
    wanted = config.settings.sandbox
    if wanted is None:
        return True
    only_network = wanted.filesystem is not None and wanted.filesystem.disabled is True
    return wanted.auto_allow_bash_if_sandboxed is not False and not only_network
