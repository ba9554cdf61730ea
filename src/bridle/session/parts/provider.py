"""Who answers for a model, with all that the settings say about it."""

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from bridle.config.load import Config
from bridle.host.paths import bridle_dir
from bridle.providers.connect import provider_for
from bridle.providers.retry import Retrying, WarmingProvider
from bridle.session import choices, model_choices
from bridle.session.setup import Setup
from bridle.types.model import Provider

if TYPE_CHECKING:
    from bridle.session.parts.packages import Packages


def session_provider(setup: Setup, packages: "Packages | None") -> Provider:
    """Who answers in a session: a package that serves its model, or the way that the settings say.

    Raises:
        ConfigError: the model, or the user's entry for it, names a service that does not exist.
    """
    config, env = setup.config, setup.env
    own = None if packages is None else packages.provider(setup.model, env)
    return own or provider_of(
        config, env, setup.model, fallbacks=model_choices.choose_fallbacks(setup.options, config, env)
    )


def provider_of(
    config: Config, env: Mapping[str, str], model: str, *, fallbacks: tuple[str, ...] = ()
) -> Retrying:
    """The way to `model`, the keys and names of the settings included.

    Raises:
        ConfigError: the model, or the user's entry for it, names a service that does not exist.
    """
    settings = config.settings
    return provider_for(
        model,
        env,
        fallbacks=fallbacks,
        own_models=config.raw.get("bridleModels") or {},
        names=settings.model_overrides,
        helper=settings.api_key_helper,
        commands=model_choices.choose_commands(config),
        allowed=settings.bridle_allowed_providers,
        switches_when_declined=settings.switch_models_on_flag is not False,
    )


def packages_of(setup: Setup, warn: Callable[[str], None]) -> "Packages | None":
    """What Python packages bring; they are looked for once the user has approved one."""
    closed = choices.is_closed(setup.options, setup.env)
    if closed or not os.path.exists(os.path.join(bridle_dir(setup.env), "packages.json")):
        return None
    from bridle.session.parts.packages import approved_packages

    return approved_packages(setup.env, warn=warn)


async def warm_up(provider: Provider, model: str) -> None:
    """Connect ahead of the first request, where there is something to connect to."""
    if isinstance(provider, WarmingProvider):
        await provider.warm_up(model)
