"""The model that advises the main one, as the command line and the settings choose it."""

from collections.abc import Mapping

from bridle.config.load import Config
from bridle.config.options import SessionOptions
from bridle.providers.advisors import advisor_id, is_disabled
from bridle.providers.offers import Choice
from bridle.types.errors import ConfigError, UsageError


def choose_advisor(
    options: SessionOptions, config: Config, env: Mapping[str, str]
) -> tuple[str | None, tuple[str, ...]]:
    """The full id of the advisor, None for none, and sentences about a setting that cannot count.

    Raises:
        UsageError: the command line names a model that cannot be had.
    """
    named = options.advisor or config.settings.advisor_model or ""
    if is_disabled(env) or named.strip().lower() in ("", "off"):
        return None, ()
    choice = Choice(settings=config.settings, own=config.raw.get("bridleModels") or {}, env=env)
    try:
        return advisor_id(named, choice), ()
    except ConfigError as error:
        if options.advisor is not None:
            raise UsageError(f"--advisor: {error}") from error
        return None, (f"advisorModel does not count: {error}",)
