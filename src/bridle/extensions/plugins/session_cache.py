"""The plugins of a session as they were at the last start in the same circumstances.

A start at which nothing has changed reads one file; what reads plugins is not even imported. Only what is
beyond doubt is kept: plugins without faults and without options, where neither management nor flags have a
say. Their files are looked at soon after the start instead of before it: bridle put them there itself, and
what is remembered of them is what the user agreed to.
"""

import os
import os.path

from msgspec import Struct

from bridle.extensions.cache import CachedValue, ExtensionCache, Inputs, encoded, merged
from bridle.extensions.plugins.detection import among_skills, no_plugin_among, skill_folders
from bridle.extensions.plugins.names import plugins_dir
from bridle.extensions.plugins.plugin import Loaded, PluginRequest, Plugins
from bridle.host.files import read_bytes
from bridle.host.paths import bridle_dir

_NAME = "session-plugins"
_LARGEST = 64 * 1024 * 1024
_SAID = ("enabledPlugins", "pluginConfigs")
_RESTRICTING = ("blockedMarketplaces", "strictKnownMarketplaces")


class CachedPlugins(Struct, frozen=True):
    """Plugins that were not read at this start."""

    cache: ExtensionCache
    key: bytes
    recalled: CachedValue[Plugins]

    def confirm(self) -> bool:
        """Whether they are still as they are remembered; if not, they are read at the next start."""
        if self.recalled.holds():
            return True
        self.cache.forget(_NAME, self.key)
        return False


def current_plugins(wish: PluginRequest) -> tuple[Plugins, CachedPlugins | None]:
    """Every plugin that is on, and what there is to confirm where they were not read."""
    key = _key(wish)
    if key is None:
        from bridle.extensions.plugins.loader import load_plugins

        return load_plugins(wish), None
    cache = ExtensionCache(os.path.join(bridle_dir(wish.env), "index"))
    recalled = cache.recall(_NAME, key, Plugins)
    if recalled is not None and all(_is_whole(each) for each in recalled.value.loaded):
        return recalled.value, CachedPlugins(cache, key, recalled)
    return _read(wish, cache, key), None


def _key(wish: PluginRequest) -> bytes | None:
    """All that decides which plugins there are, except files; None where that is too much to tell."""
    raw = wish.config.raw
    special = wish.folders or not wish.discovers or any(key in raw for key in _RESTRICTING)
    if special or wish.env.get("CLAUDE_CODE_PLUGIN_SEED_DIR"):
        return None
    folder = plugins_dir(wish.env)
    try:
        installed = read_bytes(os.path.join(folder, "installed_plugins.json"), _LARGEST)
    except OSError:
        return None
    fixed = [layer.values.get(_SAID[0]) for layer in wish.config.layers if layer.source == "policySettings"]
    said = [raw.get(key) for key in _SAID]
    own = [folder, wish.cwd, os.path.realpath(wish.cwd), wish.trusted, said, fixed, _skill_folders(wish)]
    return encoded([own, installed])


def _is_whole(plugin: Loaded) -> bool:
    return not plugin.components.runs or os.path.isdir(plugin.data)


def _read(wish: PluginRequest, cache: ExtensionCache, key: bytes) -> Plugins:
    from bridle.extensions.plugins.loader import read_plugins

    outcome = read_plugins(wish)
    plugins = outcome.plugins
    # Options may be secrets, faults may be fixed where no stamp shows it, and authors change their plugins.
    folders = _skill_folders(wish)
    optional = any(each.manifest.options for each in plugins.loaded)
    if not (plugins.faults or optional or any(among_skills(folders))):
        before, later = no_plugin_among(folders)
        if all(each.edition for each in plugins.loaded):
            later = merged((later, outcome.stamps))
        else:
            before = merged((before, outcome.stamps))  # They may be in development.
        cache.keep(_NAME, key, Inputs(before, later), plugins)
    return plugins


def _skill_folders(wish: PluginRequest) -> list[str]:
    return skill_folders(wish.config, wish.env, cwd=wish.cwd, trusted=wish.trusted, extra=wish.extra)
