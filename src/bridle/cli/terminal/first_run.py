"""What a start without a key leads to: the menu of ways to a model."""

import os.path

import msgspec

from bridle.frontends.tui.app import App
from bridle.host.paths import bridle_dir, config_home
from bridle.session.prepare import set_up
from bridle.session.setup import Setup
from bridle.types.errors import ConfigError

_KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_CUSTOM_HEADERS", "ANTHROPIC_BASE_URL")
NO_KEY = "No key yet. Add one with /login, or use /model offline without a key."


def lacks_key(setup: Setup) -> bool:
    """Whether the model of a session cannot be asked because there is no key for it."""
    if setup.model == "offline" or ("claude" in setup.model and any(setup.env.get(name) for name in _KEYS)):
        return False
    if os.path.exists(os.path.join(bridle_dir(setup.env), "packages.json")):
        return False  # A package may serve it.
    from bridle.providers.model_listing import Choice, offer

    own = setup.config.raw.get("bridleModels") or {}
    choice = Choice(settings=setup.config.settings, own=own, env=setup.env)
    try:
        return offer(setup.model, choice).key == "missing"
    except ConfigError:
        return False  # The session says what is wrong.


async def ask_for_login(app: App, setup: Setup) -> Setup | None:
    """The set-up with a model that can be asked; None where the user wants none now."""
    from bridle.frontends.tui.login import log_in

    chosen = await log_in(app, settings=setup.config.settings, env=setup.env, first=True)
    if chosen is None or not chosen.model:
        return None
    again = set_up(setup.options, setup.inherited, cwd=setup.cwd)
    if not lacks_key(again):
        return again  # The key that was added is enough.
    if chosen.saves:
        _save(chosen.model, setup)
    options = msgspec.structs.replace(setup.options, model=chosen.model)
    return set_up(options, setup.inherited, cwd=setup.cwd)


def _save(model: str, setup: Setup) -> None:
    """Let later sessions start with it; where that cannot be written, they ask again."""
    from bridle.config.edit import update

    try:
        update(
            os.path.join(config_home(setup.env), "settings.json"), lambda values: {**values, "model": model}
        )
    except (OSError, ConfigError):
        return
