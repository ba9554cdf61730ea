"""The command that chooses a model to advise the main one."""

from collections.abc import Mapping

from bridle.config.load import Config
from bridle.features.context import CommandCaller
from bridle.providers.advisors import advisor_id, is_disabled
from bridle.providers.model_listing import Choice, available_names
from bridle.types.command import CommandResult, Says
from bridle.types.errors import ConfigError, UsageError
from bridle.types.services.session import ADVISOR

_DISABLED = "The advisor is disabled by CLAUDE_CODE_DISABLE_ADVISOR_TOOL. Unset it to use an advisor."


async def advisor(arguments: str, context: CommandCaller, config: Config) -> CommandResult:
    """Show the advisor, set one for this session, or turn it off."""
    wanted = arguments.strip()
    if wanted.lower() == "off":
        context.session.swap(advisor=None)
        return Says("The advisor is off.")
    if is_disabled(context.env):
        return Says(_DISABLED, is_error=bool(wanted))
    if not wanted:
        return Says(_standing(context))
    return Says(_choose(wanted, context, config))


def complete(typed: str, config: Config, env: Mapping[str, str]) -> tuple[str, ...]:
    """Words that `/advisor` takes and that begin like this."""
    names = ("off", *available_names(_models(config, env)))
    return tuple(name for name in names if name.lower().startswith(typed.lower()))


def _standing(context: CommandCaller) -> str:
    chosen = context.session.state.advisor
    if chosen is None:
        return "No advisor is set. Set one for this session with /advisor <model>."
    return f"The advisor is {chosen}{_hindrance(context)}. Turn it off with /advisor off."


def _choose(name: str, context: CommandCaller, config: Config) -> str:
    try:
        chosen = advisor_id(name, _models(config, context.env))
    except ConfigError as error:
        raise UsageError(str(error)) from error
    context.session.swap(advisor=chosen)
    return f"Set the advisor to {chosen}{_hindrance(context)}."


def _models(config: Config, env: Mapping[str, str]) -> Choice:
    return Choice(settings=config.settings, own=config.raw.get("bridleModels") or {}, env=env)


def _hindrance(context: CommandCaller) -> str:
    if ADVISOR in context.runtime.toolbox.names():
        return ""
    return f", but the tool {ADVISOR} is not available: a deny rule or the list of tools excludes it"
