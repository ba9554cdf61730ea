"""What flags, variables and settings choose about models: which ones, and how they are asked."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from bridle.config.load import Config, users_models
from bridle.config.options import EFFORTS, SessionOptions
from bridle.engine.model_facts import Facts, ModelSettings, known_models
from bridle.engine.runtime import Asking
from bridle.permissions.rules import split_rules
from bridle.providers import catalog
from bridle.types.agent import AgentDefinition
from bridle.types.errors import UsageError
from bridle.types.model import Thinking
from bridle.types.variables import is_on, whole_number

if TYPE_CHECKING:
    from bridle.providers.vendor import CloudCommands
    from bridle.session.setup import Setup

_ALIASES = ("sonnet", "opus", "haiku", "fable")
"""Each stands for a model of the vendor that the main model is of."""


def choose_model(
    options: SessionOptions, config: Config, env: Mapping[str, str], *, agent: AgentDefinition | None = None
) -> str:
    """The full id of the model to start with: flag, agent, variable, setting, default, in this order.

    Raises:
        UsageError: the setting availableModels leaves it out.
    """
    own = None if agent is None or agent.model == "inherit" else agent.model
    if own is not None and agent is not None and agent.source == "project":
        # A project does not choose the service that the conversation goes to.
        own = own if users_models(config).cover(own) else None
    named = options.model or own or env.get("ANTHROPIC_MODEL") or config.settings.model or "default"
    if named.lower() == "default" and not _has_home_key(env):
        # Most users have a key of Anthropic's in a variable; the others pay for reading the table.
        from bridle.providers.choices.vendor_keys import default_model

        named = default_model(env, helper=config.settings.api_key_helper) or named
    if config.settings.available_models is not None:
        named = _available(named, config, env)
    return catalog.resolve(named, env, own=config.raw.get("bridleModels"))


def _has_home_key(env: Mapping[str, str]) -> bool:
    return bool(env.get("ANTHROPIC_API_KEY", "").strip() or env.get("ANTHROPIC_AUTH_TOKEN", "").strip())


def choose_fallbacks(options: SessionOptions, config: Config, env: Mapping[str, str]) -> tuple[str, ...]:
    listed = options.fallback_model
    names = listed.split(",") if listed is not None else config.settings.fallback_model or ()
    own = config.raw.get("bridleModels")
    return tuple(catalog.resolve(name.strip(), env, own=own) for name in names if name.strip())


def choose_commands(config: Config) -> "CloudCommands | None":
    """The commands that bring credentials of clouds, None when the settings have none."""
    settings = config.settings
    if not (settings.aws_auth_refresh or settings.aws_credential_export or settings.gcp_auth_refresh):
        return None
    from bridle.providers.vendor import CloudCommands

    return CloudCommands(
        aws_refresh=settings.aws_auth_refresh,
        aws_export=settings.aws_credential_export,
        gcp_refresh=settings.gcp_auth_refresh,
    )


def choose_asking(options: SessionOptions, config: Config, env: Mapping[str, str], *, model: str) -> Asking:
    """How requests are made.

    Raises:
        UsageError: a value cannot be used.
    """
    main = catalog.find(model, config.raw.get("bridleModels"))
    betas = [name for part in options.betas for name in split_rules(part)]
    betas += split_rules(env.get("ANTHROPIC_BETAS", ""))
    usual = "ultracode" if config.settings.ultracode else config.settings.effort_level
    effort = options.effort or env.get("CLAUDE_CODE_EFFORT_LEVEL") or usual
    return Asking(
        small_model=model if main.dialect == "offline" else catalog.small_model(env, main),
        effort=None if effort == "auto" else {"ultracode": "xhigh"}.get(effort or "", effort),
        task_budget=options.task_budget,
        betas=tuple(dict.fromkeys(betas)),
        cache=not is_on(env, "DISABLE_PROMPT_CACHING"),
        extra=_extra_body(env),
        max_tokens=whole_number(env, "CLAUDE_CODE_MAX_OUTPUT_TOKENS"),
    )


def facts_of(options: SessionOptions, config: Config, env: Mapping[str, str]) -> Facts:
    """What the engine must know of any model."""
    always = is_on(env, "CLAUDE_CODE_ALWAYS_ENABLE_EFFORT")
    return known_models(
        ModelSettings(
            own=catalog.with_declared(config.raw.get("bridleModels") or {}, env),
            thinking=_thinking(options, config, env),
            fixed_budget=is_on(env, "CLAUDE_CODE_DISABLE_ADAPTIVE_THINKING"),
            summarized=config.settings.show_thinking_summaries is True,
            window=whole_number(env, "CLAUDE_CODE_MAX_CONTEXT_TOKENS"),
            lenient=is_on(env, "CLAUDE_CODE_DISABLE_UNKNOWN_MODEL_WINDOW_ENFORCEMENT"),
            efforts=EFFORTS if always else None,
        )
    )


def _available(named: str, config: Config, env: Mapping[str, str]) -> str:
    from bridle.providers.model_listing import Choice, is_available, settled

    choice = Choice(settings=config.settings, own=config.raw.get("bridleModels") or {}, env=env)
    if not is_available(named := settled(named, choice), choice):
        allowed = ", ".join(config.settings.available_models or ())
        raise UsageError(f"the model {named} is not in availableModels: {allowed}")
    return named


def _thinking(options: SessionOptions, config: Config, env: Mapping[str, str]) -> Thinking | None:
    display = options.thinking_display
    if display is None and config.settings.show_thinking_summaries is True:
        display = "summarized"
    shown = "summarized" if display == "summarized" else "omitted" if display == "omitted" else None
    budget = options.max_thinking_tokens
    if budget is None:
        budget = whole_number(env, "MAX_THINKING_TOKENS", least=0)
    off = config.settings.always_thinking_enabled is False
    match options.thinking:
        case "disabled":
            return Thinking("disabled")
        case "adaptive":
            return Thinking("adaptive", display=shown)
        case "enabled":
            return Thinking("enabled", budget, shown)
        case _ if is_on(env, "CLAUDE_CODE_DISABLE_THINKING"):
            return Thinking("disabled", sent=False)
        case _ if budget is not None:
            return Thinking("enabled", budget, shown) if budget else Thinking("disabled")
        case _:
            return Thinking("disabled") if off else None


def _extra_body(env: Mapping[str, str]) -> Mapping[str, Any]:
    if not (text := env.get("CLAUDE_CODE_EXTRA_BODY")):
        return {}
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise UsageError(f"CLAUDE_CODE_EXTRA_BODY is not a JSON object: {error}") from error


def resolve_model(name: str, parent: str, setup: "Setup") -> str:
    """The full id of a model that an agent names; where its vendor is another one's, the nearest there is."""
    own = setup.config.raw.get("bridleModels")
    main = catalog.find(parent, own)
    if main.dialect == "offline":
        return parent
    if name.lower() in _ALIASES and main.vendor != "anthropic":
        return catalog.small_model(setup.env, main) if name.lower() == "haiku" else parent
    return catalog.resolve(name, setup.env, own=own)


def may_choose(name: str, setup: "Setup", *more: str) -> bool:
    """Whether a project or a model may choose a model: it is on a service that the user's own models are on.

    `more` are models that are in use already.
    """
    options = setup.options
    flags = (options.model, options.fallback_model, options.advisor)
    return name == "inherit" or users_models(setup.config, *flags, setup.model, *more).cover(name)


def may_choose_beside(name: str, setup: "Setup", parent: str) -> bool:
    """Whether a model may be chosen instead of a parent's; an alias is one of the parent's vendor."""
    return name.lower() in _ALIASES or may_choose(name, setup, parent)
