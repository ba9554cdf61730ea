"""Which models may advise the main one."""

from collections.abc import Mapping

from bridle.providers import catalog, gateway
from bridle.providers.connect import check_vendor, cloud_of
from bridle.providers.model_listing import Choice, is_available
from bridle.providers.nearest import alike
from bridle.types.errors import ConfigError
from bridle.types.variables import is_on


def advisor_id(name: str, choice: Choice) -> str:
    """The full id of a model that is to advise.

    Raises:
        ConfigError: it is unknown, or the setting availableModels leaves it out.
    """
    if not is_available(name, choice):
        allowed = ", ".join(choice.settings.available_models or ())
        raise ConfigError(f"{name} is not among availableModels: {allowed}.")
    chosen = catalog.resolve(name, choice.env, own=choice.own)
    check_vendor(chosen, choice.env, choice.own)
    if not _is_known(name, chosen, choice):
        advice = f"{alike(name)}see `bridle models list --all`, or describe it in bridleModels"
        raise ConfigError(f"Unknown model {name!r}: {advice}.")
    return chosen


def is_disabled(env: Mapping[str, str]) -> bool:
    """Whether the environment lets no model advise."""
    return is_on(env, "CLAUDE_CODE_DISABLE_ADVISOR_TOOL")


def _is_known(name: str, chosen: str, choice: Choice) -> bool:
    """Whether a name can be meant; gateways, clouds and other vendors have more than any list."""
    env, model = choice.env, catalog.find(chosen, choice.own)
    if env.get("ANTHROPIC_BASE_URL") or cloud_of(env) or model.vendor != "anthropic":
        return True
    listed = (*catalog.ALIASES, *choice.own, env.get("ANTHROPIC_CUSTOM_MODEL_OPTION"))
    if name.strip() in listed or chosen in (*choice.own, *gateway.known_models(env)):
        return True
    # The table may be older than the newest of these.
    return model.priced or model.dialect != "anthropic" or catalog.normal(chosen).startswith("claude-")
