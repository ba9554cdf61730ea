"""Which marketplaces a session looks at, and with what."""

from collections.abc import Mapping

from bridle.config.load import Config
from bridle.config.schema import Settings
from bridle.extensions.plugins.context import PluginContext
from bridle.extensions.plugins.loader import switches


def around_plugins(config: Config, env: Mapping[str, str], *, cwd: str) -> PluginContext:
    """What looking at marketplaces needs."""
    _, fixed = switches(config)
    return PluginContext(env=env, cwd=cwd, settings=config.settings, enabled_by_management=fixed)


def suggesting_marketplaces(settings: Settings, *, closed: bool) -> tuple[str, ...]:
    """The marketplaces that may suggest plugins in this session."""
    tips = settings.spinner_tips_override
    silent = settings.spinner_tips_enabled is False or (tips is not None and tips.exclude_default)
    return () if silent or closed else tuple(settings.plugin_suggestion_marketplaces or ())
