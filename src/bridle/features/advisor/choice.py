"""The model that advises the main one, as the command line and the settings choose it."""

from collections.abc import Mapping

from bridle.config.load import Config
from bridle.providers.advisors import advisor_id, is_disabled
from bridle.providers.model_listing import Choice
from bridle.types.errors import ConfigError, UsageError


def choose_advisor(
    flag: str | None, config: Config, env: Mapping[str, str]
) -> tuple[str | None, tuple[str, ...]]:
    """The full id of the advisor, None for none, and warnings about a setting that is ignored.

    `flag` is the model that the command line names.

    Raises:
        UsageError: the command line names a model that cannot be had.
    """
    named = flag or config.settings.advisor_model or ""
    if is_disabled(env) or named.strip().lower() in ("", "off"):
        return None, ()
    choice = Choice(settings=config.settings, own=config.raw.get("bridleModels") or {}, env=env)
    try:
        return advisor_id(named, choice), ()
    except ConfigError as error:
        if flag is not None:
            raise UsageError(f"--advisor: {error}") from error
        return None, (f"advisorModel is ignored: {error}",)
